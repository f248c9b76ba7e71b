"""``fairq slots reserve`` and ``reservations``: slots for some users and groups for a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment
from fairq.cli.options import Constraint, DryRun, Now, Reason, parse_end, parse_time, valued
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.slots_drain import All, Names, chosen_slots
from fairq.errors.base import UsageError


def add_reserve(app: App) -> None:
    """Add ``reserve`` to the group ``fairq slots``."""

    @app.report(
        "reserve",
        examples="""
            fairq slots reserve node1 node2 --from 10:00 --until 12:00 --for teach   # a class
            fairq slots reserve --count 4 --until +7d --for ann,bob --reason paper   # four slots, from now on
            fairq slots reserve --all --from 2026-12-01T08:00 --until +10d           # a maintenance: for nobody
            fairq slots reserve --cancel 3
        """,
    )
    def reserve(
        context: Context,
        names: Names = None,
        everything: All = False,
        constraint: Constraint = None,
        count: Annotated[int | None, valued("--count", "Reserve N of these slots.", "N", min=1)] = None,
        from_: Annotated[str | None, valued("--from", "Begin [default: now].", "TIME")] = None,
        until: Annotated[
            str | None,
            valued("--until", "End, counted from the begin: 12:00, +2h [default: cancelled].", "TIME"),
        ] = None,
        people: Annotated[
            list[str] | None,
            valued("--for", "Users and groups who may use them, with commas [default: nobody].", "NAMES"),
        ] = None,
        cancel: Annotated[list[int] | None, valued("--cancel", "End reservation N; repeatable.", "N", min=1)] = None,
        reason: Reason = None,
        now: Now = None,
        dry_run: DryRun = False,
    ) -> None:
        """Reserve slots for users or groups, from a time on, until a time or until it is cancelled.

        While the reservation lasts, only jobs of these users and groups start there. Before it begins, a job of others
        starts there only if its declared limit (submit --time) ends it by then; without a limit, it does not. Jobs of
        others that run when it begins run on, and slots reservations names them.

        Reserved slots still count in quotas. They are in the pie of those who may use them, and of nobody else. Of a
        partitionable slot, the whole machine is reserved. With --count, unused slots are taken first.
        """
        from fairq.steps.pool import reserve as step

        invocation, output = context.obj, context.obj.output
        actor = invocation.actor(invocation.now(now), reason)
        door = None if dry_run else invocation.by_program(actor, now)
        if cancel:
            if names or everything or constraint or count or from_ is not None or until is not None or people:
                raise UsageError(message="--cancel takes no other options of a reservation; leave them out")
            if door is None:
                done = step.cancel(invocation.state_path, actor, cancel, dry_run=dry_run)
            else:
                done = door.ask("slots unreserve", {"numbers": cancel})["numbers"]
            text = "\n".join(f"reservation {number} {'would be' if dry_run else 'is'} cancelled" for number in done)
            emit(View(document={"action": "cancelled", "numbers": done, "stored": not dry_run}, text=text), output)
            return
        begin = actor.time if from_ is None else parse_time(from_, "--from", actor.time)
        end = parse_end(until, begin, now=actor.time)
        if end is not None and end <= actor.time:
            raise UsageError(message="the reservation is over already; give a later --until")
        every = everything or (not (names or constraint) and count is not None)
        chosen = chosen_slots(invocation, names, constraint, every, actor.time)
        if count is not None:
            if names:
                chosen = [name for slot in names for name in _slot_names(invocation.state_path, slot)]
            chosen = step.free_names(invocation.state_path, count, begin, end, chosen, actor.time)
        if not chosen:
            raise UsageError(message="no slot is selected; name slots, or give --count, --constraint or --all")
        listed = [name for text in people or () for name in text.split(",") if name]
        users, groups = step.people_of(invocation.settings, listed)
        if door is None:
            path = invocation.state_path
            document = step.reserve(path, actor, chosen, begin, end, users, groups, dry_run=dry_run)
        else:
            document = door.ask(
                "slots reserve", {"names": chosen, "begin": begin, "end": end, "users": users, "groups": groups}
            )
        verb = "would be" if dry_run else "is"
        number = "the reservation" if dry_run else f"reservation {document['number']}"
        text = f"{number} {verb} made: {counted(len(document['slots']), 'slot')} {_when(document)}, {_whom(document)}"
        emit(View(document={"action": "reserved", **document, "stored": not dry_run}, text=text), output)
        if document["jobs_of_others"]:
            invocation.note(f"jobs of others run there, and run on: {', '.join(document['jobs_of_others'])}")


def add_reservations(app: App) -> None:
    """Add ``reservations`` to the group ``fairq slots``."""

    @app.listing("reservations", examples="fairq slots reservations    # those that last or are planned")
    def reservations(context: Context, now: Now = None) -> None:
        """List the reservations that are not over: their slots, for whom and when, and the jobs of others there."""
        from fairq.steps.pool.reserve import listed

        invocation, output = context.obj, context.obj.output
        records = listed(invocation.existing_state, invocation.now(now))
        columns = [
            Column("Number", "number"),
            Column("From", "begin_time", moment, "right"),
            Column("Until", "end_time", lambda time: "cancelled" if time is None else moment.brief(time), "right"),
            Column("For", "for"),
            Column("Slots", "slots", ", ".join, narrow="cut"),
            Column("Status", "status", level=2),
            Column("Others' jobs", "jobs_of_others", ", ".join, level=1),
            Column("By", "by", level=3),
            Column("Reason", "reason", lambda reason: reason or "", level=2),
        ]
        records = [{**record, "for": _names(record)} for record in records]
        fields = ("number", "begin_time", "end_time", "users", "groups", "slots", "status", "leaves", "job",
                  "jobs_of_others", "by", "reason")  # fmt: skip
        emit(View(tables=[Table(columns, records, empty="no reservations")], fields=fields), output)


def _slot_names(path: Any, name: str) -> list[str]:
    """Return the names of the slots of a slot or machine *name*."""
    from fairq.steps.pool.current_ads import look

    return [str(ad["Name"]) for ad in look(path, [name], 0)]


def _when(document: Mapping[str, Any]) -> str:
    end = document["end_time"]
    return f"from {moment(document['begin_time'])} " + ("on" if end is None else f"until {moment(end)}")


def _whom(document: Mapping[str, Any]) -> str:
    return f"for {_names(document)}"


def _names(document: Mapping[str, Any]) -> str:
    if document["job"] is not None:
        return f"job {document['job']}"
    names = ", ".join([*document["users"], *document["groups"]])
    return names or ("nobody; they leave" if document["leaves"] else "nobody")
