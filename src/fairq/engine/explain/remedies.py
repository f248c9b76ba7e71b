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
from fairq.engine.explain.report import place_in_queue

BEST_FACTOR, BEST_PRIORITY = 1.0, 0.5
_NEAREST = 3
_USUAL_SECONDS = {"cycle": 1200, "submitter": 60, "schedd": 120, "spin": 120}
"""HTCondor's own time budgets."""

_HELD = (
    LostTo.CLAIMED_OTHERS,
    LostTo.PRIORITY,
    LostTo.PREEMPTION_POLICY,
    LostTo.OUTRANKED,
    LostTo.TAKEN,
    LostTo.CLAIMED_OWN,
)

Remedy = tuple[Change, ...]
"""Changes made together."""


def remedies(of: Diagnosis) -> Iterator[Remedy]:
    """Yield changes that may let the job run, the smallest first; none of them is verified."""
    seen: list[Remedy] = []  # the value of an attribute may be a list or an ad, which have no hash
    for remedy in _candidates(of):
        if remedy and remedy not in seen:
            seen.append(remedy)
            yield remedy


def _candidates(of: Diagnosis) -> Iterator[Remedy]:  # noqa: PLR0911, PLR0912 - one per reason
    match of.reason:
        case Reason.EMPTY_POOL:
            return
        case Reason.JOB_REQUIREMENTS | Reason.SLOT_REQUIREMENTS:
            yield from fits(of)
            return
        case Reason.PIECES:
            yield from _pieces(of)
            return
        case Reason.SUBMITTER_CONSTRAINT | Reason.JOB_CONSTRAINT | Reason.SLOT_CONSTRAINT:
            yield (Change(ChangeKind.SETTING, str(of.reason)),)
            return
        case Reason.SKIPPED:
            yield (Change(ChangeKind.JOB_PRIORITY, job_name(of.job), _highest_priority(of) + 1, now=of.job.priority),)
            return
        case Reason.CONCURRENCY_LIMIT:
            if of.limit_too_small is None:
                yield from _ahead_of_own(of)
            yield from _concurrency_limit(of)
            yield from _free(of)
            return
        case Reason.TIME:
            yield _time_budget(of)
            return
        case Reason.DRAINING:
            yield from _each(of, LostTo.DRAINING, ChangeKind.UNDRAIN, 1)
            return
        case Reason.CEILING:
            yield _ceiling(of, 1)
            yield _ceiling(of, _left_idle_ahead(of) + 1)
            yield from _ahead_of_own(of)
        case Reason.IN_USE | Reason.PREEMPTION_POLICY | Reason.PRIORITY | Reason.OUTRANKED | Reason.OWN_JOBS:
            yield from _free(of)
        case Reason.QUOTA:
            yield from _ahead_of_own(of)
            yield from _quota(of)
            yield from _free_of_group(of)
    yield from _ahead_of_own(of)
    yield from _share(of)
    yield from _free(of)
    if of.submitter.quota_group is not None:
        yield from _quota(of)
    if of.submitter.ceiling >= 0:
        yield _ceiling(of, _left_idle_ahead(of) + 1)
    yield from _each(of, LostTo.DRAINING, ChangeKind.UNDRAIN, 1)
    yield from more(of)


def fits(of: Diagnosis) -> Iterator[Remedy]:
    """The changes of the job, or of slots, with which it matches one of the nearest slots."""
    names, checks = of.outcome.labels, of.checks
    free = of.outcome.standing.tests(of.context).free & ~_held(of)
    for row in nearest_slots(checks, free, _NEAREST):
        yield tuple(changes_for(row, checks, job_name(of.job), names[row]))


def _pieces(of: Diagnosis) -> Iterator[Remedy]:
    """Parts of a partitionable slot given back: one part, or all parts of one slot, the slot with the fewest first."""
    names = of.outcome.labels
    wanted = set(of.carved_up)
    families = [rows for parent, rows in pieces_of(of.outcome.given.pool).items() if parent in wanted]
    families.sort(key=len)
    for rows in families[:_NEAREST]:
        for row in rows[:_NEAREST]:
            yield (Change(ChangeKind.FREE_SLOT, names[row]),)
    for rows in families[:_NEAREST]:
        yield tuple(Change(ChangeKind.FREE_SLOT, names[row]) for row in rows)


def _held(of: Diagnosis) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([name is not None for name in of.outcome.observer.holders], np.bool_)


def _each(of: Diagnosis, test: LostTo, kind: ChangeKind, count: int) -> Iterator[Remedy]:
    """Change the best *count* slots lost to *test*, one at a time."""
    rows = of.losses.rows(test)
    place = of.outcome.standing.place(of.context)
    if len(rows) > count:
        # To sort the slots of a large pool takes longer than to find the few best ones.
        rows = rows[np.argpartition(place[rows], count - 1)[:count]]
    for row in rows[np.argsort(place[rows])].tolist():
        yield (Change(kind, of.outcome.labels[row]),)


def _free(of: Diagnosis) -> Iterator[Remedy]:
    """Slots in use that become free: those of other submitters first."""
    users = of.outcome.observer.holders
    for test in _HELD:
        for remedy in _each(of, test, ChangeKind.FREE_SLOT, 2):
            row = of.outcome.labels.index(remedy[0].of)
            if users[row] is not None:
                yield remedy


def _free_of_group(of: Diagnosis) -> Iterator[Remedy]:
    """A slot in use by the same group: it counts against the quota, whether it matches or not."""
    accountant, users = of.outcome.given.accountant, of.outcome.observer.holders
    of_group = {name for name in set(users) if name is not None and accountant.group_of(name) == of.submitter.group}
    row = next((row for row, name in enumerate(users) if name in of_group), None)
    if row is not None:
        yield (Change(ChangeKind.FREE_SLOT, of.outcome.labels[row]),)


def more(of: Diagnosis) -> Iterator[Remedy]:
    """One more slot, like the best matching one; preferably like a whole slot."""
    names, place = of.outcome.labels, of.outcome.standing.place(of.context)
    suitable = np.flatnonzero(of.outcome.standing.tests(of.context).suitable)
    if len(suitable):
        dynamic = evaluate_in_columns("DynamicSlot", of.outcome.given.pool.ads, {}, suitable).is_true()
        suitable = suitable if dynamic.all() else suitable[~dynamic]
        like = names[int(suitable[np.argmin(place[suitable])])]
        yield (Change(ChangeKind.ADD_SLOT, like, f"new{len(names)}_{like}"),)


def _ahead_of_own(of: Diagnosis) -> Iterator[Remedy]:
    """A priority above that of all other jobs of the submitter."""
    highest = _highest_priority(of)
    if of.submitter.matched and of.job.priority <= highest:
        yield (Change(ChangeKind.JOB_PRIORITY, job_name(of.job), highest + 1, now=of.job.priority),)


def weight(of: Diagnosis) -> float:
    """The smallest weight of a reachable slot, otherwise of any matching slot."""
    cost = np.array(of.outcome.cycle.cost)
    for tests in ((LostTo.LIMIT, LostTo.TAKEN), _HELD):
        rows = np.concatenate([of.losses.rows(test) for test in tests])
        if len(rows):
            return float(cost[rows].min())
    return 1.0


def levers(of: Diagnosis) -> Iterator[Change]:
    """All changes in favour of the job: one more slot, the first place, and room under every limit."""
    for remedy in (*more(of), *(_free_of_group(of) if of.outcome.decision.quotas else ())):
        yield from remedy
    name, record = of.job.submitter, of.outcome.given.accountant.records[of.job.submitter]
    yield from _settings(of)
    used = of.outcome.cycle.weighted_used(name)
    room = math.ceil(used + weight(of) * (_left_idle_ahead(of) + 1))
    yield Change(ChangeKind.JOB_PRIORITY, job_name(of.job), _highest_priority(of) + 1, now=of.job.priority)
    if of.submitter.ceiling >= 0:
        yield Change(ChangeKind.CEILING, name, room, now=of.submitter.ceiling)
    group: str | None = of.submitter.group
    while (figures := of.outcome.quota_of(group)) is not None and figures.parent is not None:
        to = math.ceil(figures.subtree_used + 2 * weight(of))
        if to > figures.quota:
            yield Change(ChangeKind.QUOTA, figures.group, to, now=figures.quota)
        group = figures.parent
    yield Change(ChangeKind.FLOOR, name, room, now=of.submitter.floor)
    yield Change(ChangeKind.PRIORITY, name, BEST_PRIORITY, now=record.priority)
    yield Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=record.priority_factor)


def _settings(of: Diagnosis) -> Iterator[Change]:
    """No negotiator constraints, no time limits, and room under every limit of the job."""
    policy = of.outcome.given.policy
    for constraint in ("submitter_constraint", "job_constraint", "slot_constraint"):
        if getattr(policy, constraint) is not None:
            yield Change(ChangeKind.SETTING, f"negotiator_{constraint}")
    for budget, setting in TIME_BUDGETS.items():
        now = getattr(policy.budgets, budget, math.inf)
        if now < _USUAL_SECONDS[budget]:
            yield Change(ChangeKind.TIME_BUDGET, setting, _USUAL_SECONDS[budget], now=now)
    for name, amount in of.limit_amounts.items():
        figures = of.concurrency_figures.get(name)
        if figures is not None and figures.maximum < math.inf:
            to = math.ceil(figures.in_use + amount * (_left_idle_ahead(of) + 1))
            yield Change(ChangeKind.CONCURRENCY_LIMIT, name, to, now=figures.maximum)


def _highest_priority(of: Diagnosis) -> int:
    """The highest priority of the submitter's idle jobs."""
    return max(jobs.priority for jobs in of.idle)


def _concurrency_limit(of: Diagnosis) -> Iterator[Remedy]:
    small = of.limit_too_small
    if small is not None:
        amount = of.limit_amounts[small.name]
        for to in dict.fromkeys((math.ceil(amount), math.ceil(small.in_use + amount))):
            yield (Change(ChangeKind.CONCURRENCY_LIMIT, small.name, to, now=small.maximum),)
        return
    name = of.concurrency_limit or next(iter(of.rejection.limits if of.rejection else ()), None)
    figures = of.concurrency_figures.get(name or "")
    if figures is None:
        return
    to = math.ceil(figures.in_use + of.limit_amounts.get(figures.name, 1.0))
    yield (Change(ChangeKind.CONCURRENCY_LIMIT, figures.name, to, now=figures.maximum),)


def _time_budget(of: Diagnosis) -> Remedy:
    """A larger time budget: its default, or twice its value."""
    budget, budgets = of.submitter.time_budget, of.outcome.given.policy.budgets
    if budget is None or budgets is None:
        return ()
    now = getattr(budgets, budget)
    to = max(_USUAL_SECONDS[budget], 2 * math.ceil(now))
    return (Change(ChangeKind.TIME_BUDGET, TIME_BUDGETS[budget], to, now=now),)


def _left_idle_ahead(of: Diagnosis) -> int:
    """How many jobs of the same submitter come before the job and are left idle as well."""
    place = place_in_queue(of)
    return max(0, int(place["ahead"]) - of.submitter.matched)


def _ceiling(of: Diagnosis, jobs: int) -> Remedy:
    """A ceiling with room for so many jobs more."""
    used = of.outcome.cycle.weighted_used(of.job.submitter)
    to = math.floor(used) + max(1, math.ceil(jobs * weight(of)))
    return (Change(ChangeKind.CEILING, of.job.submitter, to, now=of.submitter.ceiling),)


def _quota(of: Diagnosis) -> Iterator[Remedy]:
    group = of.submitter.quota_group or of.submitter.group
    figures = of.outcome.quota_of(group)
    if figures is None or figures.parent is None:
        return
    to = math.ceil(max(figures.subtree_used, figures.used_after) + weight(of))
    yield (Change(ChangeKind.QUOTA, group, to, now=figures.quota),)
    if not figures.accept_surplus:
        yield (Change(ChangeKind.ACCEPT_SURPLUS, group, True, now=False),)


def _share(of: Diagnosis) -> Iterator[Remedy]:
    """A better effective priority, by the factor or also by the real priority; or a floor."""
    name = of.job.submitter
    record = of.outcome.given.accountant.records[name]
    now = of.outcome.given.accountant.priority_factor(name)
    for wanted in sorted(_wanted_priorities(of), reverse=True):
        factor = _rounded_down(wanted / record.priority)
        if BEST_FACTOR <= factor < now:
            yield (Change(ChangeKind.FACTOR, name, factor, now=now),)
    if now > BEST_FACTOR:
        yield (Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=now),)
    used = of.outcome.cycle.weighted_used(name)
    floor = math.ceil(used + weight(of))
    if floor > of.submitter.floor:
        yield (Change(ChangeKind.FLOOR, name, floor, now=of.submitter.floor),)
    if record.priority > BEST_PRIORITY:
        best = Change(ChangeKind.PRIORITY, name, BEST_PRIORITY, now=record.priority)
        yield (best,)
        if now > BEST_FACTOR:
            yield (best, Change(ChangeKind.FACTOR, name, BEST_FACTOR, now=now))


def _wanted_priorities(of: Diagnosis) -> Iterator[float]:
    """The effective priorities that would give room for the job, or the first place."""
    rivals = {
        each.submitter: each.effective_priority
        for each in of.outcome.decision.submitters
        if each.submitter != of.job.submitter and each.group == of.submitter.group
    }
    if not rivals:
        return
    yield 0.99 * min(rivals.values())
    pie = of.submitter.limit / of.submitter.share if of.submitter.share else of.outcome.decision.pie
    share = (of.outcome.cycle.weighted_used(of.job.submitter) + weight(of)) / pie if pie else 1.0
    if 0 < share < 1:
        yield (1 - share) / (share * sum(1 / priority for priority in rivals.values()))


def _rounded_down(value: float) -> float:
    """*value* rounded down to three digits."""
    if not 0 < value < 1e300:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / step) * step


def job_name(job: JobRange) -> str:
    """The first job of a range as people name it."""
    return f"{job.cluster}.{job.first_proc}"
