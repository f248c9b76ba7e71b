"""``fairq state``: the state file itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import asdict
from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes, asks, confirm
from fairq.cli.figures import second, yes_or_no
from fairq.cli.options import Now, Reason, time_of, valued
from fairq.cli.output import Column, Form, Record, Table, View, emit
from fairq.common.quantities import counted
from fairq.errors.base import FairqError

_FEW = 3

app = App(help="Manage the state file: path, check, backup, compact, restore, history, past cycles.")


@app.report(
    "path",
    examples="""
    fairq state path            # path of the state file
    fairq state path --json     # with its size
""",
)
def path(context: Context) -> None:
    """Print the path of the state file, with symbolic links resolved.

    The file is the one named by --state, otherwise by FAIRQ_STATE, otherwise fairq/state.db in your XDG state
    directory. It need not exist: the first command that changes something creates it.

    The record has the members path, exists and size (in bytes).
    """
    from fairq.steps.state import locate

    invocation, output = context.obj, context.obj.output
    file = locate(invocation.state_path)
    record = {"path": str(file.path), "exists": file.size is not None, "size": file.size}
    emit(View(text=[str(file.path)], document=record), output)


@app.listing(
    "check",
    examples="""
    fairq state check && fairq state backup /backups/fairq-$(date +%F).db
""",
)
def check(context: Context) -> None:
    """Look for damage in the state file, and for records that contradict each other.

    The command prints one line for each fault and exits with 1 if there is any. A file that does not exist is an error.
    The command looks for damage in the file, references to missing records, duplicate jobs, claims on slots for jobs
    that do not run, running jobs without a slot, and accounting records whose use differs from the claims. Large pools
    are read from copies of the slots and of the idle jobs; the command compares these with the records.

    Damage is any change of a record or of the schema that no command made. The file holds a copy or a checksum (CRC-32)
    of every value. Each command updates them together with the value, and the check compares them. The check finds
    every single flipped bit in a value. It misses about one in four billion larger random changes.

    The check does not find damage in unused space of the file, and cannot tell whether an older copy has replaced the
    file. The sqlite3 shell can read the file, but cannot change records that have a checksum.
    """
    from fairq.steps.state import check_state, locate

    invocation, output = context.obj, context.obj.output
    file = locate(invocation.state_path)
    findings = check_state(file.path)
    table = Table(
        columns=[Column("Finding", "finding")],
        records=[{"finding": finding} for finding in findings],
        plain=_as_lines,
    )
    emit(View(tables=[table]), output)
    if findings:
        faults = counted(len(findings), "fault")
        raise FairqError(message=f"{faults} found in {file.path}; read the list above, then restore a backup")
    invocation.note(f"{file.path} has no faults")


@app.command(
    "backup",
    examples="""
    fairq state backup /backups/fairq-$(date +%F).db   # safe while other commands run
""",
)
def backup(
    context: Context,
    file: Annotated[Path, Argument(metavar="FILE", help="Path of the copy; must not exist.")],
) -> None:
    """Copy the state to a new file, even while other commands run.

    The copy is a consistent state file with the mode and owner of the state. It appears under its name only once it is
    complete. To go back to it, use fairq state restore. To look at it, name it with --state.
    """
    from fairq.steps.state import back_up

    invocation = context.obj
    target = back_up(invocation.state_path, file)
    invocation.note(f"copied to {target}")


@app.command(
    "compact",
    examples="""
    fairq state compact         # after many jobs were removed
""",
)
def compact(context: Context) -> None:
    """Give the space that deleted records have left back to the file system.

    The state file grows with the queue and does not shrink by itself. The command rewrites it, whole or not at all;
    that needs as much free space as the file has. Other commands wait meanwhile. 'fairq pool check' tells when more
    than half of a large file is unused.
    """
    from fairq.steps.state import shrink

    invocation = context.obj
    before, after = shrink(invocation.state_path)
    invocation.note(f"{invocation.state_path} now has {after:,} bytes, formerly {before:,}")


@app.command(
    "restore",
    examples="""
    fairq state restore /backups/fairq-2026-11-20.db   # back to this copy
""",
)
def restore(
    context: Context,
    copy: Annotated[Path, Argument(metavar="COPY", help="Copy made by 'fairq state backup'.")],
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
) -> None:
    """Put a copy in the place of the state.

    The command checks the copy first. It keeps the former state beside the state file, under a name that it prints. The
    restored state does not know jobs that a launcher has started since the copy was made: end them first. On a
    terminal, the command asks for confirmation.
    """
    from fairq.steps.restore import restore as step

    invocation = context.obj
    if asks(yes):
        confirm(invocation, f"Replace {invocation.state_path} by {copy}?")
    former = step(invocation.state_path, copy, invocation.actor(invocation.now(now), reason))
    former_text = f"; what was there is now {former}" if former is not None else ""
    invocation.note(f"restored {copy}{former_text}")


@app.listing(
    "history",
    examples="""
    fairq state history --limit 10                 # the last ten changes
    fairq state history --subject alice@cs.wisc.edu  # changes to one submitter
    fairq state history --since yesterday --user ann # what one administrator changed
    fairq state history --json --limit 0           # all changes
""",
)
def history(
    context: Context,
    limit: Annotated[int, valued("--limit", "Number of changes [0: all].", "N", min=0)] = 100,
    subject: Annotated[str | None, valued("--subject", "Show only changes to NAME.", "NAME")] = None,
    user: Annotated[str | None, valued("--user", "Show only changes by this user.", "USER")] = None,
    since: Annotated[
        int | None,
        valued("--since", "Show only changes since then.", "TIME", parser=time_of("--since")),
    ] = None,
) -> None:
    """Show each change with its time, user, command and reason, newest last.

    Entries of the history cannot be changed or deleted. --subject takes what the list shows, or a user without domain
    and groups.

    A record has the members number, time (seconds since 1970), user (of the operating system), command, reason
    (--reason, or null), subject, before and after.
    """
    from fairq.steps.settings_history import complete_if_possible
    from fairq.steps.state import changes

    invocation, output = context.obj, context.obj.output
    complete_if_possible(invocation.existing_state)
    fields = ("number", "time", "user", "command", "reason", "subject", "before", "after")
    entries = changes(invocation.existing_state, limit or None, subject=subject, user=user, since=since)
    records = [{name: getattr(entry, name) for name in fields} for entry in entries]
    columns = [
        Column("Number", "number"),
        Column("Time", "time", second, align="left", level=1),
        Column("User", "user", level=1),
        Column("Command", "command", level=3),
        Column("Subject", "subject", narrow="cut"),
        Column("Before", "before", _values, align="left", level=4),
        Column("After", "after", _values, align="left"),
    ]
    if any(record["reason"] for record in records):
        columns.insert(4, Column("Reason", "reason", lambda reason: reason or "-", align="left", level=2))
    emit(View(tables=[Table(columns, records, empty="no changes")], fields=fields), output)


@app.listing(
    "cycles",
    examples="""
    fairq state cycles --limit 10   # the last ten negotiation cycles
    fairq state cycles --csv        # number of matches over time
""",
)
def cycles(
    context: Context,
    limit: Annotated[int, valued("--limit", "Number of cycles [0: all].", "N", min=0)] = 20,
) -> None:
    """List the negotiation cycles with their time and number of matches, newest last.

    'fairq state cycle N' shows one again. The decisions of the last decisions_kept cycles are kept; matches are kept
    forever.

    A record has the members cycle, time (seconds since 1970), rules, matches, preempted (number of matches
    that preempted a job) and kept.
    """
    from fairq.steps.state import recent_cycles

    invocation, output = context.obj, context.obj.output
    summaries = map(asdict, recent_cycles(invocation.existing_state, limit or None))
    records = [{"cycle": summary.pop("number"), **summary} for summary in summaries]
    columns = [
        Column("Cycle", "cycle"),
        Column("Time", "time", second, align="left", level=1),
        Column("Rules", "rules", level=4),
        Column("Matches", "matches"),
        Column("Preempted", "preempted", level=2),
        Column("Kept", "kept", yes_or_no, level=3),
    ]
    emit(View(tables=[Table(columns, records, empty="no cycles yet")]), output)


@app.listing(
    "cycle",
    examples="""
    fairq state cycle                    # decisions of the last cycle, as negotiate showed them
    fairq state cycle 17 --json | jq .rejections
""",
)
def cycle(
    context: Context,
    number: Annotated[
        int | None, Argument(metavar="[CYCLE]", min=1, help="Number of the cycle [default: the last].")
    ] = None,
) -> None:
    """Show a past negotiation cycle: requests, shares, matches and rejections.

    The tables and the JSON document are those of 'fairq negotiate'. A cycle run with --explain also shows how many
    slots each rejected request lost to each test. If the decisions have been pruned, only the matches remain.
    """
    from fairq.cli.cycle_view import cycle_view
    from fairq.steps.state import stored_cycle

    invocation, output = context.obj, context.obj.output
    document, matches = stored_cycle(invocation.existing_state, number)
    if "submitters" not in document:
        invocation.note(f"the decision of cycle {document['cycle']} has been pruned; only its matches remain")
    elif not matches and not any(submitter["idle"] for submitter in document["submitters"]):
        invocation.note(f"cycle {document['cycle']} of {second(document['time'])} had nothing to match")
    emit(cycle_view(document, matches), output)


def _as_lines(records: Sequence[Record]) -> str:
    return "".join(f"{record['finding']}\n" for record in records)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(item)}" for name, item in value.items())
    return "-" if value is None else json.dumps(value, ensure_ascii=False)


def _few_values(value: Any) -> str:
    """Return the first members of a record, for a narrow terminal."""
    if not isinstance(value, dict) or len(value) <= _FEW:
        return _value(value)
    return f"{_value(dict(list(value.items())[:_FEW]))} and {len(value) - _FEW} more"


_values = Form(_value, _few_values)
