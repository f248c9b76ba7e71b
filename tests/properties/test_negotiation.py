"""Under the documented rules no slot stays free that somebody could use, and what one leaves is shared by the ratio.

HTCondor 8 manual, layperson's description of the pie spin, and "Effective User Priority (EUP)".
"""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import HTCONDOR, SLOT, claimed, cycle, jobs, matched, slots
from tests.engine.quotas.groups import rules_of

from fairq.common.records import AccountingRecord, Ad
from fairq.engine.negotiation.decision import StopReason

PEOPLE = ("ann@x", "ben@x", "g.cy@x", "g.di@x", "g.h.ed@x", "k.flo@x")

memories = st.sampled_from([512, 1024, 2048])
users = st.sampled_from([None, None, None, "ann@x", "g.di@x", "z@x"])
slot_ads = st.tuples(memories, st.sampled_from([1, 1, 1, 2, 4]), users)
wanted = st.tuples(st.sampled_from(PEOPLE), st.integers(1, 6), memories, st.sampled_from([None, None, None, "db"]))
quotas = st.fixed_dictionaries(
    {"g": st.sampled_from([0, 2, 5, "50%"]), "g.h": st.sampled_from([1, 2, "50%"]), "k": st.sampled_from([0, 1, 100])}
)
pools = st.fixed_dictionaries(
    {
        "slots": st.lists(slot_ads, min_size=1, max_size=12),
        "jobs": st.lists(wanted, min_size=1, max_size=8),
        "priorities": st.lists(st.sampled_from([1.0, 2.0, 3.0, 10.0, 1000.0]), min_size=6, max_size=6),
        "ceilings": st.lists(st.sampled_from([-1, -1, -1, 1, 3]), min_size=6, max_size=6),
        "floors": st.lists(st.sampled_from([0, 0, 0, 2]), min_size=6, max_size=6),
        "quotas": st.none() | quotas,
        "surplus": st.sampled_from([True, False, ["g.h"], ["g", "k"]]),
        "regroup": st.booleans(),
        "considered": st.booleans(),
        "policy": st.sampled_from(["false", "true", "MY.Cpus > 1"]),
        "weights": st.booleans(),
        "skip_by": st.sampled_from(["cluster", "autocluster", "nothing"]),
    }
)


def hold(pool, **changes):
    """The slots, everybody's jobs (a cluster each), and what a cycle decides."""
    ads = []
    for number, (memory, cpus, user) in enumerate(pool["slots"]):
        ad = {**SLOT, "Name": f"slot1@m{number}", "Memory": memory, "Cpus": cpus}
        ads.append(ad if user is None else claimed(ad, user))
    queues: dict[str, list[tuple[int, Ad]]] = {}
    for name, count, memory, limits in pool["jobs"]:
        more = {} if limits is None else {"ConcurrencyLimits": limits}
        queues.setdefault(name, []).append(jobs(count, RequestMemory=memory, **more))
    records = [
        AccountingRecord(name, ceiling=ceiling, floor=floor)
        for name, ceiling, floor in zip(PEOPLE, pool["ceilings"], pool["floors"], strict=True)
    ]
    configured = None
    if pool["quotas"] is not None:
        configured = rules_of(pool["quotas"], surplus=pool["surplus"], regroup=pool["regroup"])
    decision = cycle(
        ads,
        queues,
        dict(zip(PEOPLE, pool["priorities"], strict=True)),
        records,
        quotas=configured,
        consider_preemption=pool["considered"],
        preemption_requirements=pool["policy"],
        use_slot_weights=pool["weights"],
        skip_by=pool["skip_by"],
        limits={"db": 2.0},
        running=True,
        **changes,
    )
    return ads, queues, decision


def is_kept_by(of, decision, weights, free):
    """Whether what is told to have stopped a submitter keeps it from *free* slots that suit its job."""
    smallest = min(ad["Cpus"] if weights else 1 for ad in free)
    if of.stopped is StopReason.CEILING:
        return int(of.used_before + of.matched_weight) + smallest > of.ceiling
    if of.stopped is not StopReason.QUOTA:
        return False
    figures = {group.group: group for group in decision.quotas}
    group = figures[of.group]
    while group.parent is not None:
        # Without weights quotas are whole slots.
        quota = group.quota if weights else math.floor(group.quota)
        if not group.accept_surplus and group.subtree_used + smallest > quota:
            return True
        group = figures[group.parent]
    return False


_DRAWN = {"consider_preemption", "preemption_requirements", "use_slot_weights", "skip_by", "quotas", "limits"}


def check_columns(pool, htcondor):
    """Jobs by column get the same matches, rejections and reasons in the same order as jobs one by one."""
    rules = {name: value for name, value in HTCONDOR.items() if htcondor and name not in _DRAWN}
    plain, by_column = (hold(pool, by_column=columns, **rules)[2] for columns in (False, True))
    assert list(by_column.matches) == list(plain.matches)
    assert list(by_column.rejections) == list(plain.rejections)
    assert len(by_column.rejections) == len(list(plain.rejections))
    assert by_column.submitters == plain.submitters
    assert (by_column.spins, by_column.quotas, by_column.limits) == (plain.spins, plain.quotas, plain.limits)


@given(pools, st.booleans())
@settings(max_examples=100, deadline=None)
def test_jobs_by_column_are_decided_as_jobs_one_by_one(pool, htcondor):
    """Under both sets of rules."""
    check_columns(pool, htcondor)


@st.composite
def of_many_kinds(draw):
    """A pool in which everybody has jobs of several kinds, and the limits leave fractions of slots."""
    sizes = st.sampled_from([100, 200, 300, 400])
    kept = st.tuples(sizes, st.sampled_from([1, 1, 2]), st.sampled_from([None] * 5 + ["z@x", "ann@x"]))
    asked = st.tuples(st.sampled_from(PEOPLE), st.integers(1, 3), sizes, st.none())
    return {
        **draw(pools),
        "slots": draw(st.lists(kept, min_size=2, max_size=9)),
        "jobs": draw(st.lists(asked, min_size=6, max_size=16)),
        "ceilings": [-1] * 6,
        "considered": True,
        "policy": "false",
        "skip_by": draw(st.sampled_from(["cluster", "autocluster"])),
    }


@given(of_many_kinds(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_whom_the_limit_leaves_a_fraction_of_a_slot_is_refused_as_one_by_one(pool, htcondor):
    """Where a slot is left for some of the kinds of jobs, and for others none."""
    check_columns(pool, htcondor)


@given(pools)
@settings(max_examples=100, deadline=None)
def test_no_slot_stays_free_that_suits_an_idle_job(pool):
    """Unless a quota, a ceiling or a concurrency limit is what stopped its submitter."""
    ads, queues, decision = hold(pool)
    taken = {match.slot for match in decision.matches}
    free = [ad for row, ad in enumerate(ads) if row not in taken and ad["State"] == "Unclaimed"]
    of = {found.submitter: found for found in decision.submitters}
    done = {(match.cluster, match.proc) for match in decision.matches}
    cluster = 0
    for name, entries in queues.items():
        for count, job in entries:
            cluster += 1
            idle = any((cluster, proc) not in done for proc in range(count))
            suitable = [ad for ad in free if ad["Memory"] >= job["RequestMemory"]]
            if idle and suitable and "ConcurrencyLimits" not in job:
                assert is_kept_by(of[name], decision, pool["weights"], suitable)


@given(
    size=st.integers(3, 60),
    priorities=st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 5.0, 10.0, 40.0])] * 3),
    first=st.integers(0, 60),
    considered=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_what_one_leaves_the_others_share_by_the_ratio(size, priorities, first, considered):
    """B and C want more than there is: what A does not take they share inversely to priority, within a slot."""
    queues = {"a@x": [jobs(first)] if first else [], "b@x": [jobs(size)], "c@x": [jobs(size)]}
    decision = cycle(slots(size), queues, dict(zip(queues, priorities, strict=True)), consider_preemption=considered)
    got = matched(decision)
    left = got["b@x"] + got["c@x"]

    assert sum(got.values()) == size
    assert abs(got["b@x"] - left * priorities[2] / (priorities[1] + priorities[2])) <= 1
