"""The first sentence of an explanation: the deciding reason, and the least change that would let the job run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from fairq.common.quantities import counted, rounded
from fairq.engine.explain.alternatives import asks_for_nothing
from fairq.engine.explain.changes import TIME_BUDGETS, Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, Reason
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.remedies import job_name, weight
from fairq.engine.explain.search import Found
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.quotas.enforcement import rounding
from fairq.steps.cycle.document import overrun_document
from fairq.steps.why.changes import change_words, is_owners
from fairq.steps.why.machines_off import machines_off

_MANY = 3
"""Number of slots from which a sentence counts them instead of naming them."""

_MOST = {">=": "largest", ">": "largest", "<=": "smallest", "<": "smallest"}


def summary(of: Diagnosis, requirements: Sequence[dict[str, Any]], refusals: Sequence[dict[str, Any]]) -> str:
    """Return why the job waits, without a full stop."""
    return f"job {job_name(of.job)} waits because {_cause(of, requirements, refusals)}"


def remedy(of: Diagnosis, found: Found) -> str:
    """Return the change that would let the job run, as a sentence."""
    if of.reason is Reason.EMPTY_POOL:
        return "Add slots with 'fairq slots add'."
    off = machines_off(of)
    woken = f"It would start on {counted(off, 'machine')} that {'is' if off == 1 else 'are'} off." if off else ""
    if woken and not (found.changes and found.verified):
        return woken
    if not found.changes:
        return "No single change was found that would let it run."
    if any(map(asks_for_nothing, found.changes)):
        return "The machines that are large enough are in use; it can start when jobs there have ended."
    words = _joined(found)
    return (
        f"It would run {words}. {woken}".rstrip()
        if found.verified
        else f"First obstacle: it may run {words}. More may follow."
    )


def skipped_for(of: Diagnosis) -> str | None:
    """Return the job ahead for which this one was skipped."""
    job = of.blocker if of.reason is Reason.SKIPPED else None
    if job is None and of.rejection is not None:
        job = of.alike_ahead
    return None if job is None else f"{job[0]}.{job[1]}"


def overruns(outcome: Outcome, context: RequestContext) -> list[dict[str, Any]]:
    """Return the expressions that took too long for the kind of job in *context*."""
    found = (of for of in outcome.decision.overruns if of.payer.autocluster == context.autocluster)
    return [overrun_document(of) for of in found]


def _joined(found: Found) -> str:
    """The changes after "It would run": a single change alone, otherwise the owner's before the administrator's."""
    changes = _without_invented_names(found.changes)
    freed = [change.of for change in changes if change.kind is ChangeKind.FREE_SLOT]
    others = [change for change in changes if change.kind is not ChangeKind.FREE_SLOT]
    free = free_sentence(freed)
    if not others:
        return f"once {free}"
    if len(others) == 1:
        return f"{change_words(others[0])}{f', once {free}' if freed else ''}"
    owners = _listed([change for change in others if is_owners(change)])
    administrators = _listed([change for change in others if not is_owners(change)])
    parts = [f"{owners} (you can set this)"] if owners else []
    parts += [f"{administrators} (an administrator can set this)"] if administrators else []
    return f"with all of: {'; '.join(parts)}{f', once {free}' if freed else ''}"


def free_sentence(slots: Sequence[str | None]) -> str:
    """Return that *slots* are free; many are counted, by their machine if it is one."""
    if len(slots) < _MANY:
        return f"{' and '.join(map(str, slots))} {'is' if len(slots) == 1 else 'are'} free"
    machines = {str(slot).partition("@")[2] for slot in slots}
    where = f" of {machines.pop()}" if len(machines) == 1 else ""
    return f"{len(slots)} slots{where} are free, {slots[0]} among them"


def _listed(changes: Sequence[Change]) -> str:
    words = Counter(change_words(change).removeprefix("with ") for change in changes)
    return ", ".join(word if count == 1 else f"{word} ({count} of them)" for word, count in words.items())


def _without_invented_names(changes: Sequence[Change]) -> list[Change]:
    """Return *changes* for people: name an invented slot of the search by the real slot that it copies."""
    added = {change.to: change.of for change in changes if change.kind is ChangeKind.ADD_SLOT}
    told = []
    for change in changes:
        like = change.of
        while like in added:
            like = added[like]
        if like == change.of or change.kind is ChangeKind.ADD_SLOT:
            told.append(replace(change, of=like))
        elif change.kind is ChangeKind.SLOT_CLAUSE:
            told.append(replace(change, of="the added slot"))
    return told


def _cause(  # noqa: PLR0911, PLR0912 - one per reason
    of: Diagnosis, requirements: Sequence[dict[str, Any]], refusals: Sequence[dict[str, Any]]
) -> str:
    submitter = of.submitter
    used = of.outcome.cycle.weighted_used(of.job.submitter)
    match of.reason:
        case Reason.EMPTY_POOL:
            return "the pool has no slots"
        case Reason.JOB_REQUIREMENTS:
            return _unmet(requirements, len(of.losses.codes))
        case Reason.SLOT_REQUIREMENTS:
            return _refused(of, refusals)
        case Reason.LIMIT if (limit := _preemption_limit(of)) is not None:
            return f"no slot that matches is free, and no more jobs may be preempted for it now ({limit})"
        case Reason.LIMIT:
            if submitter.share > 1 - 1e-9 and used >= submitter.limit - 1e-9:
                return f"the pool is full: {submitter.submitter} alone has {rounded(used)} in use"
            return (
                f"{submitter.submitter} has reached its submitter limit of {submitter.limit:.2f} "
                f"({100 * submitter.share:.1f}% of the pie): {_jobs_ahead(of)}{rounded(used)} in use"
            )
        case Reason.QUOTA:
            return _used_up(of)
        case Reason.CEILING:
            return f"{submitter.submitter} has reached its ceiling of {submitter.ceiling}: {rounded(used)} in use"
        case Reason.SCHEDD:
            most = of.outcome.given.policy.max_jobs_running.get(submitter.schedd, 0)
            whose = f"schedd {submitter.schedd}" if submitter.schedd else "the schedd"
            return f"{whose} runs as many jobs as it may (MaxJobsRunning = {most})"
        case Reason.NOT_OFFERED:
            return f"the turn of {submitter.submitter} ended before it was offered ({submitter.stopped})"
        case Reason.SKIPPED:
            return _skipped(of)
        case Reason.CONCURRENCY_LIMIT:
            return _limited(of)
        case Reason.TIME:
            return _out_of_time(of)
        case Reason.SUBMITTER_CONSTRAINT:
            return f"{submitter.submitter} is excluded by negotiator_submitter_constraint"
        case Reason.JOB_CONSTRAINT:
            return "it is excluded by negotiator_job_constraint"
        case Reason.SLOT_CONSTRAINT:
            return f"negotiator_slot_constraint excludes {_matching(of.lost[LostTo.KEPT_OUT])}"
        case Reason.PIECES:
            return "the partitionable slots have too few free resources: other jobs use the rest"
        case Reason.TAKEN:
            return _taken(of)
        case Reason.DRAINING:
            draining = of.lost[LostTo.DRAINING]
            which = "the only matching slot is" if draining == 1 else f"all {draining} matching slots are"
            return f"{which} draining"
        case Reason.UNUSABLE:
            unusable = of.lost[LostTo.UNUSABLE]
            which = "the only matching slot is" if unusable == 1 else f"all {unusable} matching slots are"
            return f"{which} drained, offline or absent"
        case _:
            return _in_use(of)


def _preemption_limit(of: Diagnosis) -> str | None:
    """Return the limit of preemption that alone keeps the job from the slots that it could preempt; None if none."""
    rows = of.losses.rows(LostTo.LIMIT)
    if not len(rows) or (of.outcome.observer.holders.codes[rows] < 0).any():
        return None
    policy, preempted = of.outcome.given.policy, Counter[str]()
    for match in of.outcome.decision.matches:
        preempted[match.submitter] += max(1, len(match.victims)) if match.preempted is not None else 0
    counts = {
        "max_preemptions_per_cycle": preempted.total(),
        "max_preemptions_per_hour": preempted.total() + policy.preempted_lately,
        "max_preemptions_per_submitter": preempted[of.job.submitter],
    }
    for name, count in counts.items():
        if (most := getattr(policy, name)) is not None and count >= most:
            return f"negotiator.{name} = {most}"
    return None


def _matching(count: int) -> str:
    return "the only matching slot" if count == 1 else f"any of the {count} matching slots"


def _taken(of: Diagnosis) -> str:
    """Who got the slots. Preempted slots are counted apart from free ones."""
    taken, preempted = of.lost[LostTo.TAKEN], of.taken_by_preemption
    free = taken - preempted
    if not preempted:
        which = "the only free slot" if taken == 1 else f"the {taken} free slots"
        return f"{which} that matched went to {_people(of.taken_by)} in this cycle"
    people = _people(of.taken_by)
    if free:
        return f"the {free} free and {preempted} preempted slots that matched went to {people} in this cycle"
    which = "the only slot" if preempted == 1 else f"all {preempted} slots"
    return f"no slot that matched was free, and {which} that could be preempted went to {people} in this cycle"


def _used_up(of: Diagnosis) -> str:
    group = of.submitter.quota_group or of.submitter.group
    figures = of.outcome.quota_of(group)
    if figures is None:
        return f"the quota of group {group} is used up"
    cycle = of.outcome.cycle
    least = of.outcome.decision.min_slot_weight if cycle.divides else weight(of)
    if not figures.accept_surplus and 0 < figures.subtree_quota < least - rounding(least):
        quota = f"the quota of group {group}, {rounded(figures.subtree_quota)}"
        return f"{quota}, is too small for a slot of weight {rounded(least)}"
    used = figures.used_after if figures.parent is None else max(figures.subtree_used, figures.used_after)
    surplus = "" if figures.accept_surplus else ", and it accepts no surplus"
    entitled = f"{rounded(figures.allocated)} (quota {rounded(figures.quota)})"
    return f"group {group} is allocated {entitled} and has {rounded(used)} in use{surplus}"


def _skipped(of: Diagnosis) -> str:
    cluster, proc = of.blocker or (of.job.cluster, of.job.first_proc)
    return (
        f"job {cluster}.{proc} of the same cluster could not be matched, and the rest of the cluster was skipped "
        "(NEGOTIATE_ALL_JOBS_IN_CLUSTER = True lifts this, SIGNIFICANT_ATTRIBUTES says what a cluster is)"
    )


def _out_of_time(of: Diagnosis) -> str:
    budget, budgets = of.submitter.time_budget, of.outcome.given.policy.budgets
    if budget is None or budgets is None:
        return "the time of the cycle was used up before it was offered"
    return f"{TIME_BUDGETS[budget]} ({getattr(budgets, budget):g} s) was used up before it was offered"


def _limited(of: Diagnosis) -> str:
    small = of.limit_too_small
    if small is not None:
        asks = f"it asks for {rounded(of.limit_amounts[small.name])} of the concurrency limit {small.name}"
        return f"{asks}, whose maximum is {rounded(small.maximum)}"
    name = of.concurrency_limit or ", ".join(of.rejection.limits if of.rejection else ())
    figures = of.concurrency_figures.get(name)
    if figures is None:
        return f"the concurrency limit {name} is reached"
    return f"the concurrency limit {name} is reached: {rounded(figures.in_use)} of {rounded(figures.maximum)} in use"


def _in_use(of: Diagnosis) -> str:
    rest = {
        Reason.PREEMPTION_POLICY: ", and the policy (PREEMPTION_REQUIREMENTS) lets no running job be preempted for it",
        Reason.PRIORITY: ", and the priorities of their users are not sufficiently worse to preempt them",
        Reason.OUTRANKED: ", and their machines prefer the jobs they run",
    }.get(of.reason, "")
    count = of.used_by.total()
    if not count:
        return f"no job can start now on {_matching(of.lost[LostTo.CLAIMED_OTHERS])}, although nobody uses it"
    if of.reason is Reason.OWN_JOBS and list(of.used_by) == [of.job.submitter]:
        rest = ": the pool is full with its own jobs"
    which = "the only matching slot is" if count == 1 else f"all {count} matching slots are"
    return f"{which} in use by {_people(of.used_by)}{rest}"


def _unmet(requirements: Sequence[dict[str, Any]], slots: int) -> str:
    if not requirements:
        return "it has no Requirements, and a job without them gets no slot"
    hopeless = [row for row in requirements if not row["slots"]]
    row = next(iter(hopeless), None) or next(row for row in requirements if not row["left"])
    found = _no_value(row, slots) if "nearest" not in row else f"; {_nearest(row)}"
    if hopeless:
        more = f" (nor {', '.join(other['clause'] for other in hopeless[1:])})" if hopeless[1:] else ""
        none = "the only slot does not meet" if slots == 1 else f"none of the {slots} slots meets"
        return f"{none} its requirement {row['clause']}{more}{found}"
    return f"no slot meets all its Requirements at once: {row['clause']} leaves none of those left{found}"


def _no_value(row: dict[str, Any], slots: int) -> str:
    """Why a clause of the requirements has no value to compare."""
    if row.get("undefined") == slots:
        return f"; no slot has {row['compares']}" if "compares" in row else "; it is undefined for all of them"
    return "; it is an error for all of them" if row.get("error") == slots else ""


def _nearest(row: dict[str, Any]) -> str:
    if isinstance(row["nearest"], str):
        return f"{row['nearest_slots']} have {row['compares']} {row['nearest']}"
    operator = next((word for word in row["clause"].split() if word in _MOST), "")
    most = _MOST.get(operator, "nearest") if _on_the_left(row) else "nearest"
    return f"the {most} {row['compares']} is {row['nearest']:g}" if most else ""


def _on_the_left(row: dict[str, Any]) -> bool:
    before = row["clause"].partition(row["compares"])[0]
    return not any(operator in before for operator in ("<", ">"))


def _refused(of: Diagnosis, refusals: Sequence[dict[str, Any]]) -> str:
    accepted = of.lost[LostTo.SLOT_REQUIREMENTS]
    text = "the only slot that it accepts rejects it"
    if accepted != 1:
        text = f"the {accepted} slots that it accepts reject it"
    if not refusals:
        return text
    first = refusals[0]
    nearest = f"; the nearest is {first['nearest']:g}" if "nearest" in first else ""
    how_many = f"{first['slots']} of them " if accepted != 1 else ""
    return f"{text}, {how_many}by {first['clause']}{nearest}"


def _jobs_ahead(of: Diagnosis) -> str:
    return f"{of.submitter.matched} of its jobs were matched, " if of.submitter.matched else ""


def _people(users: Counter[str]) -> str:
    shown = [f"{name} ({count})" for name, count in users.most_common(3)]
    more = len(users) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "") if shown else "others"
