"""A job gets the best of the slots that suit it and it suits."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, matched, slots

from fairq.engine.negotiation.decision import MatchReason
from fairq.engine.negotiation.rejections import RejectReason


def names(decision, pool):  # type: ignore[no-untyped-def]
    """The slots matched, in order."""
    return [pool[match.slot]["Name"] for match in decision.matches]


class TestRequirements:
    """Both sides must agree; what is undefined, an error or a text does not."""

    @pytest.mark.parametrize("requirements", ["undefined", "error", '"true"', "Missing > 3", "0", "false"])
    def test_a_job_is_refused_by_anything_but_true(self, requirements):
        """Requirements that are not true match no slot."""
        decision = cycle(slots(2), {"a@x": [jobs(1, Requirements=f"/Expr({requirements})/")]})

        assert decision.matches == []

    @pytest.mark.parametrize("requirements", ["true", "1", "2.5", "Memory >= 1024", 'Arch == "x86_64"'])
    def test_a_number_other_than_zero_counts_as_true(self, requirements):
        """So does a bare name found in the slot, and == on texts ignores case."""
        decision = cycle(slots(1), {"a@x": [jobs(1, Requirements=f"/Expr({requirements})/")]})

        assert len(decision.matches) == 1

    def test_the_slot_must_agree(self):
        """A slot that wants small jobs refuses a large one."""
        pool = slots(2)
        pool[0]["Requirements"] = "/Expr(TARGET.RequestMemory < 100)/"
        decision = cycle(pool, {"a@x": [jobs(2)]})

        assert names(decision, pool) == ["slot1@m2"]

    def test_negotiator_requirements_replace_those_of_the_slot_as_today(self):
        """The manuals do not know them; seen in cycles of the real negotiator (23.9.6)."""
        pool = slots(3)
        pool[0] |= {"Requirements": False, "NegotiatorRequirements": "/Expr(TARGET.RequestMemory < 600)/"}
        pool[1]["NegotiatorRequirements"] = False
        today = cycle(pool, {"a@x": [jobs(3)]}, **HTCONDOR)
        assert names(today, pool) == ["slot1@m1", "slot1@m3"]

        assert names(cycle(pool, {"a@x": [jobs(3)]}), pool) == ["slot1@m2", "slot1@m3"]


class TestOrder:
    """The keys of reference 3.8, more is better."""

    def test_by_default_the_tightest_slot_is_taken(self):
        """The default rank before the job's prefers fewer cores, then less memory."""
        pool = slots(3)
        pool[0]["Memory"], pool[1]["Memory"], pool[2]["Memory"] = 4096, 1024, 2048
        decision = cycle(pool, {"a@x": [jobs(3)]})

        assert names(decision, pool) == ["slot1@m2", "slot1@m3", "slot1@m1"]

    def test_the_jobs_rank_counts_between_the_negotiators(self):
        """With an even first rank the job takes the most memory."""
        pool = slots(3)
        pool[0]["Memory"], pool[1]["Memory"], pool[2]["Memory"] = 4096, 1024, 2048
        decision = cycle(pool, {"a@x": [jobs(3, Rank="/Expr(TARGET.Memory)/")]}, pre_job_rank="0")

        assert names(decision, pool) == ["slot1@m1", "slot1@m3", "slot1@m2"]

    def test_ignoring_job_ranks_leaves_it_out(self):
        """NEGOTIATOR_IGNORE_JOB_RANKS: the rank after the job's decides alone."""
        pool = slots(3)
        wants = {"a@x": [jobs(3, Rank="/Expr(-TARGET.Number)/")]}
        for number, slot in enumerate(pool):
            slot["Number"] = number
        decision = cycle(pool, wants, pre_job_rank="0", post_job_rank="Number", ignore_job_ranks=True)

        assert names(decision, pool) == ["slot1@m3", "slot1@m2", "slot1@m1"]

    def test_static_ranks_do_not_know_the_job(self):
        """Slots ranked once for all jobs: what the ranks ask of the job or the slots' holders is undefined."""
        pool = slots(3)
        for number, slot in enumerate(pool):
            slot["Number"] = number
        given = {}
        for static in (False, True):
            decision = cycle(
                pool,
                {"a@x": [jobs(3, Sign=-1)]},
                pre_job_rank="ifThenElse(isUndefined(TARGET.Sign), 1, TARGET.Sign) * Number",
                ignore_job_ranks=True,
                static_ranks=static,
            )
            given[static] = names(decision, pool)

        assert given == {False: ["slot1@m1", "slot1@m2", "slot1@m3"], True: ["slot1@m3", "slot1@m2", "slot1@m1"]}

    @pytest.mark.parametrize(("static", "got"), [(False, 3), (True, 1)])
    def test_with_static_ranks_the_search_counts_weights_even_if_they_are_off(self, static, got):
        """The first slot weighs more than the limit of three slots. Seen in a cycle of the real negotiator."""
        rules = {**HTCONDOR, "use_slot_weights": False, "ignore_job_ranks": True, "static_ranks": static}
        assert matched(cycle(slots(3, SlotWeight=4), {"a@x": [jobs(3)]}, **rules)) == {"a@x": got}

    @pytest.mark.parametrize(("static", "taken"), [(False, [3, 2]), (True, [0, 1])])
    def test_with_static_ranks_the_search_ends_at_the_limit(self, static, taken):
        """What comes after the weight on the list is beyond the limit is not looked at, and nothing ranks the held."""
        pool = [claimed(slot, "b@x", Number=number) for number, slot in enumerate(slots(3))] + slots(4)[3:]
        decision = cycle(
            pool,
            {"a@x": [jobs(2)], "b@x": [jobs(1)]},
            {"a@x": 1.0, "b@x": 1.0},
            pre_job_rank="0",
            preemption_rank="Number",
            preemption_requirements="true",
            preempt_prio_delta=None,
            ignore_job_ranks=True,
            static_ranks=static,
            tie_break="std_sort",
        )

        assert [match.slot for match in decision.matches if match.submitter == "a@x"] == taken

    def test_equals_go_by_name_with_numbers_as_numbers(self):
        """slot1@m2 comes before slot1@m10, wherever they stand in the list."""
        pool = slots(12)[::-1]
        decision = cycle(pool, {"a@x": [jobs(12)]})

        assert names(decision, pool) == [f"slot1@m{number}" for number in range(1, 13)]

    def test_ranks_of_the_negotiator_are_32_bit_floats(self):
        """Two ranks that differ beyond 24 bits are a tie, so the name decides."""
        pool = slots(2)
        pool[1]["Fine"] = 1
        decision = cycle(pool, {"a@x": [jobs(1)]}, pre_job_rank="100000000 + (Fine ?: 0)")

        assert names(decision, pool) == ["slot1@m1"]

    def test_an_undefined_rank_comes_last(self):
        """A slot for which the rank is undefined is taken after those with any number."""
        pool = slots(2)
        pool[1]["Speed"] = -5
        decision = cycle(pool, {"a@x": [jobs(2)]}, pre_job_rank="Speed")

        assert names(decision, pool) == ["slot1@m2", "slot1@m1"]


class TestBusySlots:
    """Slots in use are taken from their holder only for a reason."""

    def test_nobody_is_preempted_by_default(self):
        """PREEMPTION_REQUIREMENTS = False keeps every running job, and says so."""
        pool = [claimed(slot, "b@x") for slot in slots(3)]
        decision = cycle(pool, {"a@x": [jobs(1)]}, {"a@x": 1, "b@x": 1000})

        assert decision.matches == []
        assert [r.reason for r in decision.rejections] == [RejectReason.PREEMPTION_POLICY]

    def test_the_machines_rank_takes_a_slot_whatever_the_priorities(self):
        """A slot that ranks the new job higher changes hands, by reason of rank."""
        pool = [claimed(slot, "b@x", Rank='/Expr(TARGET.Owner == "a")/') for slot in slots(1)]
        decision = cycle(pool, {"a@x": [jobs(1)]}, {"a@x": 1000, "b@x": 1})

        assert [(m.reason, m.preempted) for m in decision.matches] == [(MatchReason.RANK, "b@x")]

    def test_beyond_its_limit_a_submitter_gets_one_slot_whose_machine_prefers_it(self):
        """The first slot of a list is not tested again: in the first spin one changes hands, the next is refused."""
        pool = [claimed(slot, "b@x", Rank='/Expr(TARGET.Owner == "a")/') for slot in slots(4)]
        pool += [claimed({**slots(1)[0], "Name": f"slot1@n{i}"}, "a@x") for i in range(8)]
        decision = cycle(pool, {"a@x": [jobs(4)], "b@x": [jobs(4)]}, {"a@x": 1000, "b@x": 10}, **HTCONDOR)

        first_spin = [m for m in decision.matches if m.request == (1, 0)]

        assert [(m.submitter, m.reason) for m in first_spin] == [("a@x", MatchReason.RANK)]
        assert RejectReason.SUBMITTER_LIMIT in [r.reason for r in decision.rejections if r.submitter == "a@x"]

    def test_a_worse_priority_never_preempts(self):
        """Where the policy allows everything the better effective priority is still needed."""
        pool = [claimed(slot, "b@x") for slot in slots(1)]
        worse = cycle(pool, {"a@x": [jobs(1)]}, {"a@x": 10, "b@x": 10}, preemption_requirements="true")
        better = cycle(pool, {"a@x": [jobs(1)]}, {"a@x": 1, "b@x": 10}, preemption_requirements="true")

        assert worse.matches == []
        assert [(m.reason, m.preempted) for m in better.matches] == [(MatchReason.PRIORITY, "b@x")]

    def test_a_free_slot_is_preferred_to_a_busy_one(self):
        """By the default rank nobody is preempted while a free slot suits."""
        pool = slots(3)
        pool[0] = claimed(pool[0], "b@x")
        decision = cycle(pool, {"a@x": [jobs(2)]}, {"a@x": 1, "b@x": 100}, preemption_requirements="true")

        assert [m.preempted for m in decision.matches] == [None, None]

    def test_a_draining_slot_gets_nothing(self):
        """A slot that is drained finishes what it has and is given no more."""
        pool = slots(2)
        decision = cycle(pool, {"a@x": [jobs(2)]}, draining={0})

        assert names(decision, pool) == ["slot1@m2"]

    def test_without_preemption_busy_slots_are_not_looked_at(self):
        """NEGOTIATOR_CONSIDER_PREEMPTION = False hides them; the pie still counts them."""
        pool = slots(4)
        pool[0] = claimed(pool[0], "b@x", Rank=5.0)
        decision = cycle(pool, {"a@x": [jobs(9)]}, consider_preemption=False)

        assert names(decision, pool) == ["slot1@m2", "slot1@m3", "slot1@m4"]
        assert decision.pie == 4

    def test_without_preemption_a_whole_machine_with_a_job_gets_no_other(self):
        """A partitionable slot that jobs share is not busy itself, and takes more."""
        pool = slots(2)
        pool[0] = claimed(pool[0], "b@x", PartitionableSlot=True)
        pool[1] = claimed(pool[1], "b@x", PartitionableSlot=True, Activity="Idle")
        decision = cycle(pool, {"a@x": [jobs(2)]}, consider_preemption=False, **HTCONDOR)

        assert names(decision, pool) == ["slot1@m2"]


@pytest.mark.parametrize("caching", [True, False])
def test_without_a_kept_list_the_best_slots_are_taken_all_the_same(caching):
    """A list of candidates is made anew for every job, with the same outcome where ranks differ."""
    pool = slots(6)
    for number, slot in enumerate(pool):
        slot["KFlops"] = number
    wants = {"a@x": [jobs(4, Rank="/Expr(KFlops)/")]}
    decision = cycle(pool, wants, tie_break="std_sort" if caching else "listed", matchlist_caching=caching)

    assert [match.slot for match in decision.matches] == [5, 4, 3, 2]


def test_a_slot_without_requirements_takes_no_job():
    """It does not borrow those of the job; nor does one without a Rank borrow the job's."""
    pool = slots(2)
    del pool[0]["Requirements"], pool[1]["Rank"]
    decision = cycle(pool, {"a@x": [jobs(2, Requirements="/Expr(true)/", Rank=7.0)]})

    assert names(decision, pool) == ["slot1@m2"]
    assert [m.machine_rank for m in decision.matches] == [0.0]


@pytest.mark.parametrize("weight", ["heavy", "/Expr(error)/", "/Expr(Nowhere)/", [2]])
def test_a_weight_that_is_no_number_is_that_of_the_pool(weight):
    """SLOT_WEIGHT stands for any SlotWeight that has no value as a number, as if the ad had none."""
    assert cycle(slots(2, Cpus=3, SlotWeight=weight), {"a@x": [jobs(2)]}).pie == 6.0


def test_an_absurd_weight_counts_as_one():
    """Slots that claim to weigh more than any machine leave the pie a number."""
    decision = cycle(slots(2, SlotWeight=1e308), {"a@x": [jobs(2)]})

    assert (decision.pie, len(decision.matches)) == (2.0, 2)
