"""``fairq state``: the state file itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fairq.cli.command import App
from fairq.cli.figures import local
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Record, Report, Table, View, emit
from fairq.errors.base import FairqError

app = App(help="The state file: where it is, whether it is sound, copies, and what was changed.")


@app.command(
    "path",
    examples="""
    fairq state path            # which file is used
    fairq state path --json     # with its size
""",
)
def path(invocation: Invocation, output: Report) -> None:
    """Print the path of the state file, symbolic links followed.

    The file is chosen by --state, else FAIRQ_STATE, else it is your own (XDG) state directory's
    fairq/state.db. It need not exist: the first command that changes something creates it.

    The record has the members path, exists and size (in bytes).
    """
    from fairq.steps.state import locate

    place = locate(invocation.state_path)
    record = {"path": str(place.path), "exists": place.size is not None, "size": place.size}
    emit(View(text=str(place.path), document=record), output)


@app.command(
    "check",
    examples="""
    fairq state check && fairq state backup /backups/fairq-$(date +%F).db
""",
)
def check(invocation: Invocation, output: Output) -> None:
    """Look for damage in the state file, and for records that contradict each other.

    Prints one line for every fault and ends with 1 if there is any. A file that does not exist is an error. It
    looks for damage of the file, references to missing records, duplicate jobs, claims on slots for jobs that do
    not run, running jobs without a slot, and use in the accounting that differs from the claims.

    Damage means any change of a record or of the schema that was not made by a command. The file holds a copy
    or a checksum (CRC-32) of every value; each command updates them together with the value, and the check
    compares them. It finds every change of a value by a single flipped bit; of larger random changes it misses
    about one in four billion.

    Not found is what changes no record: damage in unused space of the file. A file of an older fairq has no
    checksums until the first command writes to it; damage from before that is found only where SQLite sees it.
    A whole file replaced by an older copy of itself is sound. The sqlite3 shell can read the file, but cannot
    change records that have a checksum.
    """
    from fairq.steps.state import check_state, locate

    place = locate(invocation.state_path)
    found = check_state(place.path)
    table = Table(
        columns=[Column("Finding", "finding")],
        records=[{"finding": finding} for finding in found],
        plain=_as_lines,
    )
    emit(View(tables=[table]), output)
    if found:
        faults = "1 fault" if len(found) == 1 else f"{len(found)} faults"
        raise FairqError(message=f"{faults} found in {place.path}; see them above, or put a backup in its place")
    invocation.note(f"{place.path} is sound")


@app.command(
    "backup",
    examples="""
    fairq state backup /backups/fairq-$(date +%F).db   # others may go on working meanwhile
""",
)
def backup(
    invocation: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; it must not exist yet.")],
) -> None:
    """Copy the state to a new file while others go on working with it.

    The copy is the state at one instant, is complete as soon as it is there under its name, and is itself a
    state file: put it in the place of the state, or look at it with --state. It has the state's mode and owner.
    """
    from fairq.steps.state import back_up

    target = back_up(invocation.state_path, file)
    invocation.note(f"copied to {target}")


@app.command(
    "history",
    examples="""
    fairq state history --limit 10                 # the last ten changes
    fairq state history --subject alice@cs.wisc.edu  # what happened to one submitter
    fairq state history --json --limit 0           # everything
""",
)
def history(
    invocation: Invocation,
    output: Output,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Show the last N changes; 0 shows all.")
    ] = 100,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="NAME", help="Only what was changed of NAME.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Only what this user of the system changed.")
    ] = None,
) -> None:
    """Show what was changed, when, by whom and by which command; the newest change comes last.

    The history only grows: nothing in it can be changed or deleted.

    A record has the members number, time (seconds since 1970), user (of the operating system), command,
    subject, before and after.
    """
    from fairq.steps.state import changes

    records = [
        {
            "number": entry.number,
            "time": entry.time,
            "user": entry.user,
            "command": entry.command,
            "subject": entry.subject,
            "before": entry.before,
            "after": entry.after,
        }
        for entry in changes(invocation.state_path, limit or None, subject=subject, user=user)
    ]
    columns = [
        Column("Time", "time", _time, align="left"),
        Column("User", "user"),
        Column("Command", "command"),
        Column("Subject", "subject"),
        Column("Before", "before", _value, align="left"),
        Column("After", "after", _value, align="left"),
    ]
    fields = ("number", "time", "user", "command", "subject", "before", "after")
    emit(View(tables=[Table(columns, records, empty="no changes")], fields=fields), output)


@app.command(
    "cycles",
    examples="""
    fairq state cycles --limit 10   # the last ten negotiation cycles
    fairq state cycles --csv        # when there were how many matches
""",
)
def cycles(
    invocation: Invocation,
    output: Output,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Show the last N cycles; 0 shows all.")
    ] = 20,
) -> None:
    """List the negotiation cycles, the newest last: when each was, and how many matches it made.

    'fairq state cycle N' shows one of them again, if what it decided is still kept: that of the last
    decisions_kept cycles is, the matches are kept for ever.

    A record has the members cycle, time (seconds since 1970), rules, matches, preempted (how many of them took
    a slot from somebody) and kept.
    """
    from fairq.steps.state import recent_cycles

    records = [
        {
            "cycle": one.number,
            "time": one.time,
            "rules": one.rules,
            "matches": one.matches,
            "preempted": one.preempted,
            "kept": one.kept,
        }
        for one in recent_cycles(invocation.state_path, limit or None)
    ]
    columns = [
        Column("Cycle", "cycle"),
        Column("Time", "time", _time, align="left"),
        Column("Rules", "rules"),
        Column("Matches", "matches"),
        Column("Preempted", "preempted"),
        Column("Kept", "kept", lambda kept: "yes" if kept else "no"),
    ]
    emit(View(tables=[Table(columns, records, empty="no cycles yet")]), output)


@app.command(
    "cycle",
    examples="""
    fairq state cycle                    # what the last cycle decided, as negotiate showed it
    fairq state cycle 17 --json | jq .rejections
""",
)
def cycle(
    invocation: Invocation,
    output: Output,
    number: Annotated[
        int | None, typer.Argument(metavar="[CYCLE]", min=1, help="Its number; the last one if not given.")
    ] = None,
) -> None:
    """Show a past negotiation cycle again: what was demanded, entitled, given and refused, and the matches.

    The tables and the JSON document are those of 'fairq negotiate', of a cycle held with --explain with the slots
    that every rejected request lost to each test. Of a cycle whose decision is kept no more there are the matches
    alone.
    """
    from fairq.cli.cycle_view import cycle_view
    from fairq.steps.state import stored_cycle

    document, matches = stored_cycle(invocation.state_path, number)
    if "submitters" not in document:
        invocation.note(f"what cycle {document['cycle']} decided is kept no more, only its matches")
    elif not matches and not any(of["idle"] for of in document["submitters"]):
        invocation.note(f"cycle {document['cycle']} of {_time(document['time'])} had nothing to match")
    emit(cycle_view(document, matches), output)


def _as_lines(records: Sequence[Record]) -> str:
    return "".join(f"{record['finding']}\n" for record in records)


def _time(seconds: int) -> str:
    return local(seconds).isoformat(" ")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(item)}" for name, item in value.items())
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
