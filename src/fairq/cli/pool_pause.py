"""``fairq pool pause`` and ``resume``, and the note of other commands about a pause."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, Reason, parse_end
from fairq.cli.output import View, emit


def add_pause(app: App) -> None:
    """Add the commands to the group ``fairq pool``."""

    @app.report(
        "pause",
        examples="""
            fairq pool pause --reason 'new network switch'    # no job starts until fairq pool resume
            fairq pool pause --until 14:00 --reason backup    # until this time at most
        """,
    )
    def pause(
        context: Context,
        until: Annotated[str | None, Option("--until", metavar="TIME", help="End of the pause [14:00 or +2h].")] = None,
        reason: Reason = None,
        now: Now = None,
        dry_run: DryRun = False,
    ) -> None:
        """Pause the pool: no job starts until fairq pool resume, or until --until.

        Running jobs continue. Cycles still collect the jobs that have ended, charge usage, and apply time limits and
        the periodic expressions of jobs. Everybody may submit; queue, status, submit and why show the pause and its
        reason. In a paused pool, the command replaces end and reason.
        """
        from fairq.steps.pool.pause import pause as step
        from fairq.steps.pool.pause import pause_document, pause_of, pause_sentence

        invocation = context.obj
        actor = invocation.actor(invocation.now(now), reason)
        end = parse_end(until, actor.time)
        door = None if dry_run else invocation.by_program(actor, now)
        if door is None:
            document = pause_document(current := step(invocation.state_path, actor, end, dry_run=dry_run))
        else:
            document = door.ask("pool pause", {"until": end})
            current = pause_of(document)
        text = pause_sentence(current).replace("is paused", "would be paused" if dry_run else "is paused", 1)
        emit(View(document={"action": "paused", **document, "stored": not dry_run}, text=text), context.obj.output)

    @app.report("resume", examples="fairq pool resume    # jobs start again with the next cycle")
    def resume(context: Context, reason: Reason = None, now: Now = None, dry_run: DryRun = False) -> None:
        """End the pause of the pool: the next cycle matches jobs again."""
        from fairq.steps.pool.pause import pause_document
        from fairq.steps.pool.pause import resume as step

        invocation = context.obj
        actor = invocation.actor(invocation.now(now), reason)
        door = None if dry_run else invocation.by_program(actor, now)
        document: dict[str, Any] | None
        if door is None:
            former = step(invocation.state_path, actor, dry_run=dry_run)
            document = None if former is None else pause_document(former)
        else:
            document = door.ask("pool resume", {})["pause"]
        if document is None:
            invocation.note("no changes: the pool is not paused")
        done = document is not None and not dry_run
        text = "" if document is None else f"the pool {'would be' if dry_run else 'is'} resumed"
        emit(View(document={"action": "resumed", "pause": document, "stored": done}, text=text), context.obj.output)


def note_pause(invocation: Invocation, state: Path, now: int) -> None:
    """Print a note if the pool at *state* is paused at *now*."""
    from fairq.steps.pool.pause import pause_in_effect, pause_sentence

    pause = pause_in_effect(state, now)
    if pause is not None:
        invocation.note(f"{pause_sentence(pause)}; no job starts meanwhile")
