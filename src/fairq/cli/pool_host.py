"""``fairq pool create`` and ``fairq pool remove``: the pool of this host for all of its users."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import fairq.cli.output
from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes, asks, confirm
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, valued
from fairq.cli.output import Output, View, emit
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.host.setup.plan import Step

Administrators = Annotated[
    list[str] | None,
    valued("--admin", "User or Unix group that may change everything; repeatable.", "USER|%GROUP"),
]


def add_host(app: App) -> None:
    """Add the commands to the group ``fairq pool``."""

    @app.report(
        "create",
        examples="""
            fairq pool create --dry-run                      # only show the plan; anybody may
            sudo fairq pool create --admin ann --admin %phys # ann and the group phys may change everything
            sudo fairq pool create --every 5 --yes           # a cycle every five minutes, without a question
        """,
    )
    def create(
        context: Context,
        admin: Administrators = None,
        launch: Annotated[
            str | None,
            valued("--launch", "Set launch.kind, such as local [default: unchanged].", "LAUNCHER"),
        ] = None,
        every: Annotated[
            int | None,
            valued("--every", "Minutes between two cycles [default: unchanged, first 1].", "MINUTES", min=1, max=60),
        ] = None,
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Create one pool for everybody on this host.

        It makes the system account fairq, its state, the site file, a program that makes changes for whoever asks, a
        rule of sudo that lets everybody run that program only, and a timer of systemd or a line for cron. It shows
        its plan and asks first.

        The program must belong to root. If the running fairq belongs to somebody else, root gets a copy of it in
        /usr/lib/fairq.

        Run it again to bring everything into order, or after an upgrade. If a step fails, the steps before it are
        taken back. docs/lab-server.md shows the whole way.
        """
        from fairq.host.setup.create import change, planned, require_root
        from fairq.host.setup.site import PoolOptions

        invocation, output = context.obj, context.obj.output
        if not dry_run:
            require_root("created")
        steps = planned(PoolOptions(admin, launch, every))
        _run_plan(invocation, output, steps, "create", yes=yes, dry_run=dry_run, carry_out=change)

    @app.report(
        "remove",
        examples="""
            fairq pool remove --dry-run       # only show the plan
            sudo fairq pool remove            # keep the state, for root alone
            sudo fairq pool remove --purge    # delete the state and its history as well
        """,
    )
    def remove(
        context: Context,
        purge: Annotated[bool, Option("--purge", help="Delete the state and its history, too.")] = False,
        force: Annotated[bool, Option("--force", help="End running jobs; they return to the queue.")] = False,
        yes: Yes = False,
        dry_run: DryRun = False,
    ) -> None:
        """Remove the pool of this host: everything that 'fairq pool create' has made.

        The state with its history stays in /var/lib/fairq, readable for root; a later 'fairq pool create' uses it
        again. Rules in the site file stay.

        While jobs have slots, nothing is removed without --force.
        """
        from fairq.host.setup.create import change, removal, require_root

        invocation, output = context.obj, context.obj.output
        if not dry_run:
            require_root("removed")
        steps = removal(purge=purge, force=force)
        _run_plan(invocation, output, steps, "remove", yes=yes, dry_run=dry_run, carry_out=change)


def _run_plan(
    invocation: Invocation, output: Output, steps: list[Step], verb: str, *, yes: bool, dry_run: bool, carry_out: Any
) -> None:
    """Show the plan, ask, and carry it out."""
    needed = [step for step in steps if not step.is_done]
    if needed and not dry_run:
        for line in _plan(steps, verb, "will").splitlines():
            invocation.note(line)
        if asks(yes):
            confirm(invocation, f"{verb.capitalize()} the pool of this host?")
        elif not yes and not sys.stdin.isatty():
            raise UsageError(message=f"nobody can be asked; add --yes to {verb} the pool, or --dry-run to see the plan")
        _load_output()
        carry_out(steps)
    document: dict[str, Any] = {
        "steps": [{"step": step.what, "needed": not step.is_done} for step in steps],
        "stored": bool(needed) and not dry_run,
    }
    emit(View(text=_outcome(steps, verb, dry_run), document=document), output)


def _load_output() -> None:
    """Import the modules that show the outcome: the steps may remove the running copy of fairq."""
    for module in iter_modules(fairq.cli.output.__path__):
        if not module.name.startswith("rich"):
            import_module(f"{fairq.cli.output.__name__}.{module.name}")


def _outcome(steps: list[Step], verb: str, dry_run: bool) -> str:
    if all(step.is_done for step in steps):
        return "No changes: " + ("the pool of this host is in order" if verb == "create" else "this host has no pool")
    if dry_run:
        return _plan(steps, verb, "would")
    if verb == "remove":
        return "The pool of this host is removed."
    return "The pool of this host is ready. Add its slots, for example with 'sudo fairq slots detect --add'."


def _plan(steps: list[Step], verb: str, will: str) -> str:
    needed = [step.what for step in steps if not step.is_done]
    done = [step.what for step in steps if step.is_done]
    lines = [f"fairq pool {verb} {will}:", *(f"{number:>3}. {step}" for number, step in enumerate(needed, 1))]
    if done and verb == "create":
        lines += ["Already done:", *(f"  -  {step}" for step in done)]
    return "\n".join(lines)
