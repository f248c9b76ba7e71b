"""A slot counts at the first test that it fails, and every slot of the pool counts once."""

from tests import policies
from tests.engine.negotiation.pools import NOW, claimed, jobs, policy, slots

from fairq.common.records import AccountingRecord, JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.explain.losses import CycleRecorder, LostTo
from fairq.engine.negotiation.cycle import negotiate
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue


def lost(
    pool,
    job,
    count=1,
    draining=frozenset(),
    ceiling=-1,
    **rules,
):
    """What the last rejected request of *count* jobs alike of ``a@x`` lost; tests that took nothing left out."""
    snapshot = PoolSlots([ad["Name"] for ad in pool], range(len(pool)), AdColumns(pool, now=NOW), draining)
    idle = JobRange(1, 0, count - 1, 0, "a@x", "a", 1, NOW, NOW)
    records = [AccountingRecord("a@x", ceiling=ceiling), AccountingRecord("busy@x")]
    accountant = Accountant(records, policies.accounting(), last_update=NOW)
    recorder = CycleRecorder(snapshot, policy(**rules))
    queues = [SubmitterQueue("a@x", "", 0, [idle]), SubmitterQueue("busy@x", "", 1, ())]
    decision = negotiate(snapshot, Jobs(queues, {0: job}), accountant, policy(**rules), NOW, observer=recorder)
    last = recorder.explained[-1]
    assert last.rejection == decision.rejections[-1]
    assert sum(last.lost.values()) == len(pool)
    return {test: number for test, number in last.lost.items() if number}, decision


def test_requirements_count_before_all_else():
    """Slots that the job refuses, slots that refuse the job, and those that drain are told apart."""
    pool = slots(3, Arch="ARM64") + slots(2, Memory=100) + slots(2)
    found, _ = lost(pool, jobs(1)[1], draining=frozenset({5, 6}))

    assert found == {LostTo.JOB_REQUIREMENTS: 3, LostTo.SLOT_REQUIREMENTS: 2, LostTo.DRAINING: 2}


def test_slots_in_use_are_lost_to_their_users():
    """One's own slots, the slots of others, and those taken earlier in the cycle."""
    own = [claimed(slot, "a@x") for slot in slots(2)]
    others = [claimed(slot, "busy@x") for slot in slots(3)]
    found, decision = lost(own + others + slots(1), jobs(1)[1], 2, consider_preemption=False)

    assert found == {LostTo.TAKEN: 1, LostTo.CLAIMED_OWN: 2, LostTo.CLAIMED_OTHERS: 3}
    assert decision.submitters[0].stopped == StopReason.NO_SLOTS


def test_preemption_is_refused_by_rank_then_policy_then_priority():
    """Of held slots the machine's rank is asked first, then PREEMPTION_REQUIREMENTS, then the priorities."""
    pool = [
        *(claimed(slot, "busy@x", CurrentRank=5.0) for slot in slots(1)),
        *(claimed(slot, "busy@x", Old=False) for slot in slots(2)),
        *(claimed(slot, "busy@x", Old=True) for slot in slots(3)),
    ]
    found, decision = lost(pool, jobs(1)[1], preemption_requirements="MY.Old")

    assert found == {LostTo.OUTRANKED: 1, LostTo.PREEMPTION_POLICY: 2, LostTo.PRIORITY: 3}
    assert decision.submitters[0].stopped == StopReason.IN_USE


def test_a_limit_is_named_where_nothing_else_stands_in_the_way():
    """A ceiling of 3 leaves no room for a slot of weight 3 once another is taken."""
    found, decision = lost(slots(1) + slots(1, Cpus=3), jobs(1)[1], 2, ceiling=3)

    assert found == {LostTo.TAKEN: 1, LostTo.LIMIT: 1}
    assert decision.submitters[0].stopped == StopReason.CEILING


def test_a_job_that_fits_nowhere_is_told_from_one_that_waits():
    """No slot of the pool suits: that is not the same as all of them being in use."""
    _, decision = lost([claimed(slot, "busy@x") for slot in slots(2)], jobs(1, RequestMemory=9999)[1])

    assert decision.submitters[0].stopped == StopReason.NO_MATCH
