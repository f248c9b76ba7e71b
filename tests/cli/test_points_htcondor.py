"""Every rule point of HTCondor's scheme, switched alone: the smallest pool in which it decides otherwise."""

import pytest
from tests.cli.points import POINTS, point
from tests.documents.condor_pool import DAY, HOUR, NOW, Pool, busy_ad, job_ad, slot_ad

from fairq.settings.key import HTCONDOR
from fairq.settings.keys import SINGLE
from fairq.settings.values import to_text

YES = "[negotiator]\npreemption_requirements = 'True'\n"
FITS = "/Expr(TARGET.Memory >= RequestMemory)/"


def accounts(**priorities):
    """Accounting ads of users with these effective priorities."""
    return [
        {"Name": f"{name}@example.org", "Priority": value, "PriorityFactor": 1.0} for name, value in priorities.items()
    ]


def use(pool, user):
    """The usage of *user* in slot hours, as ``userprio`` shows it."""
    return float(pool.record(user)["AccumulatedUsage"]) / HOUR


@point("accounting.remove_idle_records", documented=False, program=True)
def _(pool):
    """Is a user of the past still known?"""
    pool.set_rup("ann", 0.6)
    for days in range(3):
        pool.cycle(NOW + days * DAY)
    return "ann@example.org" in pool.records()


@point("accounting.count_preempted", documented=0, program=1)
def _(pool):
    """Slots of a user whose only job was preempted in the last cycle."""
    pool.settings(YES)
    pool.slots(1)
    pool.submit("ben")
    pool.cycle()
    pool.set_eup("ben", 900)
    pool.set_eup("ann", 1)
    pool.submit("ann")
    assert pool.got(NOW + 60) == {"ann": 1}
    return int(pool.record("ben")["ResourcesUsed"])


@point("accounting.exact_usage", documented=2.0, program=0.0)
def _(pool):
    """Slot hours of a job of two hours that began in the last cycle."""
    pool.slots(1)
    pool.submit("ann")
    pool.cycle()
    pool.finish(["1.0"], NOW + 2 * HOUR)
    return use(pool, "ann")


@point("accounting.edits_at_their_time", documented=5.0, program=2.5)
def _(pool):
    """A priority set to 10 a day after the last cycle, one more day later."""
    pool.cycle()
    pool.set_rup("ann", 10, NOW + DAY)
    pool.cycle(NOW + 2 * DAY)
    return round(float(pool.record("ann")["Priority"]) / float(pool.record("ann")["PriorityFactor"]), 3)


@point("negotiator.pie_slices", documented={"bob": 1, "cyd": 1}, program={"bob": 2})
def _(pool):
    """Two newcomers, where a third user has eight of ten slots."""
    pool.slots(10)
    pool.submit("ann", 8)
    pool.cycle()
    for user in ("bob", "cyd"):
        pool.submit(user, 5)
    return dict(pool.got())


@point("negotiator.last_dealing", documented=11, program=9)
def _(pool):
    """How many of eleven slots three equal users get."""
    pool.slots(11)
    for user in ("ann", "bob", "cyd"):
        pool.submit(user, 11)
    return pool.got().total()


@point("negotiator.floor_counts_usage", documented={"ann": 2, "ben": 5}, program={"ann": 5, "ben": 2})
def _(pool):
    """A user with a floor of five has three already; the other one has a better priority."""
    pool.slots(10)
    pool.submit("ann", 3)
    pool.cycle()
    pool.set_eup("ann", 10_000)
    pool.set_eup("ben", 1)
    pool.fairq("userprio", "--setfloor", "ann@example.org", 5, "--now", NOW)
    for user in ("ann", "ben"):
        pool.submit(user, 10)
    return dict(pool.got())


@point("negotiator.count_slots_outside", documented={"ann": 4}, program={"ann": 2, "ben": 2})
def _(pool):
    """One of two users has four slots that the constraint keeps out; four others are free."""
    pool.slots(4, "a", Far="true")
    pool.submit("ben", 4)
    pool.cycle()
    pool.slots(4, "b")
    pool.settings("[negotiator]\nnegotiator_slot_constraint = 'Far =!= true'\n")
    for user in ("ann", "ben"):
        pool.submit(user, 8)
    return dict(pool.got())


@point("negotiator.count_unusable_slots", documented=2.0, program=4.0)
def _(pool):
    """The quota of a group that has half of four slots and four that are offline."""
    pool.import_(slots=[slot_ad(f"slot1@n{n}", Offline=n < 4) for n in range(8)])
    pool.settings("[groups.physics]\nquota_dynamic = 0.5\n")
    (group,) = (group for group in pool.cycle()["groups"] if group["group"] == "physics")
    return float(group["quota"])


@point("negotiator.skip_by", documented=["5.0"], program=["5.0", "5.2"])
def _(pool):
    """The second job of a cluster of three is too large."""
    pool.slots(3)
    pool.import_(
        jobs=[job_ad(5, "ann", ProcId=n, RequestMemory=10**6 if n == 1 else 1, Requirements=FITS) for n in range(3)]
    )
    return pool.jobs()


@point("negotiator.report_job", documented=["1.0", "1.1", "1.2"], program=["1.0", "1.0", "1.0"])
def _(pool):
    """The jobs that the matches of one request name."""
    pool.slots(3)
    pool.submit("ann", 3)
    return [match["job"] for match in pool.cycle()["matches"]]


@point("negotiator.partitionable_slots", documented=3, program=1)
def _(pool):
    """How many jobs of one core a machine of four gets in one cycle."""
    pool.import_(slots=[slot_ad("slot1@a", Cpus=4, TotalCpus=4, PartitionableSlot=True, SlotType="Partitionable")])
    pool.submit("ann", 3)
    return pool.got().total()


@point("negotiator.match_claimed_idle", documented={}, program={"ann": 1})
def _(pool):
    """The only slot is claimed by somebody of a worse priority, but runs nothing."""
    pool.settings(YES)
    pool.import_(
        slots=[busy_ad("slot1@a", "ben", Activity="Idle")], jobs=[job_ad(1, "ann")], accounting=accounts(ann=1, ben=9)
    )
    return dict(pool.got())


@point("negotiator.static_ranks", documented="slot1@b", program="slot1@a")
def _(pool):
    """The rank before the job's asks for the job."""
    pool.settings(
        "[negotiator]\nnegotiator_ignore_job_ranks = true\n"
        "negotiator_pre_job_rank = 'TARGET.ClusterId =!= undefined && Name == \"slot1@b\"'\n"
    )
    pool.import_(slots=[slot_ad("slot1@a"), slot_ad("slot1@b")], jobs=[job_ad(1, "ann")])
    return pool.taken()[0]


@point("negotiator.tie_break", documented="slot01@a", program="slot11@a")
def _(pool):
    """The first of twenty slots that are all the same."""
    pool.import_(slots=[slot_ad(f"slot{n:02}@a") for n in range(1, 21)], jobs=[job_ad(1, "ann")])
    return pool.taken()[0]


@point("negotiator.preempt_prio_delta", documented={}, program={"ann": 1})
def _(pool):
    """The holder of all slots has the same effective priority."""
    pool.settings(YES)
    pool.import_(
        slots=[busy_ad(f"slot1@{name}", "ben") for name in "ab"],
        jobs=[job_ad(1, "ann")],
        accounting=accounts(ann=7, ben=7),
    )
    return dict(pool.got())


@point("negotiator.preempt_only_to_share", documented=[6, 0, 0, 0, 0], program=[6, 2, 0, 0, 2])
def _(pool):
    """Matches of five cycles where two newcomers want their part of a pool in which nothing changes."""
    pool.settings(YES)
    pool.slots(9)
    pool.submit("ben", 30)
    pool.cycle()
    for user in ("ann", "cyd"):
        pool.submit(user, 30)
    return [pool.got(NOW + 60 * minute).total() for minute in range(1, 6)]


@point("negotiator.borrowed_first", documented=["slot1@b"], program=["slot1@a"])
def _(pool):
    """Whose slot is taken: two of a user whose group has a quota of one."""
    pool.settings(f"{YES}preemption_rank = '0'\n[groups.physics]\nquota = 1\n")
    pool.import_(
        slots=[busy_ad(f"slot1@{name}", "physics.ben") for name in "ab"],
        jobs=[job_ad(1, "ann")],
        accounting=accounts(**{"ann": 1, "physics.ben": 900}),
    )
    return pool.taken()


@point(
    "negotiator.limit_reasons_add_up",
    documented=["concurrency limit db reached", "concurrency limit license reached"],
    program=["concurrency limit db reached", "concurrency limit db, license reached"],
)
def _(pool):
    """Why two jobs of a user were refused."""
    pool.settings("[limits]\ndb = 0\nlicense = 0\n")
    pool.slots(2)
    for limit in ("db", "license"):
        pool.submit("ann", 1, "--concurrency-limits", limit)
    return [rejection["reason"] for rejection in pool.cycle()["rejections"]]


@point("negotiator.limits_of_slots_stay", documented={"ann": 1, "bob": 1}, program={"ann": 1})
def _(pool):
    """A job without limits takes the slot of one that has a licence, and there are two licences."""
    pool.settings("[limits]\nlicense = 2\n")
    pool.import_(
        slots=[busy_ad("slot1@a", "ben", ConcurrencyLimits="license", Rank=5.0), slot_ad("slot1@b")],
        jobs=[
            job_ad(1, "ann", Requirements="/Expr(TARGET.Rank == 5)/"),
            job_ad(2, "bob", ConcurrencyLimits="license"),
        ],
        accounting=accounts(ann=1, bob=2),
    )
    return dict(pool.got())


@point("negotiator.remote_group_at_once", documented={"ann": 1}, program={})
def _(pool):
    """The policy asks for the group of the running job in the first cycle that there is a group."""
    pool.settings(
        "[negotiator]\npreemption_requirements = 'RemoteGroup =?= \"g\"'\n"
        "[groups.g]\nquota = 1\naccept_surplus = true\n"
    )
    pool.import_(
        slots=[busy_ad(f"slot1@{name}", "g.ben", AccountingGroup="g.ben@example.org") for name in "ab"],
        jobs=[job_ad(1, "ann")],
        accounting=accounts(**{"ann": 1, "g.ben": 9}),
    )
    return dict(pool.got())


@point("negotiator.resources_in_use", documented={"ann": 1}, program={})
def _(pool):
    """The policy asks whether the holder has two slots; they weigh eight."""
    pool.settings("[negotiator]\npreemption_requirements = 'RemoteUserResourcesInUse == 2'\n")
    pool.import_(
        slots=[busy_ad(f"slot1@{name}", "ben", Cpus=4, TotalSlotCpus=4, SlotWeight=4) for name in "ab"],
        jobs=[job_ad(1, "ann")],
        accounting=accounts(ann=1, ben=9),
    )
    return dict(pool.got())


@point("negotiator.negotiator_cross_slot_prios", documented=["slot1@m"], program=[])
def _(pool):
    """The policy asks for the priority of the neighbour's user."""
    pool.settings("[negotiator]\npreemption_requirements = 'Slot2_RemoteUserPrio == 30 && SlotID == 1'\n")
    pool.import_(
        slots=[busy_ad("slot1@m", "ben", SlotID=1), busy_ad("slot2@m", "cyd", SlotID=2)],
        jobs=[job_ad(1, "ann")],
        accounting=accounts(ann=1, ben=20, cyd=30),
    )
    return pool.taken()


@point("negotiator.strict_priority_quotas", documented={"big": 3}, program={"small": 3})
def _(pool):
    """Both quotas exceed the pool, and the group with the larger one has seven of ten slots already."""
    pool.settings(
        "[negotiator]\nnegotiator_allow_quota_oversubscription = true\n"
        "[groups.big]\nquota = 5000\n[groups.small]\nquota = 20\n"
    )
    pool.slots(10)
    pool.submit("ann", 7, group="big")
    pool.cycle()
    for user, group in (("ann", "big"), ("bob", "small")):
        pool.submit(user, 9, group=group)
    return dict(pool.groups_got())


@point("negotiator.negotiator_allow_quota_oversubscription", documented={"a": 4, "b": 2}, program={"a": 6})
def _(pool):
    """Quotas of eight and four in a pool of six."""
    pool.settings("[groups.a]\nquota = 8\n[groups.b]\nquota = 4\n")
    pool.slots(6)
    for group in "ab":
        pool.submit("ann", 9, group=group)
    return dict(pool.groups_got())


@point("negotiator.integer_group_limits", documented={"a": 2, "b": 1}, program={"a": 1, "b": 1})
def _(pool):
    """Half of a pool of three for each of two groups."""
    pool.settings("[groups.a]\nquota_dynamic = 0.5\n[groups.b]\nquota_dynamic = 0.5\n")
    pool.slots(3)
    for group in "ab":
        pool.submit("ann", 9, group=group)
    return dict(pool.groups_got())


@point("negotiator.remainders_as_computed", documented=29, program=28)
def _(pool):
    """29 % of a hundred slots that all count one."""
    pool.settings("[negotiator]\nnegotiator_use_slot_weights = false\n[groups.a]\nquota_dynamic = 0.29\n")
    pool.slots(100)
    pool.submit("ann", 99, group="a")
    return pool.groups_got()["a"]


@point("negotiator.live_group_caps", documented={"a": 4, "a.b": 2}, program={"a": 3, "a.b": 2})
def _(pool):
    """A group that takes no surplus, a child that does, and a round that hands out slots one by one."""
    pool.settings(
        "[negotiator]\ngroup_quota_round_robin_rate = 1\ngroup_quota_max_allocation_rounds = 1\nlast_dealing = false\n"
        "[groups.a]\nquota = 6\naccept_surplus = false\n[groups.'a.b']\nquota = 2\naccept_surplus = true\n"
    )
    pool.slots(10)
    for group in ("a", "a.b"):
        pool.submit("ann", 9, group=group)
    return dict(pool.groups_got())


@point("negotiator.hard_group_caps", documented={"a": 3, "<none>": 7}, program={"a": 9, "<none>": 1})
def _(pool):
    """Machines that prefer the jobs of a group with a quota of three."""
    pool.settings("[groups.a]\nquota = 3\n")
    pool.slots(10, Rank='ifThenElse(regexp("^a", TARGET.AccountingGroup), 7, 3)')
    pool.submit("xena", 10)
    pool.cycle()
    pool.submit("ann", 9, group="a")
    return {group["group"]: group["used_after"] for group in pool.cycle()["quotas"]}


@point("negotiator.regroup_keeps_quota", documented=7, program=3.4)
def _(pool):
    """What a group of one slot is allocated where the quotas of two others go unused."""
    pool.settings(
        "[groups.a]\nquota = 4\naccept_surplus = true\nautoregroup = true\n"
        "[groups.b]\nquota = 4\naccept_surplus = true\n"
        "[groups.c]\nquota = 1\naccept_surplus = true\nautoregroup = true\n"
    )
    pool.slots(2, "n", Near="true")
    pool.slots(7, "f", Near="false")
    pool.submit("bob", 7, "--requirements", "Near", group="a")
    pool.submit("bob", 6, "--requirements", "false", group="b")
    pool.submit("bob", 9, group="c")
    pool.submit("ann", 9, "--requirements", "Near")
    allocated = {group["group"]: group["allocated"] for group in pool.cycle()["quotas"]}
    return round(allocated["c"], 6)


@point("negotiator.ads_per_job_priority", documented=5, program=10)
def _(pool):
    """What a group requests whose five idle jobs have two priorities, with global job priorities."""
    pool.settings("[negotiator]\nuse_global_job_prios = true\n[groups.a]\nquota = 4\n")
    pool.slots(4)
    pool.submit("ann", 3, "--priority", 1, group="a")
    pool.submit("ann", 2, "--priority", 2, group="a")
    requested = {group["group"]: group["requested"] for group in pool.cycle()["quotas"]}
    return float(requested["a"])


@point("schedd.job_order", documented=["7.0", "5.0"], program=["5.0", "7.0"])
def _(pool):
    """The job with the larger number was submitted first."""
    pool.slots(2)
    pool.import_(jobs=[job_ad(5, "ann", QDate=NOW - 100), job_ad(7, "ann", QDate=NOW - 500)])
    return pool.jobs()


def test_every_point_has_a_situation():
    assert POINTS.keys() == {name for name, key in SINGLE.items() if key.point and key.scheme is HTCONDOR}


@pytest.mark.parametrize("rules", HTCONDOR.choices)
@pytest.mark.parametrize("name", POINTS)
def test_a_point_decides_otherwise_alone(run, tmp_path, monkeypatch, name, rules):
    """The one value or the other decides, and the other points stay as the texts have them."""
    key, of = SINGLE[name], POINTS[name]
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    monkeypatch.setenv(key.variable, to_text(key, key.default_under(rules)))
    seen = of.situation(Pool(run, tmp_path / "state.db", tmp_path))
    assert seen == (of.documented if rules == "documented" else of.program)
