"""Which slots, submitters and jobs take part in a cycle."""

import pytest
from tests.engine.negotiation.pools import NOW, claimed, cycle, jobs, matched, slots

from fairq.engine.classad import parse
from fairq.engine.negotiation.decision import StopReason


class TestSlots:
    """NEGOTIATOR_SLOT_CONSTRAINT, shutting down, suspended."""

    def test_only_slots_of_the_constraint_are_dealt_out(self):
        """The pie is what the constraint lets in; the others are no candidates."""
        pool = slots(10)
        for slot in pool[:4]:
            slot["Pool"] = "here"
        wants = {"a@x": [jobs(9)], "b@x": [jobs(9)]}
        decision = cycle(pool, wants, {"a@x": 10, "b@x": 10}, slot_constraint=parse('Pool == "here"'))

        assert matched(decision) == {"a@x": 2, "b@x": 2}
        assert (decision.pie, decision.slots, decision.candidates) == (4, 4, 4)
        assert {match.slot for match in decision.matches} == {0, 1, 2, 3}

    def test_slots_in_use_outside_the_constraint_are_charged_still(self):
        """What runs there counts as used by its submitter, and for concurrency limits."""
        pool = [claimed(slot, "a@x", Pool="elsewhere", ConcurrencyLimits="db") for slot in slots(2)] + slots(4)[2:]
        decision = cycle(pool, {"a@x": [jobs(9, ConcurrencyLimits="db")]}, slot_constraint=parse("isUndefined(Pool)"))

        (submitter,) = decision.submitters
        assert (submitter.used_before, submitter.limit, submitter.slices) == (2, 4, [2])
        assert decision.limits[0].in_use_before == 2

    def test_slots_outside_the_constraint_may_be_out_of_sight(self):
        """The negotiator that fetches the slots of the constraint alone knows of no use on others."""
        pool = [claimed(slot, "a@x", Pool="elsewhere", ConcurrencyLimits="db") for slot in slots(2)] + slots(4)[2:]
        decision = cycle(
            pool,
            {"a@x": [jobs(9, ConcurrencyLimits="db")]},
            slot_constraint=parse("isUndefined(Pool)"),
            count_slots_outside=False,
        )

        (submitter,) = decision.submitters
        assert (submitter.used_before, submitter.matched) == (0, 2)
        assert decision.limits[0].in_use_before == 0

    @pytest.mark.parametrize(
        ("shutdown", "threshold", "left"),
        [
            (f"/Expr(time() > {NOW + 500})/", "600", 3),
            (f"/Expr(CurrentTime > {NOW + 500})/", "600", 3),
            (f"/Expr(time() > {NOW + 500})/", "400", 4),
            (f"/Expr(time() > {NOW + 500})/", "0", 4),
            (f"/Expr(time() > {NOW + 500})/", "undefined", 4),
            (f"/Expr(time() > {NOW - 500})/", "60", 3),
            (f"/Expr(time() > {NOW - 500})/", "0", 4),
            ("/Expr(undefined)/", "600", 4),
            (True, "5 * 60", 3),
        ],
    )
    @pytest.mark.parametrize("attribute", ["DaemonShutdown", "DaemonShutdownFast"])
    def test_slots_about_to_shut_down_are_left_out(self, attribute, shutdown, threshold, left):
        """A slot whose machine will be gone within the threshold gets no job; 0 looks at none."""
        pool = slots(4)
        pool[0][attribute] = shutdown
        decision = cycle(pool, {"a@x": [jobs(9)]}, shutdown_threshold=parse(threshold))

        assert matched(decision) == {"a@x": left}

    @pytest.mark.parametrize(("discount", "used"), [(False, 2), (True, 1)])
    def test_suspended_jobs_are_charged_or_not(self, discount, used):
        """NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES frees the user of a suspended job's slot."""
        pool = [claimed(slot, "a@x") for slot in slots(2)]
        pool[0]["Activity"] = "Suspended"
        decision = cycle(pool, {"a@x": [jobs(1)]}, discount_suspended=discount)

        assert decision.submitters[0].used_before == used


class TestSubmitters:
    """NEGOTIATOR_SUBMITTER_CONSTRAINT."""

    @pytest.mark.parametrize("constraint", ['Name != "b@x"', "IdleJobs == 9", "RunningJobs == 0 && IdleJobs > 5"])
    def test_the_others_have_no_share(self, constraint):
        """Who is kept out has no part in the shares, and is told so."""
        wants = {"a@x": [jobs(9)], "b@x": [jobs(5)]}
        decision = cycle(slots(8), wants, {"a@x": 10, "b@x": 10}, submitter_constraint=parse(constraint))

        of_a, of_b = decision.submitters
        assert (of_a.matched, of_a.share) == (8, 1)
        assert (of_b.matched, of_b.idle, of_b.stopped) == (0, 5, StopReason.SUBMITTER_CONSTRAINT)


class TestJobs:
    """NEGOTIATOR_JOB_CONSTRAINT."""

    @pytest.mark.parametrize(
        ("constraint", "got"),
        [("Project == 1", 3), ("Owner == \"a\"", 7), ("ClusterId == 2", 4), ("ProcId < 2", 4), ("JobPrio > 0", 4),
         ("undefined", 0), ("time() > 5", 7)],
    )  # fmt: skip
    def test_only_jobs_of_the_constraint_are_offered(self, constraint, got):
        """The job's own attributes decide, also those that nothing else looks at."""
        wants = {"a@x": [jobs(3, Project=1), jobs(4, JobPrio=5)]}
        decision = cycle(slots(9), wants, job_constraint=parse(constraint))

        (submitter,) = decision.submitters
        assert (submitter.matched, submitter.idle) == (got, 7)
        assert submitter.stopped is (StopReason.JOB_CONSTRAINT if got < 7 else StopReason.NO_MORE_JOBS)
        assert decision.rejections == []
