"""``fairq broker run``: broker the tasks that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli.broker.rules import RulesOption
from fairq.cli.command import App
from fairq.cli.figures import moment
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Output, Table, View, emit, progress
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.broker.run import Run

app = App()

_SHOWN = 3
"""Queues of a task that its line names."""

STAGE_COLUMNS = [
    Column("Stage", "stage"),
    Column("Before", "before"),
    Column("After", "after"),
    Column("Cut", "cut", lambda cut: f"{cut:.0f}%", "right"),
    Column("Pseudo before", "pseudo_before"),
    Column("After", "pseudo_after"),
    Column("Temporary", "marked"),
]


@app.command(
    "run",
    examples="""
        fairq broker run                           # the tasks whose turn it is, as cron runs it
        fairq broker run 4711 --dry-run --summary  # one task, stage by stage, storing nothing
        fairq broker run --all --rules panda --json
    """,
)
def run(
    invocation: Invocation,
    output: Output,
    tasks: Annotated[
        list[int] | None, typer.Argument(metavar="TASK...", min=0, help="Only these tasks, whatever their state.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All tasks, whatever their state.")] = False,
    rules: RulesOption = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="The stage table: queues before and after each stage, over all tasks.")
    ] = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Assign tasks to queues.

    It is the turn of tasks that are ready, that were throttled, and of pending ones whose time to be tried again has
    come. A task gets the ten best queues by weight; equals go by name. One for which no queue is left is pending, and
    tried again after an hour (analysis: 20 minutes; high priorities sooner); broker why TASK tells what stands in the
    way.

    A record has task, status, activity, queues, weight (of the best), reason and retry_time. JSON has cycle, time,
    rules, plugins, counts and tasks (with --summary: stages); there, a task has candidates as well: queue, weight,
    bootstrap (0 jobs of the share: it is tried out), jumbo, queued and cap (jobs there, and how many may be),
    running, maxwdir (MiB of scratch of a job), max_walltime (seconds of a job), platform, local_files and tape_files
    (input that is there).
    """
    from fairq.steps.broker.rules import rules_in_force
    from fairq.steps.broker.run import run as step

    if tasks and every:
        raise UsageError(message="--all and single tasks exclude each other; give one of them")
    time = invocation.now(now)
    done = step(
        invocation.state_path,
        rules_in_force(invocation.settings, rules),
        invocation.actor(time),
        tasks or [],
        every=every,
        dry_run=dry_run,
        kept=invocation.settings["broker.verdicts_kept"],
        watch=lambda total: progress("Brokering", total, invocation.quiet),
    )
    emit(_summary(done, dry_run) if summary else _view(done, dry_run), output)


def _view(done: Run, dry_run: bool) -> View:
    records = [one.document for one in done.decided]
    columns = [
        Column("Task", "task"),
        Column("Status", "status"),
        Column("Best queues", "queues", _few),
        Column("Weight", "weight", lambda weight: f"{weight:.4g}", "right"),
        Column("Why", "reason"),
        Column("Again", "retry_time", moment),
    ]
    fields = ["task", "status", "activity", "queues", "weight", "reason", "retry_time"]
    return View(
        tables=[Table(columns, records, key="tasks", empty="no task is waiting for the brokerage")],
        document=_document(done),
        text=_headline(done, dry_run) if records else None,
        fields=fields,
    )


def _summary(done: Run, dry_run: bool) -> View:
    records = [
        {"activity": activity, **line} for activity, table in done.stage_tables().items() for line in table
    ]
    columns = [Column("Activity", "activity"), Column("Tasks", "tasks"), *STAGE_COLUMNS]
    table = Table(columns, records, key="stages", empty="no task is waiting for the brokerage")
    return View(tables=[table], document=_document(done), text=_headline(done, dry_run) if records else None)


def _document(done: Run) -> dict[str, Any]:
    return {
        "cycle": done.number,
        "time": done.time,
        "rules": done.rules.name,
        "plugins": list(done.plugins),
        "counts": done.counts,
    }


def _headline(done: Run, dry_run: bool) -> str:
    number = len(done.decided)
    counts = ", ".join(f"{count} {status}" for status, count in done.counts.items())
    tasks = f"{number} task{'' if number == 1 else 's'}"
    name = f"Dry run: would broker {tasks}" if dry_run else f"Cycle {done.number}: {tasks}"
    return f"{name}: {counts}; rules {done.rules.name}"


def _few(queues: list[str]) -> str:
    more = f" +{len(queues) - _SHOWN}" if len(queues) > _SHOWN else ""
    return " ".join(queues[:_SHOWN]) + more
