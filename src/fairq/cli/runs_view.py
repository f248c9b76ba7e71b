"""The display of the runs that ended and began in one turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.cli.output import Column, Record, Table, View

if TYPE_CHECKING:
    from fairq.common.records import Launch
    from fairq.steps.launch.outcome import Outcome
    from fairq.steps.launch.turn import Turn


def runs_view(turn: Turn) -> View:
    """Show the runs that were recorded in a turn without a cycle."""
    document = _document(turn)
    return View(tables=[_ended(document["ended"])], document=document)


def with_runs(view: View, turn: Turn) -> View:
    """Add the recorded runs of a turn to the *view* of its cycle: non-empty tables, and always the members."""
    document = _document(turn)
    main = view.main + (1 if turn.ended else 0)
    tables = [_ended(document["ended"])] if turn.ended else []
    tables += [*view.tables]
    matched = {match["job"] for match in (tables[main].records if tables else ())}
    others = [record for record in document["started"] if record["job"] not in matched]
    if others:
        tables.append(_started(others))
    return replace(view, tables=tables, main=main, document={**(view.document or {}), **document})


def _document(turn: Turn) -> Record:
    return {
        "ended": [ended_record(launch, outcome) for launch, outcome in turn.ended],
        "started": [{"job": launch.job, "slot": launch.slot, "run": launch.name} for launch in turn.started],
    }


def ended_record(launch: Launch, outcome: Outcome | None) -> dict[str, Any]:
    """Return an ended run as plain data, with its exit code or signal, and the outcome for its job."""
    facts = launch.ended or {}
    return {
        "job": launch.job,
        "slot": launch.slot,
        "run": launch.name,
        "end_time": launch.end_time,
        "seconds": (launch.end_time or launch.claimed) - launch.claimed,
        "exit_code": facts.get("exit_code"),
        "signal": facts.get("signal"),
        "outcome": "ended" if outcome is None else outcome.how,
        "reason": None if outcome is None else outcome.reason,
    }


def _ended(records: list[dict[str, Any]]) -> Table:
    return Table(
        columns=[
            Column("Job", "job"),
            Column("Slot", "slot"),
            Column("Seconds", "seconds", level=2),
            Column("Exit", "exit_code", level=1),
            Column("Signal", "signal", level=3),
            Column("Outcome", "outcome"),
            Column("Reason", "reason"),
        ],
        records=records,
        title="Ended",
        key="ended",
    )


def _started(records: list[dict[str, Any]]) -> Table:
    columns = [Column("Job", "job"), Column("Slot", "slot")]
    return Table(columns=columns, records=records, title="Started", key="started")
