"""The first sentence of an explanation: the deciding reason, and the least change that would let the job run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from fairq.common.quantities import counted, rounded
from fairq.engine.explain.alternatives import asks_for_nothing
from fairq.engine.explain.changes import OWNERS, TIME_BUDGETS, Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, Reason
from fairq.engine.explain.losses import LostTo
from fairq.engine.explain.remedies import job_name, weight
from fairq.engine.explain.search import SearchResult
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.quotas.enforcement import rounding
from fairq.steps.cycle.document import overrun_document
from fairq.steps.why.changes import change_words
from fairq.steps.why.machines_off import machines_off

_MANY = 3
"""Number of slots from which a sentence counts them instead of naming them."""

_MOST = {">=": "largest", ">": "largest", "<=": "smallest", "<": "smallest"}


def summary(diagnosis: Diagnosis, requirements: Sequence[dict[str, Any]], refusals: Sequence[dict[str, Any]]) -> str:
    """Return why the job waits, without a full stop."""
    return f"job {job_name(diagnosis.job)} waits because {_cause(diagnosis, requirements, refusals)}"


def remedy(diagnosis: Diagnosis, result: SearchResult) -> str:
    """Return the change that would let the job run, as a sentence."""
    if diagnosis.reason is Reason.EMPTY_POOL:
        return "Add slots with 'fairq slots add'."
    machine_count = machines_off(diagnosis)
    wake_sentence = (
        f"It would start on {counted(machine_count, 'machine')} that {'is' if machine_count == 1 else 'are'} off."
        if machine_count
        else ""
    )
    if wake_sentence and not (result.changes and result.verified):
        return wake_sentence
    if not result.changes:
        return "No single change was found that would let it run."
    if any(map(asks_for_nothing, result.changes)):
        return "The machines that are large enough are in use; it can start when jobs there have ended."
    words = _joined(result)
    return (
        f"It would run {words}. {wake_sentence}".rstrip()
        if result.verified
        else f"First obstacle: it may run {words}. More may follow."
    )


def skipped_for(diagnosis: Diagnosis) -> str | None:
    """Return the job ahead for which this one was skipped."""
    job = diagnosis.blocker if diagnosis.reason is Reason.SKIPPED else None
    if job is None and diagnosis.rejection is not None:
        job = diagnosis.alike_ahead
    return None if job is None else f"{job[0]}.{job[1]}"


def overruns(outcome: Outcome, context: RequestContext) -> list[dict[str, Any]]:
    """Return the expressions that took too long for the kind of job in *context*."""
    overruns = (overrun for overrun in outcome.decision.overruns if overrun.payer.autocluster == context.autocluster)
    return [overrun_document(overrun) for overrun in overruns]


def _joined(result: SearchResult) -> str:
    """Return the words after "It would run": the single change, else the owner's before the administrator's."""
    changes = _without_invented_names(result.changes)
    freed = [change.of for change in changes if change.kind is ChangeKind.FREE_SLOT]
    others = [change for change in changes if change.kind is not ChangeKind.FREE_SLOT]
    free = free_sentence(freed)
    if not others:
        return f"once {free}"
    if len(others) == 1:
        return f"{change_words(others[0])}{f', once {free}' if freed else ''}"
    owners = _listed([change for change in others if change.kind in OWNERS])
    administrators = _listed([change for change in others if change.kind not in OWNERS])
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
    renamed = []
    for change in changes:
        original = change.of
        while original in added:
            original = added[original]
        if original == change.of or change.kind is ChangeKind.ADD_SLOT:
            renamed.append(replace(change, of=original))
        elif change.kind is ChangeKind.SLOT_CLAUSE:
            renamed.append(replace(change, of="the added slot"))
    return renamed


def _cause(  # noqa: PLR0911, PLR0912 - one per reason
    diagnosis: Diagnosis, requirements: Sequence[dict[str, Any]], refusals: Sequence[dict[str, Any]]
) -> str:
    submitter = diagnosis.submitter
    used = diagnosis.outcome.cycle.weighted_used(diagnosis.job.submitter)
    match diagnosis.reason:
        case Reason.EMPTY_POOL:
            return "the pool has no slots"
        case Reason.JOB_REQUIREMENTS:
            return _unmet(requirements, len(diagnosis.losses.codes))
        case Reason.SLOT_REQUIREMENTS:
            return _refused(diagnosis, refusals)
        case Reason.LIMIT if (limit := _preemption_limit(diagnosis)) is not None:
            return f"no slot that matches is free, and no more jobs may be preempted for it now ({limit})"
        case Reason.LIMIT:
            if submitter.share > 1 - 1e-9 and used >= submitter.limit - 1e-9:
                return f"the pool is full: {submitter.submitter} alone has {rounded(used)} in use"
            return (
                f"{submitter.submitter} has reached its submitter limit of {submitter.limit:.2f} "
                f"({100 * submitter.share:.1f}% of the pie): {_jobs_ahead(diagnosis)}{rounded(used)} in use"
            )
        case Reason.QUOTA:
            return _used_up(diagnosis)
        case Reason.CEILING:
            return f"{submitter.submitter} has reached its ceiling of {submitter.ceiling}: {rounded(used)} in use"
        case Reason.SCHEDD:
            most = diagnosis.outcome.input.policy.max_jobs_running.get(submitter.schedd, 0)
            whose = f"schedd {submitter.schedd}" if submitter.schedd else "the schedd"
            return f"{whose} runs as many jobs as it may (MaxJobsRunning = {most})"
        case Reason.NOT_OFFERED:
            return f"the turn of {submitter.submitter} ended before it was offered ({submitter.stopped})"
        case Reason.SKIPPED:
            return _skipped(diagnosis)
        case Reason.CONCURRENCY_LIMIT:
            return _limited(diagnosis)
        case Reason.TIME:
            return _out_of_time(diagnosis)
        case Reason.SUBMITTER_CONSTRAINT:
            return f"{submitter.submitter} is excluded by negotiator_submitter_constraint"
        case Reason.JOB_CONSTRAINT:
            return "it is excluded by negotiator_job_constraint"
        case Reason.SLOT_CONSTRAINT:
            return f"negotiator_slot_constraint excludes {_matching(diagnosis.lost[LostTo.KEPT_OUT])}"
        case Reason.PIECES:
            return "the partitionable slots have too few free resources: other jobs use the rest"
        case Reason.TAKEN:
            return _taken(diagnosis)
        case Reason.DRAINING:
            draining = diagnosis.lost[LostTo.DRAINING]
            which = "the only matching slot is" if draining == 1 else f"all {draining} matching slots are"
            return f"{which} draining"
        case Reason.UNUSABLE:
            unusable = diagnosis.lost[LostTo.UNUSABLE]
            which = "the only matching slot is" if unusable == 1 else f"all {unusable} matching slots are"
            return f"{which} drained, offline or absent"
        case _:
            return _in_use(diagnosis)


def _preemption_limit(diagnosis: Diagnosis) -> str | None:
    """Return the limit of preemptions that alone keeps the job from preempting slots; None if there is none."""
    rows = diagnosis.losses.rows(LostTo.LIMIT)
    if not len(rows) or (diagnosis.outcome.observer.holders.codes[rows] < 0).any():
        return None
    policy, preempted = diagnosis.outcome.input.policy, Counter[str]()
    for match in diagnosis.outcome.decision.matches:
        preempted[match.submitter] += max(1, len(match.victims)) if match.preempted is not None else 0
    counts = {
        "max_preemptions_per_cycle": preempted.total(),
        "max_preemptions_per_hour": preempted.total() + policy.preempted_lately,
        "max_preemptions_per_submitter": preempted[diagnosis.job.submitter],
    }
    for name, count in counts.items():
        if (most := getattr(policy, name)) is not None and count >= most:
            return f"negotiator.{name} = {most}"
    return None


def _matching(count: int) -> str:
    return "the only matching slot" if count == 1 else f"any of the {count} matching slots"


def _taken(diagnosis: Diagnosis) -> str:
    """Return who got the slots; preempted slots are counted separately from free ones."""
    taken, preempted = diagnosis.lost[LostTo.TAKEN], sum(match.preempted is not None for match in diagnosis.taken)
    free = taken - preempted
    if not preempted:
        which = "the only free slot" if taken == 1 else f"the {taken} free slots"
        return f"{which} that matched went to {_list_users(diagnosis.taken_by)} in this cycle"
    people = _list_users(diagnosis.taken_by)
    if free:
        return f"the {free} free and {preempted} preempted slots that matched went to {people} in this cycle"
    which = "the only slot" if preempted == 1 else f"all {preempted} slots"
    return f"no slot that matched was free, and {which} that could be preempted went to {people} in this cycle"


def _used_up(diagnosis: Diagnosis) -> str:
    group = diagnosis.submitter.quota_group or diagnosis.submitter.group
    figures = diagnosis.outcome.quota_of(group)
    if figures is None:
        return f"the quota of group {group} is used up"
    cycle = diagnosis.outcome.cycle
    least = diagnosis.outcome.decision.min_slot_weight if cycle.divides else weight(diagnosis)
    if not figures.accept_surplus and 0 < figures.subtree_quota < least - rounding(least):
        quota = f"the quota of group {group}, {rounded(figures.subtree_quota)}"
        return f"{quota}, is too small for a slot of weight {rounded(least)}"
    used = figures.used_after if figures.parent is None else max(figures.subtree_used, figures.used_after)
    surplus = "" if figures.accept_surplus else ", and it accepts no surplus"
    entitled = f"{rounded(figures.allocated)} (quota {rounded(figures.quota)})"
    return f"group {group} is allocated {entitled} and has {rounded(used)} in use{surplus}"


def _skipped(diagnosis: Diagnosis) -> str:
    cluster, proc = diagnosis.blocker or (diagnosis.job.cluster, diagnosis.job.first_proc)
    return (
        f"job {cluster}.{proc} of the same cluster could not be matched, and the rest of the cluster was skipped "
        "(NEGOTIATE_ALL_JOBS_IN_CLUSTER = True lifts this, SIGNIFICANT_ATTRIBUTES says what a cluster is)"
    )


def _out_of_time(diagnosis: Diagnosis) -> str:
    budget, budgets = diagnosis.submitter.time_budget, diagnosis.outcome.input.policy.budgets
    if budget is None or budgets is None:
        return "the time of the cycle was used up before it was offered"
    return f"{TIME_BUDGETS[budget]} ({getattr(budgets, budget):g} s) was used up before it was offered"


def _limited(diagnosis: Diagnosis) -> str:
    too_small = diagnosis.limit_too_small
    if too_small is not None:
        asks = (
            f"it asks for {rounded(diagnosis.limit_amounts[too_small.name])} of the concurrency limit {too_small.name}"
        )
        return f"{asks}, whose maximum is {rounded(too_small.maximum)}"
    name = diagnosis.concurrency_limit or ", ".join(diagnosis.rejection.limits if diagnosis.rejection else ())
    figures = diagnosis.concurrency_figures.get(name)
    if figures is None:
        return f"the concurrency limit {name} is reached"
    return f"the concurrency limit {name} is reached: {rounded(figures.in_use)} of {rounded(figures.maximum)} in use"


def _in_use(diagnosis: Diagnosis) -> str:
    ending = {
        Reason.PREEMPTION_POLICY: ", and the policy (PREEMPTION_REQUIREMENTS) lets no running job be preempted for it",
        Reason.PRIORITY: ", and the priorities of their users are not sufficiently worse to preempt them",
        Reason.OUTRANKED: ", and their machines prefer the jobs they run",
    }.get(diagnosis.reason, "")
    count = diagnosis.used_by.total()
    if not count:
        return f"no job can start now on {_matching(diagnosis.lost[LostTo.CLAIMED_OTHERS])}, although nobody uses it"
    if diagnosis.reason is Reason.OWN_JOBS and list(diagnosis.used_by) == [diagnosis.job.submitter]:
        ending = ": the pool is full with its own jobs"
    which = "the only matching slot is" if count == 1 else f"all {count} matching slots are"
    return f"{which} in use by {_list_users(diagnosis.used_by)}{ending}"


def _unmet(requirements: Sequence[dict[str, Any]], slots: int) -> str:
    if not requirements:
        return "it has no Requirements, and a job without them gets no slot"
    hopeless = [row for row in requirements if not row["slots"]]
    row = next(iter(hopeless), None) or next(row for row in requirements if not row["left"])
    nearest = _no_value(row, slots) if "nearest" not in row else f"; {_nearest(row)}"
    if hopeless:
        others = f" (nor {', '.join(other['clause'] for other in hopeless[1:])})" if hopeless[1:] else ""
        none = "the only slot does not meet" if slots == 1 else f"none of the {slots} slots meets"
        return f"{none} its requirement {row['clause']}{others}{nearest}"
    return f"no slot meets all its Requirements at once: {row['clause']} leaves none of those left{nearest}"


def _no_value(row: dict[str, Any], slots: int) -> str:
    """Return why a clause of the Requirements has no value to compare."""
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


def _refused(diagnosis: Diagnosis, refusals: Sequence[dict[str, Any]]) -> str:
    accepted = diagnosis.lost[LostTo.SLOT_REQUIREMENTS]
    text = "the only slot that it accepts rejects it"
    if accepted != 1:
        text = f"the {accepted} slots that it accepts reject it"
    if not refusals:
        return text
    first = refusals[0]
    nearest = f"; the nearest is {first['nearest']:g}" if "nearest" in first else ""
    how_many = f"{first['slots']} of them " if accepted != 1 else ""
    return f"{text}, {how_many}by {first['clause']}{nearest}"


def _jobs_ahead(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.submitter.matched} of its jobs were matched, " if diagnosis.submitter.matched else ""


def _list_users(users: Counter[str]) -> str:
    shown = [f"{name} ({count})" for name, count in users.most_common(3)]
    hidden = len(users) - len(shown)
    return ", ".join(shown) + (f" and {hidden} more" if hidden > 0 else "") if shown else "others"
