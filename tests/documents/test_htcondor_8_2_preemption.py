"""HTCondor 8's manual, sentence by sentence, under the rules documented: preemption and what its policy may read."""

import pytest
from tests.documents.condor_pool import (
    HOUR,
    HTCONDOR_8,
    NOW,
    PHYSICS,
    busy_ad,
    job_ad,
    make_pool,
    older,
    slot_ad,
)
from tests.documents.sentences import NotNormative, says

TEXT = HTCONDOR_8

HERE = "Priorities in Negotiation and Preemption"
OLD = "Priorities and Preemption"
YES = '[negotiator]\npreemption_requirements = "True"\n'

pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative(f"{HERE}, paragraph 2, last sentence", "Where the default policy is described.",
                 "refers to another section"),
    NotNormative(f"{HERE}, paragraph 2, sentence 8", "PREEMPTION_REQUIREMENTS has no say where a machine's own policy "
                 "vacates a job.", "the machine decides; fairq does not run it"),
    NotNormative(f"{HERE}, paragraph 4, sentences 1 and 2", "Names with Submitter speak of the candidate's user, names "
                 "with Remote of the one who has the slot.", "the list of attributes says it of each"),
]  # fmt: skip


def held_by(pool, user, count=1, priority=20.0, **attributes):
    """Let *user* hold *count* slots, which run jobs; everybody's factor is 1."""
    pool.import_(
        slots=[busy_ad(f"slot1@n{number}", user, **attributes) for number in range(count)],
        accounting=[
            {"Name": f"{name}@example.org", "Priority": real, "PriorityFactor": 1.0}
            for name, real in ((user, priority), ("ann", 2.0))
        ],
    )


def reasons(pool, now=NOW):
    return [(one["submitter"].partition("@")[0], one["reason"]) for one in pool.cycle(now)["matches"]]


class TestPreemption:
    @says(f"{HERE}, paragraph 1, sentences 1 and 2", also=older(f"{OLD}, paragraph 1, sentences 1 and 2"))
    def test_priorities_are_used_when_resources_are_allocated(self, pool):
        """The priorities of the moment of negotiation decide, so that users get their fair share."""
        pool.submit("ann", 50)
        pool.submit("bob", 50)
        pool.set_eup("ann", 10)
        pool.set_eup("bob", 30)
        pool.slots(8)
        assert pool.got() == {"ann": 6, "bob": 2}

    @says(f"{HERE}, paragraph 1, sentence 3")
    def test_some_attributes_exist_in_negotiation_only(self, pool):
        """There are attributes that are defined during negotiation only."""
        pool.slots(1, Requirements="TARGET.SubmitterUserPrio > 0")
        pool.submit("ann")
        assert pool.got() == {"ann": 1}
        (job,) = pool.fairq("queue", "--json")
        assert "SubmitterUserPrio" not in job

    @says(f"{HERE}, paragraph 1, last sentence", also=older(f"{OLD}, paragraph 1, sentence 3"))
    def test_a_claim_may_be_preempted(self, pool):
        """Besides allocating, HTCondor may preempt a claim and give the machine to somebody else."""
        pool.settings(YES)
        held_by(pool, "ben")
        pool.submit("ann")
        (match,) = pool.cycle()["matches"]
        assert (match["reason"], match["preempted"]["submitter"]) == ("priority", "ben@example.org")

    @says(f"{HERE}, paragraph 2, sentences 1 and 2", points=["negotiator.preempt_only_to_share"])
    def test_an_unchanged_pool_does_not_thrash(self, pool):
        """Thrashing, that is preemption in most every cycle, is to be avoided: an unchanged pool comes to rest."""
        pool.settings(YES)
        pool.slots(9)
        pool.submit("ben", 30)
        pool.cycle()
        pool.submit("ann", 30)
        pool.submit("cyd", 30)
        seen = [sum(pool.got(NOW + 60 * minute).values()) for minute in range(1, 5)]
        assert seen[1:] == [0, 0, 0]

    @says(f"{HERE}, paragraph 2, sentence 3", also=older(f"{OLD}, paragraph 2, sentence 1"))
    @pytest.mark.parametrize(("policy", "found"), [("True", [("ann", "priority")]), ("False", [])])
    def test_preemption_requirements(self, pool, policy, found):
        """PREEMPTION_REQUIREMENTS says which conditions must hold for a preemption."""
        pool.settings(f'[negotiator]\npreemption_requirements = "{policy}"\n')
        held_by(pool, "ben")
        pool.submit("ann")
        assert reasons(pool) == found

    @says(f"{HERE}, paragraph 2, sentences 4 and 5", also=older(f"{OLD}, paragraph 2, sentences 2 and 3"))
    @pytest.mark.parametrize(("minutes", "found"), [(59, []), (61, [("ann", "priority")])])
    def test_it_may_spare_jobs_that_began_lately(self, pool, minutes, found):
        """The policy may deny preemption of jobs that have run for a short time, which limits preemptions."""
        pool.settings(f'[negotiator]\npreemption_requirements = "time() - EnteredCurrentState > {HOUR}"\n')
        held_by(pool, "ben", EnteredCurrentState=NOW - 60 * minutes)
        pool.submit("ann")
        assert reasons(pool) == found

    @says(f"{HERE}, paragraph 2, sentences 6 and 7", also=older(f"{OLD}, paragraph 3, sentences 1 and 2"))
    def test_it_has_no_say_in_preemption_by_rank(self, pool):
        """PREEMPTION_REQUIREMENTS is for preemption by priority; a machine that prefers the job is given to it."""
        pool.settings('[negotiator]\npreemption_requirements = "False"\n')
        held_by(pool, "ben", Rank='/Expr(TARGET.Owner == "ann")/', CurrentRank=0.0)
        pool.import_(jobs=[job_ad(1, "ann")])
        assert reasons(pool) == [("ann", "rank")]


def policy_sees(pool, expression, groups=""):
    """Whether *expression* holds where a job might preempt another one."""
    pool.settings(f"{groups}[negotiator]\npreemption_requirements = '''{expression}'''\n")
    return bool(pool.cycle()["matches"])


class TestAttributes:
    """Each in PREEMPTION_REQUIREMENTS, which is evaluated in the slot with the job as its target."""

    @says(f"{HERE}, paragraph 3")
    def test_whether_they_are_defined_can_be_asked(self, pool):
        """They are not always defined: an expression may ask whether RemoteUserPrio is, with =?= UNDEFINED."""
        pool.settings('[negotiator]\nnegotiator_pre_job_rank = "ifThenElse(RemoteUserPrio =?= UNDEFINED, 1, 0)"\n'
                      'preemption_requirements = "True"\n')  # fmt: skip
        pool.import_(
            slots=[busy_ad("slot1@a", "ben"), slot_ad("slot1@b")],
            accounting=[{"Name": "ben@example.org", "Priority": 9.0}],
        )
        pool.submit("ann")
        assert pool.taken() == ["slot1@b"]

    @says(f"{HERE}, paragraph 4, sentences 3 and 4")
    @pytest.mark.parametrize(("stable", "found"), [("true", 4), ("false", 1)])
    def test_use_changes_within_a_cycle(self, pool, stable, found):
        """...ResourcesInUse change within a cycle; PREEMPTION_REQUIREMENTS_STABLE false says that this matters."""
        pool.settings(
            f"[negotiator]\npreemption_requirements_stable = {stable}\n"
            'preemption_requirements = "SubmitterUserResourcesInUse < 1"\n'
        )
        held_by(pool, "ben", count=4, priority=2000.0)
        pool.submit("ann", 4)
        assert len(pool.cycle()["matches"]) <= found
        assert found == 4 or pool.record("ann")["ResourcesUsed"] == 1

    @says(f"{HERE}, SubmitterUserPrio")
    def test_submitter_user_prio(self, pool):
        """SubmitterUserPrio is the priority of the candidate job's user, a real number."""
        held_by(pool, "ben")
        pool.submit("ann")
        assert not policy_sees(pool, "SubmitterUserPrio != 2.0")
        assert policy_sees(pool, "SubmitterUserPrio =?= 2.0")

    @says(f"{HERE}, SubmitterUserResourcesInUse", points=["negotiator.resources_in_use"])
    def test_submitter_user_resources_in_use(self, pool):
        """SubmitterUserResourcesInUse is the number of slots that the candidate's user has, whatever they weigh."""
        users = ("ben", "ann", "ann")
        pool.import_(
            slots=[busy_ad(f"slot1@n{at}", user, Cpus=4) for at, user in enumerate(users)],
            accounting=[{"Name": "ben@example.org", "Priority": 99.0}],
        )
        pool.submit("ann")
        assert policy_sees(pool, "SubmitterUserResourcesInUse =?= 2")

    @says(f"{HERE}, RemoteUserPrio")
    def test_remote_user_prio(self, pool):
        """RemoteUserPrio is the priority of the user of the slot that is being evaluated, a real number."""
        held_by(pool, "ben", priority=20.0)
        pool.submit("ann")
        assert policy_sees(pool, "RemoteUserPrio =?= 20.0")

    @says(f"{HERE}, Slot<N>_RemoteUserPrio", points=["negotiator.negotiator_cross_slot_prios"])
    def test_slot_n_remote_user_prio(self, pool):
        """Slot<N>_RemoteUserPrio is the priority of the user of slot N of the machine."""
        pool.import_(
            slots=[busy_ad("slot1@m", "ben", SlotID=1), busy_ad("slot2@m", "cyd", SlotID=2)],
            accounting=[
                {"Name": f"{name}@example.org", "Priority": real, "PriorityFactor": 1.0}
                for name, real in (("ann", 1.0), ("ben", 20.0), ("cyd", 30.0))
            ],
        )
        pool.submit("ann", 1)
        pool.settings(
            "[negotiator]\n"
            'preemption_requirements = "Slot1_RemoteUserPrio == 20 && Slot2_RemoteUserPrio == 30 && SlotID == 1"\n'
        )
        assert pool.taken() == ["slot1@m"]

    @says(f"{HERE}, RemoteUserResourcesInUse", points=["negotiator.resources_in_use"])
    def test_remote_user_resources_in_use(self, pool):
        """RemoteUserResourcesInUse is the number of slots of the user whose job runs there."""
        held_by(pool, "ben", count=3, priority=90.0, Cpus=4)
        pool.submit("ann", 1)
        assert policy_sees(pool, "RemoteUserResourcesInUse =?= 3")

    @pytest.mark.parametrize(
        ("user", "seen"),
        [
            pytest.param("group_physics.ann", 'SubmitterGroup == "group_physics" && RemoteGroup == "group_chemistry"',
                         id="names"),
            pytest.param("group_physics.ann", "SubmitterGroupResourcesInUse =?= 2", id="use"),
            pytest.param("group_physics.ann", "SubmitterGroupQuota =?= 20", id="quota"),
            pytest.param("group_physics.ann", "RemoteGroupResourcesInUse =?= 28", id="remote use"),
            pytest.param("group_physics.ann", "RemoteGroupQuota =?= 10", id="remote quota"),
            pytest.param("ann", "SubmitterGroupResourcesInUse =?= undefined", id="no group, use"),
            pytest.param("ann", "SubmitterGroupQuota =?= undefined", id="no group, quota"),
        ],
    )  # fmt: skip
    @says(
        f"{HERE}, SubmitterGroup", f"{HERE}, SubmitterGroupResourcesInUse", f"{HERE}, SubmitterGroupQuota",
        f"{HERE}, RemoteGroup", f"{HERE}, RemoteGroupResourcesInUse", f"{HERE}, RemoteGroupQuota",
        points=["negotiator.remote_group_at_once", "negotiator.resources_in_use"],
    )  # fmt: skip
    def test_groups(self, pool, user, seen):
        """Names of both groups; for members of groups with a quota, slots that the group uses, and its quota."""
        holders = ["group_chemistry.ben"] * 28 + ["group_physics.cyd"] * 2
        names = [(name, 500.0) for name in dict.fromkeys(holders)]
        pool.settings(PHYSICS)
        pool.import_(
            slots=[
                {**busy_ad(f"slot1@n{at}", name), "AccountingGroup": f"{name}@example.org"}
                for at, name in enumerate(holders)
            ],
            accounting=[{"Name": f"{name}@example.org", "Priority": real} for name, real in names],
        )
        group, _, name = user.rpartition(".")
        pool.submit(name, group=group)
        # Individuals need a part of the pool that no quota covers.
        groups = PHYSICS if group else PHYSICS.replace("quota = 20", "quota = 15")
        assert policy_sees(pool, seen, groups)

    @says(f"{HERE}, SubmitterNegotiatingGroup", f"{HERE}, SubmitterAutoregroup")
    def test_the_second_chance_is_known(self, pool):
        """SubmitterNegotiatingGroup is the group a job negotiates under; SubmitterAutoregroup: if by autoregroup."""
        pool.settings("[groups.g]\nquota = 1\nautoregroup = true\n[groups.h]\nquota = 1\n")
        pool.slots(1, "a", Requirements='TARGET.SubmitterNegotiatingGroup == "g" && !TARGET.SubmitterAutoregroup')
        pool.slots(1, "b", Requirements='TARGET.SubmitterNegotiatingGroup == "<none>" && TARGET.SubmitterAutoregroup')
        pool.submit("ann", 5, group="g")
        assert [one["slot"].rpartition("@")[2] for one in pool.cycle()["matches"]] == ["a", "b"]

    @says(f"{HERE}, RemoteNegotiatingGroup", f"{HERE}, RemoteAutoregroup")
    def test_how_the_running_job_negotiated_is_known(self, pool):
        """RemoteNegotiatingGroup and RemoteAutoregroup say how the running job negotiated."""
        groups = "[groups.g]\nquota = 1\nautoregroup = true\n"
        pool.settings(groups)
        pool.slots(3)
        pool.submit("ben", 5, group="g")
        pool.cycle()
        pool.set_rup("g.ben", 1e6)
        pool.submit("ann", 5)
        pool.settings(
            f"{groups}[negotiator]\n"
            """preemption_requirements = 'RemoteNegotiatingGroup == "<none>" && RemoteAutoregroup'\n"""
        )
        assert 1 <= pool.got()["ann"] <= 2
