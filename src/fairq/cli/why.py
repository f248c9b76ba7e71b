"""``fairq why``: why a job waits, or why a submitter or a group gets no more."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.comparison import Compare, comparison_sentence, comparison_table
from fairq.cli.cycle_view import overrun_sentence
from fairq.cli.figures import counted, percent, stopped_by, two_places, yes_or_no
from fairq.cli.options import Now, valued
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.tools import WHY
from fairq.errors.base import UsageError
from fairq.steps.pool.pause import pause_document, pause_in_effect, pause_sentence
from fairq.steps.why.starts import start_sentence

app = App()

_MOST_LINES = 20
"""Number of lines of a table that is not the answer itself."""


@app.report(
    dialect=WHY,
    examples="""
    fairq why                             # why jobs wait: all idle jobs together
    fairq why 7.0                         # why this job is idle, and what would let it run
    fairq why 7                           # the same for the first job of a cluster that stays idle
    fairq why 7.0 --slot slot1@node12     # one job and one slot, both sides clause by clause
    fairq why alice                       # what a submitter is entitled to and gets
    fairq why physics.simulation          # the quota, use and surplus of a group
    fairq why 7.0 --compare               # compare with the other set of rules
    fairq why 7.0 --json | jq .changes
""",
)
def why(
    context: Context,
    subject: Annotated[
        str | None,
        Argument(metavar="[SUBJECT]", help="Job (7.0, 7.0@SCHEDD), cluster (7), batch, submitter, or group."),
    ] = None,
    slot: Annotated[
        str | None,
        valued("--slot", "Compare the job with this slot [NAME or 'NAME<ADDRESS>'].", "NAME"),
    ] = None,
    compare: Compare = False,
    now: Now = None,
) -> None:
    """Explain why a job waits, or what a submitter or a group is entitled to and gets.

    Without SUBJECT, the command shows the reasons of all idle jobs, with the number of jobs. It then lists the changes
    that would start most of them, each tried in a cycle: Starts is the number of jobs that the next cycle starts more.
    A change of the job is made to all jobs like the example.

    The command runs a negotiation cycle on the current state and stores nothing. It also works on an imported pool.

    The first line names the deciding reason and the smallest change that would let the job run. The change is verified
    by rerunning the cycle. The larger the pool, the fewer changes are verified, in the largest one at most. If none of
    them is enough, the line names only the first obstacle.

    For a job that waits, also for other jobs, a time or a limit of its own, the command shows its place in line and
    estimates its start. To do so, it runs future cycles on a copy of the state, for about half a second, or for some
    seconds where jobs are of many kinds; queue --start runs more. It takes run times from the last ended jobs of the
    cluster, otherwise of the submitter, the group, or the pool; a declared limit bounds them. The estimate assumes that
    no more jobs are submitted. The earliest start assumes short run times. The latest start assumes long run times, and
    that the jobs of the last 24 hours are submitted again each day.

    The first table has a line for each clause of the job's Requirements: the number of slots that meet the clause, the
    number left after it, and the nearest available value if none is left. Further tables show the clauses by which
    slots reject the job, how many slots fail each test (as in negotiate --explain), and who uses the matching slots.
    The last tables show the submitter's share, limit, floor and ceiling, and the quotas of its group and the groups
    above. Of users, submitters and rejecting clauses, the first 20 are shown; --json has all of them.

    With --compare, the command also decides under the other set of rules (documented or htcondor). It shows the steps
    of both decisions, the first step at which they differ, and the rule points that change the decision on their own.
    In very large pools, single rule points are not tried.

    In the JSON document, changes are the changes that would let the job run, and verified says whether the cycle was
    rerun with them. docs/json.md describes all members.
    """
    from fairq.steps.why.answer import why as step

    invocation, output = context.obj, context.obj.output
    if slot is not None and not (subject or "")[:1].isdigit():
        raise UsageError(message="--slot needs a job; name a job (7.0), or leave out --slot")
    if compare and subject is None:
        raise UsageError(message="--compare needs a subject; name a job, a submitter or a group")
    time = invocation.now(now)
    path = invocation.existing_state
    document = step(path, invocation.settings, subject, time, slot, compare=compare, ahead=slot is None)
    pause = pause_in_effect(path, time)
    if pause is not None:
        document["paused"] = pause_document(pause)
    tables = _TABLES[document["kind"]](document)
    if compare:
        tables.append(comparison_table(document["compare"]))
    text = document["summary"]
    if document.get("too_large"):
        text = f"job {document['subject']} cannot run. {document['advice'][0]}\n{text[:1].upper()}{text[1:]}"
    if document["kind"] != "submitter":
        text = text[:1].upper() + text[1:]
    paused = [] if pause is None else [f"First of all, {pause_sentence(pause)}. Once it is resumed:"]
    emit(View(text="\n".join([*paused, text, *_details(document)]), tables=tables, document=document, main=0), output)


def _details(document: dict[str, Any]) -> list[str]:
    """Return the parts of the answer that need no table."""
    lines = []
    if "cluster" in document:
        counts = ", ".join(f"{count} {status}" for status, count in document["cluster"].items())
        lines.append(f"The cluster has {counts} in the next cycle.")
    if document.get("skipped_for") and document["reason"] != "skipped with its cluster":
        lines.append(f"It was skipped: the identical job {document['skipped_for']} was rejected before it.")
    if "queue" in document:
        queue = document["queue"]
        few = queue["ahead"] <= 1
        ahead = counted(queue["ahead"], "other job") if queue["ahead"] else "No other job"
        ahead += f" of its submitter {'is' if few else 'are'} ahead"
        next_cycle = f"the next cycle starts {queue['matched'] or 'none'} of the {counted(queue['idle'], 'idle job')}"
        if queue["idle"] == 1:
            next_cycle = "the next cycle does not start it"
        lines.append(
            f"{ahead} of it; {next_cycle}."
            if queue["offered"]
            else f"No cycle considers it in the current state; {ahead[:1].lower()}{ahead[1:]} of it."
        )
    if document.get("unknown_group"):
        lines.append(f"Its {document['unknown_group']}.")
    if document.get("advice") and not document["too_large"]:
        lines += document["advice"]
    if document.get("start") is not None:
        lines.append(start_sentence(document["start"]))
        if document["start"]["start_time"] is None:
            lines.append(f"'fairq queue --start {document['subject']}' looks up to 14 days ahead.")
    elif "alternatives" in document and "start" not in document:
        lines.append(f"The pool is large: 'fairq queue --start {document['subject']}' estimates its place and start.")
    if document["kind"] == "job" and document.get("dominant"):
        weight = _short(document["weight"])
        lines.append(
            f"Its dominant resource is {document['dominant']}: it weighs as much as {weight} cores of the pool."
        )
    lines += map(overrun_sentence, document.get("overruns", ()))
    lines += [
        f"Job {reason['example']}: {reason['would_help']}"
        for reason in document.get("reasons", ())
        if reason["too_large"]
    ]
    if "compare" in document:
        lines.append(comparison_sentence(document["compare"]))
    if document["kind"] == "pair" and document["place"] is not None:
        lines.append(f"Among the slots that match the job, this one ranks at place {document['place']}.")
    return lines


def _job(document: dict[str, Any]) -> list[Table]:
    if "requirements" not in document:
        return []
    return [
        _table(document, "requirements", "Requirements of the job", _REQUIREMENTS),
        _limited_table(document, "slot_requirements", "Slot clauses that reject the job", _REFUSALS),
        _table(document, "slots", "Slots by first failed test", _LOST),
        _limited_table(document, "users", "Users of the matching slots", _USERS),
        _limited_table({"submitters": [document["submitter_state"]]}, "submitters", "Submitter", _ENTITLED),
        _table(document, "groups", "Quotas of its group and the groups above", _QUOTAS),
    ]


def _pool(document: dict[str, Any]) -> list[Table]:
    return [
        _table(document, "reasons", "Reasons, most jobs first", _REASONS),
        _table(document, "help", "What would help most, each change alone", _HELP),
    ]


def _pair(document: dict[str, Any]) -> list[Table]:
    return [
        _table(document, "clauses", "Requirements of job and slot", _CLAUSES),
        _table(document, "ranks", "Ranks, most important first", _RANKS),
    ]


def _submitter(document: dict[str, Any]) -> list[Table]:
    return [
        _limited_table(document, "submitters", "Share", _ENTITLED),
        _limited_table(document, "others", "Other submitters", _ENTITLED),
        _table(document, "groups", "Quotas of its group and the groups above", _QUOTAS),
    ]


def _group(document: dict[str, Any]) -> list[Table]:
    return [
        _table(document, "groups", "Quotas of the group and the groups above", _QUOTAS),
        _limited_table(document, "submitters", "Submitters of the group", _ENTITLED),
    ]


def _table(document: dict[str, Any], key: str, title: str, columns: list[Column]) -> Table:
    return Table(columns, document[key], title=title)


def _limited_table(document: dict[str, Any], key: str, title: str, columns: list[Column]) -> Table:
    """Return a table of the first records, of which there may be thousands; the title tells how many there are."""
    records = document[key]
    if len(records) > _MOST_LINES:
        title = f"{title}: the first {_MOST_LINES} of {len(records)}"
    shown = records[:_MOST_LINES]
    if columns is not _ENTITLED:
        return Table(columns, shown, title=title)
    if any("dominant" in record for record in shown):
        columns = [*columns, Column("Dominant", "dominant", level=2)]
    return Table(columns, list(map(stopped_by, shown)), title=title)


def _short(value: Any) -> str:
    if value is None or isinstance(value, str | bool):
        return "" if value is None else str(value)
    return f"{value:.6g}" if value < 1e12 else "unlimited"


def _bound(value: int) -> str:
    return "" if value < 0 else str(value)


_REQUIREMENTS = [
    Column("Clause", "clause"),
    Column("Slots", "slots"),
    Column("Left", "left"),
    Column("Nearest", "nearest", _short, "left"),
]
_REFUSALS = [Column("Clause", "clause"), Column("In", "attribute"), Column("Slots", "slots")]
_LOST = [Column("Test", "test"), Column("Slots", "slots")]
_USERS = [
    Column("User", "user"),
    Column("Slots", "slots"),
    Column("Priority", "effective_priority", two_places),
    Column("Since", "since"),
]
_ENTITLED = [
    Column("Submitter", "submitter"),
    Column("Group", "group", level=5),
    Column("Priority", "effective_priority", two_places, level=3),
    Column("Idle", "idle", level=1),
    Column("In Use", "used", _short, level=2),
    Column("Share", "share", percent, level=1),
    Column("Limit", "limit", two_places, level=4),
    Column("Floor", "floor", lambda value: str(value or ""), level=6),
    Column("Ceiling", "ceiling", _bound, "right", level=6),
    Column("Matched", "matched"),
    Column("Stopped by", "stopped"),
]
_QUOTAS = [
    Column("Group", "group"),
    Column("Quota", "quota", two_places, level=1),
    Column("Subtree", "subtree_quota", two_places, level=6),
    Column("Requested", "requested", _short, level=4),
    Column("Allocated", "allocated", two_places, level=3),
    Column("Surplus", "surplus", two_places, level=5),
    Column("In Use", "used", _short),
    Column("After", "used_after", _short, level=2),
    Column("Subtree Use", "subtree_used", _short, level=7),
]
_TABLES = {"job": _job, "pair": _pair, "submitter": _submitter, "group": _group, "pool": _pool}
"""The tables of every kind of answer."""

_REASONS = [
    Column("Jobs", "jobs"),
    Column("Reason", "reason"),
    Column(
        "Submitters",
        "submitters",
        lambda counts: ", ".join(f"{name} ({count})" for name, count in [*counts.items()][:3]),
        level=2,
    ),
    Column("Example", "example", None, "left", level=1),
]
_HELP = [
    Column("Starts", "starts"),
    Column("Who", "who", level=2),
    Column("Change", "change"),
    Column("Reason", "reason", level=3),
    Column("Example", "example", None, "left", level=1),
]
_CLAUSES = [
    Column("Side", "side"),
    Column("Clause", "clause"),
    Column("Value", "value", _short, "left", level=1),
    Column("Passes", "passes", yes_or_no),
]
_RANKS = [Column("Rank", "rank"), Column("Value", "value", _short, "right")]
