"""``fairq status``: an overview of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment, percent, stopped_by, two_places
from fairq.cli.options import Now, valued
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.tools import STATUS
from fairq.common.quantities import shown_duration
from fairq.steps.pool.pause import pause_document, pause_words

if TYPE_CHECKING:
    from fairq.steps.reports.status import PoolStatus

app = App()

_LINES = 12
"""Number of submitters shown."""

_REASONS = 3


@app.report(
    watch=True,
    dialect=STATUS,
    examples="""
        fairq status               # slots, jobs, the last cycle, and who waits
        fairq status --watch       # the same, drawn anew every 5 seconds; q ends
        fairq status --watch 60
        fairq status --json        # all submitters
    """,
)
def status(
    context: Context,
    limit: Annotated[int, valued("--limit", "Show at most N submitters in the table.", "N", min=1)] = _LINES,
    now: Now = None,
) -> None:
    """Show the pool at a glance.

    The table has the submitters with jobs or slots, those with idle jobs first. ENTITLED is the slot weight that the
    last cycle allowed to the submitter, SHARE the same as a share of the pool, and IN_USE the slot weight in use.
    BECAUSE is the reason why the last cycle gave it no more; fairq why explains one job. The other formats have all
    submitters.
    """
    from fairq.steps.reports.status import pool_status

    invocation, output = context.obj, context.obj.output
    pool = pool_status(invocation.existing_state, invocation.settings, invocation.now(now))
    emit(_view(pool, limit if output.format == "table" else None), output)


def _view(pool: PoolStatus, limit: int | None) -> View:
    records = [submitter.document() for submitter in pool.submitters[:limit]]
    if limit is not None:
        records = [
            stopped_by({**record, "quota_group": submitter.quota_group})
            for record, submitter in zip(records, pool.submitters, strict=False)
        ]
    lines = [
        ("Pool", pool.state),
        ("Slots", _slots(pool)),
        ("Jobs", ", ".join(f"{pool.count(name)} {name}" for name in ("idle", "running", "held"))),
        ("Last cycle", _cycle(pool)),
    ]
    if pool.pause is not None:
        lines.append(("Paused", pause_words(pool.pause)))
    if pool.launching or pool.running_here:
        lines.append(("Launcher", f"{counted(pool.running_here, 'process', 'processes')} of jobs"))
    if pool.rejected:
        reasons = pool.rejected.most_common(_REASONS)
        lines.append(("Rejected", ", ".join(f"{counted(count, 'request')}: {reason}" for reason, count in reasons)))
    hidden = len(pool.submitters) - len(records)
    if hidden:
        lines.append(("Not shown", counted(hidden, "submitter")))
    text = "\n".join(f"{name:<10}  {value}" for name, value in lines)
    table = Table(columns=_COLUMNS, records=records, key="submitters")
    return View(text=text, tables=[table], document=_document(pool))


def _slots(pool: PoolStatus) -> str:
    words = counted(pool.slots, "slot")
    if pool.drained:
        words += f", {pool.drained} draining"
    words += f"; weight {two_places(pool.weight_in_use)}"
    if pool.weight is None:
        return f"{words} in use"
    share = f" ({percent(pool.weight_in_use / pool.weight)})" if pool.weight else ""
    return f"{words} of {two_places(pool.weight)} in use{share}"


def _cycle(pool: PoolStatus) -> str:
    if pool.cycle is None:
        return "none; 'fairq negotiate' holds one"
    cycle = pool.cycle
    age = pool.now - cycle.time
    when = f"{shown_duration(age)} ago" if age >= 0 else "in the future"
    words = f"{cycle.number}, {when} ({moment(cycle.time)}): {counted(cycle.matches, 'match', 'matches')}"
    return words + (f", {cycle.preempted} by preemption" if cycle.preempted else "")


def _document(pool: PoolStatus) -> dict[str, Any]:
    cycle = pool.cycle
    return {
        "state": pool.state,
        "time": pool.now,
        "slots": pool.slots,
        "draining": pool.drained,
        "claims": pool.claims,
        "weight": pool.weight,
        "weight_in_use": pool.weight_in_use,
        "idle": pool.count("idle"),
        "running": pool.count("running"),
        "held": pool.count("held"),
        "processes": pool.running_here,
        "paused": None if pool.pause is None else pause_document(pool.pause),
        "cycle": cycle and cycle.number,
        "cycle_time": cycle and cycle.time,
        "cycle_matches": cycle and cycle.matches,
        "cycle_preempted": cycle and cycle.preempted,
        "rejected": dict(pool.rejected),
    }


_COLUMNS = [
    Column("SUBMITTER", "submitter"),
    Column("IDLE", "idle"),
    Column("RUNNING", "running"),
    Column("HELD", "held", level=2),
    Column("IN_USE", "in_use", two_places, level=1),
    Column("ENTITLED", "entitled", two_places, "right", level=1),
    Column("SHARE", "share", percent, "right"),
    Column("PRIORITY", "effective_priority", two_places, level=3),
    Column("BECAUSE", "stopped"),
]
