"""Changes that may let a job run, the smallest first."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fairq.common.records import JobRange
from fairq.engine.classad import evaluate_in_columns
from fairq.engine.explain.changes import TIME_BUDGETS, Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Reason
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.nearest_slots import changes_for, nearest_slots
from fairq.engine.explain.pieces import pieces_of
from fairq.engine.explain.report import queue_position
from fairq.engine.negotiation.preemption import permits_preemption

BEST_FACTOR, BEST_PRIORITY = 1.0, 0.5
_NEAREST = 3
_USUAL_SECONDS = {"cycle": 1200, "submitter": 60, "schedd": 120, "spin": 120}
"""HTCondor's own time budgets."""

_TESTS_OF_HELD_SLOTS = (
    LostTo.CLAIMED_OTHERS,
    LostTo.PRIORITY,
    LostTo.PREEMPTION_POLICY,
    LostTo.OUTRANKED,
    LostTo.TAKEN,
    LostTo.CLAIMED_OWN,
)

Remedy = tuple[Change, ...]
"""Changes made together."""


def remedies(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield changes that may let the job run, the smallest first; none of them is verified."""
    yielded: list[Remedy] = []  # the value of an attribute may be a list or an ad, which have no hash
    for remedy in _candidates(diagnosis):
        if remedy and remedy not in yielded:
            yielded.append(remedy)
            yield remedy


def _candidates(diagnosis: Diagnosis) -> Iterator[Remedy]:  # noqa: PLR0911, PLR0912 - one per reason
    match diagnosis.reason:
        case Reason.EMPTY_POOL:
            return
        case Reason.JOB_REQUIREMENTS | Reason.SLOT_REQUIREMENTS:
            yield from fitting_changes(diagnosis)
            return
        case Reason.PIECES:
            yield from _give_back_pieces(diagnosis)
            return
        case Reason.SUBMITTER_CONSTRAINT | Reason.JOB_CONSTRAINT | Reason.SLOT_CONSTRAINT:
            yield (Change(ChangeKind.SETTING, str(diagnosis.reason)),)
            return
        case Reason.SKIPPED:
            yield (
                Change(
                    ChangeKind.JOB_PRIORITY,
                    job_name(diagnosis.job),
                    _highest_priority(diagnosis) + 1,
                    now=diagnosis.job.priority,
                ),
            )
            return
        case Reason.CONCURRENCY_LIMIT:
            if diagnosis.limit_too_small is None:
                yield from _highest_of_own(diagnosis)
            yield from _concurrency_limit(diagnosis)
            yield from _free_slots(diagnosis)
            return
        case Reason.TIME:
            yield _time_budget(diagnosis)
            return
        case Reason.DRAINING:
            yield from _undrain(diagnosis)
            return
        case Reason.CEILING:
            yield _ceiling(diagnosis, 1)
            yield _ceiling(diagnosis, _left_idle_ahead(diagnosis) + 1)
            yield from _highest_of_own(diagnosis)
        case Reason.IN_USE | Reason.PREEMPTION_POLICY | Reason.PRIORITY | Reason.OUTRANKED | Reason.OWN_JOBS:
            yield from _free_slots(diagnosis)
        case Reason.QUOTA:
            yield from _highest_of_own(diagnosis)
            yield from _quota(diagnosis)
            yield from _free_of_group(diagnosis)
    yield from _highest_of_own(diagnosis)
    if diagnosis.has_free_matches or permits_preemption(diagnosis.outcome.input.policy):
        yield from _share(diagnosis)
    yield from _free_slots(diagnosis)
    if diagnosis.submitter.quota_group is not None:
        yield from _quota(diagnosis)
    if diagnosis.submitter.ceiling >= 0:
        yield _ceiling(diagnosis, _left_idle_ahead(diagnosis) + 1)
    yield from _undrain(diagnosis)
    yield from one_more_slot(diagnosis)


def fitting_changes(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the changes of the job or of slots with which it matches one of the nearest slots."""
    names, checks = diagnosis.outcome.labels, diagnosis.checks
    free = diagnosis.outcome.standing.tests(diagnosis.context).free & (diagnosis.outcome.observer.holders.codes < 0)
    for row in nearest_slots(checks, free, _NEAREST):
        yield tuple(changes_for(row, checks, job_name(diagnosis.job), names[row]))


def _give_back_pieces(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Free one dynamic slot, or all dynamic slots of one partitionable slot, the slot with the fewest first."""
    names = diagnosis.outcome.labels
    parents = set(diagnosis.carved_up)
    families = [rows for parent, rows in pieces_of(diagnosis.outcome.input.pool).items() if parent in parents]
    families.sort(key=len)
    for rows in families[:_NEAREST]:
        for row in rows[:_NEAREST]:
            yield (Change(ChangeKind.FREE_SLOT, names[row]),)
    for rows in families[:_NEAREST]:
        yield tuple(Change(ChangeKind.FREE_SLOT, names[row]) for row in rows)


def _best_slots(diagnosis: Diagnosis, test: LostTo, count: int = 1) -> list[int]:
    """Return the rows of the best *count* slots lost to *test*, the best first."""
    rows = diagnosis.losses.rows(test)
    positions = diagnosis.outcome.standing.positions(diagnosis.context)
    best: list[int] = rows[np.argsort(positions[rows])][:count].tolist()
    return best


def _undrain(diagnosis: Diagnosis) -> Iterator[Remedy]:
    for row in _best_slots(diagnosis, LostTo.DRAINING):
        yield (Change(ChangeKind.UNDRAIN, diagnosis.outcome.labels[row]),)


def _free_slots(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Free slots in use, those of other submitters first."""
    for test in _TESTS_OF_HELD_SLOTS:
        for row in _best_slots(diagnosis, test, 2):
            if diagnosis.outcome.observer.holders[row] is not None:
                yield (Change(ChangeKind.FREE_SLOT, diagnosis.outcome.labels[row]),)


def _free_of_group(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Free a slot in use by the same group: it counts against the quota, whether it matches or not."""
    accountant, holders = diagnosis.outcome.input.accountant, diagnosis.outcome.observer.holders
    is_member = [accountant.group_of(name) == diagnosis.submitter.group for name in holders.distinct]
    rows = np.flatnonzero(np.array([*is_member, False])[holders.codes])
    for row in rows[:1].tolist():
        yield (Change(ChangeKind.FREE_SLOT, diagnosis.outcome.labels[row]),)


def one_more_slot(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Add one slot like the best matching one; preferably like a whole slot."""
    names, positions = diagnosis.outcome.labels, diagnosis.outcome.standing.positions(diagnosis.context)
    suitable = np.flatnonzero(diagnosis.outcome.standing.tests(diagnosis.context).suitable)
    if len(suitable):
        dynamic = evaluate_in_columns("DynamicSlot", diagnosis.outcome.input.pool.ads, {}, suitable).is_true()
        suitable = suitable if dynamic.all() else suitable[~dynamic]
        model = names[int(suitable[np.argmin(positions[suitable])])]
        yield (Change(ChangeKind.ADD_SLOT, model, f"new{len(names)}_{model}"),)


def _highest_of_own(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Raise the priority above that of all other jobs of the submitter."""
    highest = _highest_priority(diagnosis)
    if diagnosis.submitter.matched and diagnosis.job.priority <= highest:
        yield (Change(ChangeKind.JOB_PRIORITY, job_name(diagnosis.job), highest + 1, now=diagnosis.job.priority),)


def weight(diagnosis: Diagnosis) -> float:
    """Return the smallest weight of a free matching slot, otherwise of any matching slot."""
    cost = np.array(diagnosis.outcome.cycle.cost)
    for tests in ((LostTo.LIMIT, LostTo.TAKEN), _TESTS_OF_HELD_SLOTS):
        rows = np.concatenate([diagnosis.losses.rows(test) for test in tests])
        if len(rows):
            return float(cost[rows].min())
    return 1.0


def all_favourable_changes(diagnosis: Diagnosis) -> Iterator[Change]:
    """Yield all changes in favour of the job: one more slot, the first place, and a raise of every limit."""
    for remedy in (
        *one_more_slot(diagnosis),
        *(_free_of_group(diagnosis) if diagnosis.outcome.decision.quotas else ()),
    ):
        yield from remedy
    name, record = diagnosis.job.submitter, diagnosis.outcome.input.accountant.records[diagnosis.job.submitter]
    yield from _settings(diagnosis)
    used = diagnosis.outcome.cycle.weighted_used(name)
    needed = math.ceil(used + weight(diagnosis) * (_left_idle_ahead(diagnosis) + 1))
    yield Change(
        ChangeKind.JOB_PRIORITY, job_name(diagnosis.job), _highest_priority(diagnosis) + 1, now=diagnosis.job.priority
    )
    if diagnosis.submitter.ceiling >= 0:
        yield Change(ChangeKind.CEILING, name, needed, now=diagnosis.submitter.ceiling)
    group: str | None = diagnosis.submitter.group
    while (figures := diagnosis.outcome.quota_of(group)) is not None and figures.parent is not None:
        to = math.ceil(figures.subtree_used + 2 * weight(diagnosis))
        if to > figures.quota:
            yield Change(ChangeKind.QUOTA, figures.group, to, now=figures.quota)
        group = figures.parent
    yield Change(ChangeKind.FLOOR, name, needed, now=diagnosis.submitter.floor)
    yield Change(ChangeKind.PRIORITY, name, BEST_PRIORITY, now=record.priority)
    yield Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=record.priority_factor)


def _settings(diagnosis: Diagnosis) -> Iterator[Change]:
    """Unset the negotiator's constraints, and raise time budgets and the concurrency limits of the job."""
    policy = diagnosis.outcome.input.policy
    for constraint in ("submitter_constraint", "job_constraint", "slot_constraint"):
        if getattr(policy, constraint) is not None:
            yield Change(ChangeKind.SETTING, f"negotiator_{constraint}")
    for budget, setting in TIME_BUDGETS.items():
        now = getattr(policy.budgets, budget, math.inf)
        if now < _USUAL_SECONDS[budget]:
            yield Change(ChangeKind.TIME_BUDGET, setting, _USUAL_SECONDS[budget], now=now)
    for name, amount in diagnosis.limit_amounts.items():
        figures = diagnosis.concurrency_figures.get(name)
        if figures is not None and figures.maximum < math.inf:
            to = math.ceil(figures.in_use + amount * (_left_idle_ahead(diagnosis) + 1))
            yield Change(ChangeKind.CONCURRENCY_LIMIT, name, to, now=figures.maximum)


def _highest_priority(diagnosis: Diagnosis) -> int:
    """Return the highest priority of the submitter's idle jobs."""
    return max(jobs.priority for jobs in diagnosis.idle)


def _concurrency_limit(diagnosis: Diagnosis) -> Iterator[Remedy]:
    too_small = diagnosis.limit_too_small
    if too_small is not None:
        amount = diagnosis.limit_amounts[too_small.name]
        for to in dict.fromkeys((math.ceil(amount), math.ceil(too_small.in_use + amount))):
            yield (Change(ChangeKind.CONCURRENCY_LIMIT, too_small.name, to, now=too_small.maximum),)
        return
    name = diagnosis.concurrency_limit or next(iter(diagnosis.rejection.limits if diagnosis.rejection else ()), None)
    figures = diagnosis.concurrency_figures.get(name or "")
    if figures is None:
        return
    to = math.ceil(figures.in_use + diagnosis.limit_amounts.get(figures.name, 1.0))
    yield (Change(ChangeKind.CONCURRENCY_LIMIT, figures.name, to, now=figures.maximum),)


def _time_budget(diagnosis: Diagnosis) -> Remedy:
    """Raise the time budget to its default, or to twice its value."""
    budget, budgets = diagnosis.submitter.time_budget, diagnosis.outcome.input.policy.budgets
    if budget is None or budgets is None:
        return ()
    now = getattr(budgets, budget)
    to = max(_USUAL_SECONDS[budget], 2 * math.ceil(now))
    return (Change(ChangeKind.TIME_BUDGET, TIME_BUDGETS[budget], to, now=now),)


def _left_idle_ahead(diagnosis: Diagnosis) -> int:
    """Return how many jobs of the same submitter are ahead of the job and stay idle."""
    position = queue_position(diagnosis)
    return max(0, int(position["ahead"]) - diagnosis.submitter.matched)


def _ceiling(diagnosis: Diagnosis, jobs: int) -> Remedy:
    """Raise the ceiling for *jobs* more jobs."""
    used = diagnosis.outcome.cycle.weighted_used(diagnosis.job.submitter)
    to = math.floor(used) + max(1, math.ceil(jobs * weight(diagnosis)))
    return (Change(ChangeKind.CEILING, diagnosis.job.submitter, to, now=diagnosis.submitter.ceiling),)


def _quota(diagnosis: Diagnosis) -> Iterator[Remedy]:
    group = diagnosis.submitter.quota_group or diagnosis.submitter.group
    figures = diagnosis.outcome.quota_of(group)
    if figures is None or figures.parent is None:
        return
    to = math.ceil(max(figures.subtree_used, figures.used_after) + weight(diagnosis))
    yield (Change(ChangeKind.QUOTA, group, to, now=figures.quota),)
    if not figures.accept_surplus:
        yield (Change(ChangeKind.ACCEPT_SURPLUS, group, True, now=False),)


def _share(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Improve the effective priority by the factor or also the real priority, or set a floor."""
    name = diagnosis.job.submitter
    record = diagnosis.outcome.input.accountant.records[name]
    now = diagnosis.outcome.input.accountant.priority_factor(name)
    for priority in sorted(_sufficient_priorities(diagnosis), reverse=True):
        factor = _rounded_down(priority / record.priority)
        if BEST_FACTOR <= factor < now:
            yield (Change(ChangeKind.FACTOR, name, factor, now=now),)
    if now > BEST_FACTOR:
        yield (Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=now),)
    used = diagnosis.outcome.cycle.weighted_used(name)
    floor = math.ceil(used + weight(diagnosis))
    if floor > diagnosis.submitter.floor:
        yield (Change(ChangeKind.FLOOR, name, floor, now=diagnosis.submitter.floor),)
    if record.priority > BEST_PRIORITY:
        best = Change(ChangeKind.PRIORITY, name, BEST_PRIORITY, now=record.priority)
        yield (best,)
        if now > BEST_FACTOR:
            yield (best, Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=now))


def _sufficient_priorities(diagnosis: Diagnosis) -> Iterator[float]:
    """Yield the effective priorities with which the share suffices for the job, or which come first."""
    rivals = {
        decision.submitter: decision.effective_priority
        for decision in diagnosis.outcome.decision.submitters
        if decision.submitter != diagnosis.job.submitter and decision.group == diagnosis.submitter.group
    }
    if not rivals:
        return
    yield 0.99 * min(rivals.values())
    pie = (
        diagnosis.submitter.limit / diagnosis.submitter.share
        if diagnosis.submitter.share
        else diagnosis.outcome.decision.pie
    )
    share = (diagnosis.outcome.cycle.weighted_used(diagnosis.job.submitter) + weight(diagnosis)) / pie if pie else 1.0
    if 0 < share < 1:
        yield (1 - share) / (share * sum(1 / priority for priority in rivals.values()))


def _rounded_down(value: float) -> float:
    """Return *value* rounded down to three digits."""
    if not 0 < value < 1e300:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / step) * step


def job_name(job: JobRange) -> str:
    """Return the first job of a range in the form cluster.proc."""
    return f"{job.cluster}.{job.first_proc}"
