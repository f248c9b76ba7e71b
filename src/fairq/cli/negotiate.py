"""``fairq negotiate``: one negotiation cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli.command import App
from fairq.cli.figures import percent, two_places
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Output, Table, View, emit

if TYPE_CHECKING:
    from fairq.steps.cycle_document import Cycle

app = App()

Explain = Annotated[
    bool, typer.Option("--explain", help="Count for every rejected request the slots lost to each test.")
]


@app.command(
    examples="""
    fairq negotiate                       # one cycle, as cron runs it
    fairq negotiate --dry-run             # only show what it would decide
    fairq negotiate --explain --dry-run   # and which tests the rejected requests fail
    fairq negotiate --json | jq .matches  # for scripts
"""
)
def negotiate(
    invocation: Invocation, output: Output, now: Now = None, dry_run: DryRun = False, explain: Explain = False
) -> None:
    """Run one negotiation cycle: match idle jobs with slots.

    Usage up to now is charged and priorities decay; then the pool's slots are dealt out among the submitters
    in inverse ratio of their effective priorities, spin after spin, until nothing moves. Each submitter's
    jobs are matched in their order with the best slots that suit. The cycle is stored in one transaction.

    Where accounting groups are configured, each negotiates in its turn with its own submitters, over no more
    than the quota and surplus allocated to it, in up to group_quota_max_allocation_rounds rounds. A first table
    shows the groups in the order negotiated: what they ask for, their quota, what was allocated and how much of
    that is surplus, how far they might go in their last turn, and their use before and after.

    The next table shows what each submitter was entitled to (its limit, in slot weight), what it got, and
    why it got no more; the last one the matches in the order made. Concurrency limits that are in use or were
    asked for have a table between them. A cycle without anything to match prints nothing. When another cycle
    works on the same state, this one does nothing and exits with 75.

    The JSON document has the members cycle, time, rules, pie (weight of all slots), slots, candidates,
    min_slot_weight, spins, rounds, submitters, groups, quotas, limits, time_budgets_used_up, rejections and
    matches. A match's job is the job that runs; under the rules htcondor it is the first job of its request, as
    the negotiator logs it, and assigned is the job that runs. The dynamic_slot of a match is what was carved for
    it out of a partitionable slot. The list groups has every turn of every group in
    order, with its limit or why it was skipped; quotas has every group once. The quota_group of a rejection is the
    group whose quota stood in the way. The list limits has every concurrency limit in use or asked for.

    With --explain one more table shows every rejected request and how many slots it lost to each test; a slot
    counts at the first test that it fails: the job's Requirements, the slot's Requirements, draining, kept out of
    the cycle, taken earlier in this cycle, claimed by the submitter itself, claimed by others and not to be had,
    ranking the job it runs higher, PREEMPTION_REQUIREMENTS, a holder whose priority is not worse enough, a
    concurrency limit, and at last the limits of the submitter. In JSON this is the member explanation, a list of
    rejections each with its lost slots. 'fairq why' explains one job whole.
    """
    from fairq.steps.negotiate import negotiate as step

    time = invocation.now(now)
    cycle = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run, explain=explain)
    for lease in cycle.expired:
        invocation.detail(f"the {lease.what.value} lease of {lease.record.name} has ended")
    for problem in cycle.decision.problems:
        invocation.detail(str(problem))
    emit(_view(cycle), output)


def _view(cycle: Cycle) -> View:
    from fairq.steps.cycle_document import match_document

    told = _worth_telling(cycle)
    matches: list[dict[str, Any]] = [match_document(cycle, match) for match in cycle.decision.matches]
    entitled = Table(
        columns=[
            Column("Submitter", "submitter"),
            Column("Priority", "effective_priority", two_places),
            Column("Idle", "idle"),
            Column("In Use", "used_before", _short),
            Column("Share", "share", percent),
            Column("Limit", "limit", two_places),
            Column("Matched", "matched"),
            Column("Weight", "matched_weight", _short),
            Column("Stopped by", "stopped"),
        ],
        records=[_with_quota_group(of) for of in cycle.document["submitters"]] if told else [],
        title=f"Cycle {cycle.number}: {_counted(len(matches), 'match', 'matches')} in "
        f"{_counted(cycle.decision.spins, 'spin')} over {_counted(cycle.decision.slots, 'slot')}, "
        f"rules {cycle.decision.rules}",
    )
    made = Table(
        columns=[
            Column("Job", "assigned"),
            Column("Submitter", "submitter"),
            Column("Slot", "slot"),
            *([Column("Dynamic", "dynamic_slot")] if cycle.carved else []),
            Column("Reason", "reason"),
            Column("Preempted", "preempted", _victim),
        ],
        records=matches,
        title="Matches",
        key="matches",
    )
    tables = [entitled, made]
    if told and cycle.document["quotas"]:
        tables.insert(0, _groups(cycle))
    if told and cycle.document["limits"]:
        tables.insert(-1, _limits(cycle))
    main = len(tables) - 1
    if cycle.explanation is not None:
        tables.append(_lost(cycle))
    return View(tables=tables, document=cycle.document, main=main)


_LOST = {
    "Job Req": "job_requirements",
    "Slot Req": "slot_requirements",
    "Draining": "draining",
    "Kept Out": "kept_out",
    "Taken": "taken_in_cycle",
    "Own": "claimed_own",
    "In Use": "claimed_others",
    "Outranked": "outranked",
    "Policy": "preemption_requirements",
    "Priority": "priority_delta",
    "Conc": "concurrency_limit",
    "Limits": "limit",
}


def _lost(cycle: Cycle) -> Table:
    from fairq.steps.cycle_document import explanation_document

    def shown(test: str) -> Callable[[dict[str, int]], str]:
        return lambda lost: str(lost[test] or "")

    return Table(
        columns=[
            Column("Rejected", "job"),
            Column("Submitter", "submitter"),
            *(Column(heading, "lost", shown(test), align="right") for heading, test in _LOST.items()),
            Column("Reason", "reason"),
        ],
        records=explanation_document(cycle.explanation or ()),
        title="Slots lost to each test",
        key="explanation",
    )


def _limits(cycle: Cycle) -> Table:
    """How much of every concurrency limit is in use."""
    return Table(
        columns=[
            Column("Limit", "name"),
            Column("In Use Before", "in_use_before", _short),
            Column("In Use", "in_use", _short),
            Column("Maximum", "maximum", _short),
        ],
        records=cycle.document["limits"],
        title="Concurrency limits",
    )


def _groups(cycle: Cycle) -> Table:
    """The groups in the order of their first turn, with the limit of their last."""
    limits: dict[str, float | None] = {}
    for turn in cycle.document["groups"]:
        limits.setdefault(turn["group"], None)
        if turn["skipped"] is None:
            limits[turn["group"]] = max(0.0, turn["handed_out"])
    figures = {group["group"]: group for group in cycle.document["quotas"]}
    return Table(
        columns=[
            Column("Group", "group"),
            Column("Requested", "requested", _short),
            Column("Quota", "quota", two_places),
            Column("Allocated", "allocated", two_places),
            Column("Surplus", "surplus", two_places),
            Column("Limit", "limit", two_places),
            Column("In Use", "used_before", _short),
            Column("After", "used_after", _short),
        ],
        records=[{**figures[name], "limit": limit} for name, limit in limits.items()],
        title=f"Groups, rounds of allocation: {cycle.decision.rounds}",
    )


def _with_quota_group(submitter: dict[str, Any]) -> dict[str, Any]:
    group = submitter["quota_group"]
    return submitter if group is None else {**submitter, "stopped": f"{submitter['stopped']} ({group})"}


def _worth_telling(cycle: Cycle) -> bool:
    return any(of.idle for of in cycle.decision.submitters)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _short(value: float) -> str:
    return f"{value:g}"


def _victim(value: dict[str, Any]) -> str:
    return f"{value['job']} of {value['submitter']}" if value["job"] else str(value["submitter"])
