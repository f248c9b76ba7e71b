"""``fairq slots drain`` and ``remove``, and how they select slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.confirm import MOST_UNASKED, Yes, asks, confirm
from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.job_options import note_ending
from fairq.cli.options import Constraint, DryRun, Now, Reason, joined
from fairq.cli.output import Output, View, emit
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.common.records import Actor

Names = Annotated[list[str] | None, Argument(metavar="SLOT...", help="Slot, or machine to select all its slots.")]
All = Annotated[bool, Option("--all", help="Select all slots.")]


def add_removal(app: App) -> None:
    """Add ``remove`` to the group ``fairq slots``."""

    @app.report(
        "remove",
        examples="""
            fairq slots remove slot1@node2           # one slot
            fairq slots remove node2 --force         # a machine, returning its jobs to the queue
            fairq slots remove --constraint 'Site == "cloud" && State == "Unclaimed"'
        """,
    )
    def remove(
        context: Context,
        names: Names = None,
        everything: All = False,
        constraint: Constraint = None,
        force: Annotated[bool, Option("--force", help="Remove even slots in use; requeue their jobs.")] = False,
        yes: Yes = False,
        reason: Reason = None,
        now: Now = None,
        dry_run: DryRun = False,
    ) -> None:
        """Remove slots from the pool.

        If a slot is in use, none is removed. With --force, its usage is charged up to now and its job returns to the
        queue.
        """
        from fairq.steps.pool.slots import remove as step

        invocation, output = context.obj, context.obj.output
        actor = invocation.actor(invocation.now(now), reason)
        chosen = chosen_slots(invocation, names, constraint, everything, actor.time)
        _confirm(invocation, "remove", chosen, names, yes or dry_run)
        door = None if dry_run else invocation.by_program(actor, now)
        if not chosen:
            removed = []
        elif door is None:
            removed = step(invocation.state_path, invocation.settings, chosen, actor, force=force, dry_run=dry_run)
        else:
            removed = door.ask("slots remove", {"names": chosen, "force": force})["slots"]
        sentence = "\n".join(f"slot {name} {'would be ' if dry_run else ''}removed" for name in removed)
        emit(slots_report("removed", removed, sentence, dry_run), output)
        if not removed:
            invocation.note("no changes: no slot is selected")


def add_drain(app: App) -> None:
    """Add ``drain`` to the group ``fairq slots``."""

    @app.report(
        "drain",
        examples="""
            fairq slots drain node2 --reason 'new disk'   # no new jobs on this machine
            fairq slots drain node2 --quick               # requeue its jobs: TERM, and KILL after their grace
            fairq slots drain node2 --cancel              # accept jobs again
            fairq slots drain --all --reason maintenance
            fairq slots drain --constraint 'TotalCpus > 64 && GPUs is undefined'
        """,
    )
    def drain(
        context: Context,
        names: Names = None,
        everything: All = False,
        constraint: Constraint = None,
        graceful: Annotated[bool, Option("--graceful", help="Let running jobs finish [default].")] = False,
        quick: Annotated[bool, Option("--quick", help="End running jobs after their grace; requeue them.")] = False,
        fast: Annotated[bool, Option("--fast", help="Kill running jobs at once; requeue them.")] = False,
        cancel: Annotated[bool, Option("--cancel", help="Stop draining.")] = False,
        yes: Yes = False,
        reason: Reason = None,
        now: Now = None,
        dry_run: DryRun = False,
    ) -> None:
        """Drain slots: no new jobs start there.

        Running jobs continue. With --quick, fairq sends them kill_sig (by default SIGTERM) and kills all their
        processes after job_max_vacate_time (by default launch.grace). With --fast, it kills them at once. These jobs
        return to the queue when none of their processes is left.

        fairq slots shows since when and why a slot is drained: DrainReason, DrainedBy and LastDrainStartTime. A
        constraint is evaluated once, with the slots as they are now; dynamic slots are left out.
        """
        invocation, output = context.obj, context.obj.output
        if graceful + quick + fast + cancel > 1:
            raise UsageError(message="--graceful, --quick, --fast and --cancel exclude each other; give only one")
        actor = invocation.actor(invocation.now(now), reason)
        chosen = chosen_slots(invocation, names, constraint, everything, actor.time)
        if cancel:
            _cancel(invocation, output, chosen, actor, now, dry_run=dry_run)
            return
        from fairq.steps.pool.drain import Drained, Schedule
        from fairq.steps.pool.drain import drain as step

        _confirm(invocation, "drain", chosen, names, yes or dry_run)
        schedule = Schedule.FAST if fast else Schedule.QUICK if quick else Schedule.GRACEFUL
        door = None if dry_run else invocation.by_program(actor, now)
        if not chosen:
            done = Drained()
        elif door is None:
            done = step(invocation.state_path, invocation.settings, chosen, schedule, actor, dry_run=dry_run)
        else:
            done = Drained(**door.ask("slots drain", {"names": chosen, "schedule": schedule.value}))
        verb = "would be drained" if dry_run else "is being drained"
        sentences = [f"slot {name} {verb}" for name in done.slots]
        if done.evicted:
            sentences.append(f"{counted(done.evicted, 'job')} {'would be requeued' if dry_run else 'requeued'}")
        emit(slots_report("drained", done.slots, "\n".join(sentences), dry_run), output)
        note_ending(invocation, done.ending)
        if not sentences:
            invocation.note("no changes: all are draining already" if chosen else "no changes: no slot is selected")


def _cancel(
    invocation: Invocation, output: Output, names: list[str], actor: Actor, now: int | None, *, dry_run: bool
) -> None:
    from fairq.steps.pool.drain import cancel as step

    door = None if dry_run else invocation.by_program(actor, now)
    if not names:
        changed = []
    elif door is None:
        changed = step(invocation.state_path, names, actor, dry_run=dry_run)
    else:
        changed = door.ask("slots release", {"names": names})["slots"]
    verb = "would take jobs again" if dry_run else "takes jobs again"
    emit(slots_report("released", changed, "\n".join(f"slot {name} {verb}" for name in changed), dry_run), output)
    if not changed:
        invocation.note("no changes: none of them is draining")


def slots_report(action: str, names: Sequence[str], text: str, dry_run: bool) -> View:
    """Return the view of an *action* on the slots of these *names*."""
    return View(document={"action": action, "slots": list(names), "stored": not dry_run}, text=text)


def chosen_slots(
    invocation: Invocation, names: list[str] | None, constraints: list[str] | None, everything: bool, now: int
) -> list[str]:
    """Return the names that a command line selects: slots and machines as given, or the slots that match.

    Raises UsageError if nothing is selected or the selection is contradictory, UnknownSlotError with a constraint.
    """
    constraint = joined(constraints)
    if names and everything:
        raise UsageError(message="--all and single slots exclude each other; give only one")
    if not names and constraint is None and not everything:
        raise UsageError(message="no slots are selected; name slots or machines, or give --constraint or --all")
    if constraint is None and not everything:
        return names or []
    from fairq.cli.output.constraint import matching
    from fairq.steps.pool.current_ads import look

    matching_ads = matching(look(invocation.state_path, names or [], now), constraint)
    return list(dict.fromkeys(str(ad["Name"]) for ad in matching_ads if ad.get("DynamicSlot") is not True))


def _confirm(invocation: Invocation, verb: str, chosen: list[str], names: list[str] | None, yes: bool) -> None:
    """On a terminal, ask before a command changes many slots that are not named."""
    if names is None and len(chosen) > MOST_UNASKED and asks(yes):
        confirm(invocation, f"{verb} {counted(len(chosen), 'slot')}?")
