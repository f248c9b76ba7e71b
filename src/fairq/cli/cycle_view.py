"""The display of a negotiation cycle, while it runs and when it is shown again, and of the runs of its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.cli.figures import SLOT, counted, percent, share_colour, short, stopped_by, two_places
from fairq.cli.output import Column, Record, Table, View

if TYPE_CHECKING:
    from fairq.common.records import Launch
    from fairq.steps.launch.outcome import Outcome
    from fairq.steps.launch.turn import Turn


def cycle_view(document: Record, matches: Sequence[Record], *, dry_run: bool = False) -> View:
    """Show the *document* of a cycle and its *matches*, as `steps.cycle_document` makes them.

    If the decision of the cycle has been pruned, only the matches remain. With *dry_run*, the title says "would".
    """
    submitters = document.get("submitters", ())
    has_idle = any(submitter["idle"] for submitter in submitters)
    explained = "explanation" in document
    pie = 0.0 if document.get("quotas") else document.get("pie", 0.0)

    def use_colour(submitter: Record) -> str:
        return _use_colour(submitter, pie)

    submitter_table = Table(
        columns=[
            Column("Submitter", "submitter"),
            Column("Priority", "effective_priority", two_places, level=5),
            Column("Idle", "idle", level=1),
            Column("In Use", "used_before", short, colour=use_colour, level=3),
            Column("Share", "share", percent, colour=use_colour, level=2),
            Column("Limit", "limit", two_places, level=4),
            Column("Matched", "matched"),
            Column("Weight", "matched_weight", short, level=6),
            *([Column("Dominant", "dominant", level=1)] if "dominant" in document else []),
            *([Column("Refused", "rejected", level=3)] if explained else []),
            Column("Stopped by", "stopped"),
        ],
        records=list(map(stopped_by, submitters)) if has_idle else [],
        title=_title(document, len(matches), dry_run),
    )
    # A stored match does not name the slot that was carved for it.
    carved = bool(matches) and "dynamic_slot" in matches[0] and any(match["dynamic_slot"] for match in matches)
    has_dominant = bool(matches) and "dominant" in matches[0]
    match_table = Table(
        columns=[
            Column("Job", "assigned"),
            Column("Submitter", "submitter"),
            Column("Slot", "slot"),
            *([Column("Dynamic", "dynamic_slot", level=2)] if carved else []),
            *(
                [Column("Dominant", "dominant", level=1), Column("Weight", "weight", short, level=4)]
                if has_dominant
                else []
            ),
            Column("Reason", "reason", level=3),
            Column("Preempted", "preempted", _victim, level=1),
        ],
        records=matches,
        title="Matches",
        key="matches",
    )
    tables = [submitter_table, match_table]
    if has_idle and document["quotas"]:
        tables.insert(0, _groups(document, explained))
    if has_idle and document["limits"]:
        tables.insert(-1, _limits(document))
    main = len(tables) - 1
    if document.get("overruns"):
        tables.append(overruns(document["overruns"]))
    if explained:
        tables.append(_lost(document, matches))
        document = {name: value for name, value in document.items() if name != "explanation"}
    return View(tables=tables, document=document, main=main)


def _title(document: Record, matches: int, dry_run: bool) -> str:
    name = f"Dry run: cycle {document['cycle']} would make" if dry_run else f"Cycle {document['cycle']}:"
    sentence = f"{name} {counted(matches, 'match', 'matches')}"
    if "spins" not in document:
        return sentence
    spins, slots = counted(document["spins"], "spin"), counted(document["slots"], "slot")
    return f"{sentence} in {spins} over {slots}, rules {document['rules']}"


_LOST = {
    "Job Req": "job_requirements",
    "Slot Req": "slot_requirements",
    "Draining": "draining",
    "Unusable": "unusable",
    "Excluded": "kept_out",
    "Taken": "taken_in_cycle",
    "Own": "claimed_own",
    "In Use": "claimed_others",
    "Outranked": "outranked",
    "Policy": "preemption_requirements",
    "Priority": "priority_delta",
    "Conc": "concurrency_limit",
    "Limits": "limit",
}


def _lost(document: Record, matches: Sequence[Record]) -> Table:
    def shown(test: str) -> Callable[[dict[str, int]], str]:
        return lambda lost: str(lost[test] or "")

    return Table(
        columns=[
            Column("Rejected", "job"),
            Column("Submitter", "submitter"),
            *(
                Column(heading, "lost", shown(test), align="right", level=level)
                for level, (heading, test) in enumerate(_LOST.items(), 1)
            ),
            Column("Reason", "reason"),
        ],
        records=_last_of_each(document["explanation"], matches),
        title="Slots lost to each test",
        key="explanation",
    )


def _last_of_each(explanation: Sequence[Record], matches: Sequence[Record]) -> list[Record]:
    """Return the last rejection of each job that the cycle did not match later."""
    by_job = {(rejection["submitter"], rejection["job"]): rejection for rejection in explanation}
    matched = {match["assigned"] for match in matches} if by_job else set()
    return [rejection for rejection in by_job.values() if rejection["job"] not in matched]


def overruns(records: Sequence[Record]) -> Table:
    """Return the expressions that exceeded their time budget."""
    return Table(
        columns=[
            Column("Job", "job"),
            Column("Submitter", "submitter", level=3),
            Column("Attribute", "name"),
            Column("CPU s", "seconds", two_places, level=2),
            Column("Errors", "errors", level=4),
            Column("Used up", "limit", level=1),
            Column("Expression", "expression"),
        ],
        records=records,
        title="Expressions that exceeded their time limit (count as errors)",
        key="overruns",
    )


def _limits(document: Record) -> Table:
    """Return the current use of every concurrency limit."""
    return Table(
        columns=[
            Column("Limit", "name"),
            Column("In Use Before", "in_use_before", short),
            Column("In Use", "in_use", short),
            Column("Maximum", "maximum", short),
        ],
        records=document["limits"],
        title="Concurrency limits",
    )


def _groups(document: Record, explained: bool) -> Table:
    """Return the groups in the order of their first turn, with the limit of their last turn."""
    limits: dict[str, float | None] = {}
    for turn in document["groups"]:
        limits.setdefault(turn["group"], None)
        if turn["skipped"] is None:
            limits[turn["group"]] = max(0.0, turn["handed_out"])
    refused = Counter(rejection["group"] for rejection in document["rejections"])
    figures = {group["group"]: group for group in document["quotas"]}
    return Table(
        columns=[
            Column("Group", "group"),
            Column("Requested", "requested", short, level=3),
            Column("Quota", "quota", two_places, level=1),
            Column("Allocated", "allocated", two_places, level=2),
            Column("Surplus", "surplus", two_places, level=5),
            Column("Limit", "limit", two_places, level=4),
            Column("In Use", "used_before", short),
            Column("After", "used_after", short, colour=_group_colour),
            *([Column("Refused", "refused", level=2)] if explained else []),
        ],
        records=[{**figures[name], "limit": limit, "refused": refused[name]} for name, limit in limits.items()],
        title=f"Groups ({counted(document['rounds'], 'allocation round')})",
    )


def _use_colour(submitter: Record, pie: float) -> str:
    """Return the colour of a submitter's use after the cycle compared with its share, if it took part.

    *pie* is the pie, in slot weight, that the share is a fraction of; 0: only the limit counts.
    """
    if not submitter["share"]:
        return ""
    in_use = submitter["used_before"] + submitter["matched_weight"]
    entitled = max(submitter["limit"], submitter["share"] * pie)
    return share_colour(in_use, entitled, wants_more=submitter["idle"] > submitter["matched"], slack=SLOT)


def _group_colour(group: Record) -> str:
    """Return the colour of a group's use after the cycle compared with its quota."""
    return share_colour(group["used_after"], group["quota"], wants_more=group["requested"] > group["used_after"])


def _victim(value: dict[str, Any]) -> str:
    first = f"{value['job']} of {value['submitter']}" if value["job"] else str(value["submitter"])
    return f"{first} ({', '.join(value['slots'])})" if value.get("slots") else first


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


def overrun_sentence(exceeded: Mapping[str, Any], record_kind: str = "slot") -> str:
    """Return which expression took too long, and the cure; it was evaluated for records of *record_kind*."""
    return (
        f"{exceeded['name'] or 'An expression'} took too long to evaluate"
        f" ({exceeded['limit']}, {exceeded['seconds']:.2f} s of CPU) and"
        f" counts as an error for {counted(exceeded['errors'], record_kind)}; simplify it, or raise"
        f" negotiator.evaluation_budget: {exceeded['expression']}"
    )
