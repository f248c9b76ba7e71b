"""``fairq negotiate``: one negotiation cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Output, Table, View, emit

if TYPE_CHECKING:
    from fairq.steps.negotiate import Cycle

app = App()


@app.command(
    examples="""
    fairq negotiate                       # one cycle, as cron runs it
    fairq negotiate --dry-run             # only show what it would decide
    fairq negotiate --json | jq .matches  # for scripts
"""
)
def negotiate(invocation: Invocation, output: Output, now: Now = None, dry_run: DryRun = False) -> None:
    """Run one negotiation cycle: match idle jobs with slots.

    Usage up to now is charged and priorities decay; then the pool's slots are dealt out among the submitters
    in inverse ratio of their effective priorities, spin after spin, until nothing moves. Each submitter's
    jobs are matched in their order with the best slots that suit. The cycle is stored in one transaction.

    The first table shows what each submitter was entitled to (its limit, in slot weight), what it got, and
    why it got no more; the second one the matches in the order made. A cycle without anything to match prints
    nothing. When another cycle works on the same state, this one does nothing and exits with 75.

    The JSON document has the members cycle, time, rules, pie (weight of all slots), slots, candidates,
    min_slot_weight, spins, submitters, groups, rejections and matches. A match's job is the job that runs;
    under the rules htcondor it is the first job of its request, as the negotiator logs it, and assigned is
    the job that runs.
    """
    from fairq.steps.negotiate import negotiate as step

    time = invocation.now(now)
    cycle = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run)
    for lease in cycle.expired:
        invocation.detail(f"the {lease.what.value} lease of {lease.record.name} has ended")
    emit(_view(cycle), output)


def _view(cycle: Cycle) -> View:
    from fairq.steps.store_cycle import match_document

    matches: list[dict[str, Any]] = [match_document(cycle, match) for match in cycle.decision.matches]
    entitled = Table(
        columns=[
            Column("Submitter", "submitter"),
            Column("Priority", "effective_priority", _two_places),
            Column("Idle", "idle"),
            Column("In Use", "used_before", _short),
            Column("Share", "share", _percent),
            Column("Limit", "limit", _two_places),
            Column("Matched", "matched"),
            Column("Weight", "matched_weight", _short),
            Column("Stopped by", "stopped"),
        ],
        records=cycle.document["submitters"] if _worth_telling(cycle) else [],
        title=f"Cycle {cycle.number}: {len(matches)} matches in {cycle.decision.spins} spins "
        f"over {cycle.decision.slots} slots, rules {cycle.decision.rules}",
    )
    made = Table(
        columns=[
            Column("Job", "assigned"),
            Column("Submitter", "submitter"),
            Column("Slot", "slot"),
            Column("Reason", "reason"),
            Column("Preempted", "preempted", _victim),
        ],
        records=matches,
        title="Matches",
        key="matches",
    )
    return View(tables=[entitled, made], document=cycle.document, main=1)


def _worth_telling(cycle: Cycle) -> bool:
    return any(of.idle for of in cycle.decision.submitters)


def _two_places(value: float) -> str:
    return f"{value:.2f}" if value < 1e12 else "unlimited"


def _short(value: float) -> str:
    return f"{value:g}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def _victim(value: dict[str, Any]) -> str:
    return f"{value['job']} of {value['submitter']}" if value["job"] else str(value["submitter"])
