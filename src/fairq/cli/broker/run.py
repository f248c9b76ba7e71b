"""``fairq broker run``: broker the waiting tasks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairq.cli.broker.diff import diff_view, few
from fairq.cli.broker.out import Out, writer_of
from fairq.cli.broker.rules import RulesOption
from fairq.cli.broker.sentences.data import data_notes
from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Form, Table, View, emit, progress
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.broker.run import Run

app = App()
_RETRY = Form(cache(moment.full), cache(moment.brief))
"""Most tasks wait for the same moment."""

STAGE_COLUMNS = [
    Column("Stage", "stage"),
    Column("Before", "before"),
    Column("After", "after"),
    Column("Pseudo before", "pseudo_before", level=3),
    Column("After", "pseudo_after", level=3),
    Column("Cut", "cut", lambda cut: f"{cut:.0f}%", "right", level=1),
    Column("Temporary", "marked", level=2),
]


@app.listing(
    "run",
    examples="""
        fairq broker run                           # new tasks and those due for a retry, as in cron
        fairq broker run 4711 --dry-run --summary  # preview one task stage by stage
        fairq broker run --all --rules panda --json
        fairq broker run --out actions.json        # what to do in PanDA
        fairq broker run --all --dry-run --queue CERN.status=offline --set jobbroker.NQUEUED_SAT_CAP=300
    """,
)
def run(
    context: Context,
    tasks: Annotated[
        list[int] | None, Argument(metavar="TASK...", min=0, help="Broker only these tasks, in any state.")
    ] = None,
    every: Annotated[bool, Option("--all", help="Broker all tasks, in any state.")] = False,
    rules: RulesOption = None,
    summary: Annotated[bool, Option("--summary", help="Show the number of queues per stage.")] = False,
    out: Out = None,
    stored_run: Annotated[
        int | None,
        Option("--again", metavar="RUN", min=1, help="Write the actions of a stored run; broker nothing."),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
    settings_file: Annotated[str | None, Option("--with", metavar="FILE", help="Try FILE [settings].")] = None,
    sets: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Try a setting of PanDA or fairq; repeatable.")
    ] = None,
    queues: Annotated[
        list[str] | None, Option("--queue", metavar="NAME.FIELD=VALUE", help="Try a field of a queue; repeatable.")
    ] = None,
) -> None:
    """Assign tasks to queues.

    By default, the run brokers new tasks, throttled tasks and pending tasks due for a retry. A task gets the ten best
    queues by weight; ties are broken by name. A task without an eligible queue becomes pending and is retried after an
    hour (analysis: 20 minutes; high priorities sooner). broker why TASK explains the decision.

    With --dry-run, --with, --set and --queue try changes: the tasks are brokered without and with them, and the command
    shows what differs, as broker diff does. --set takes PanDA's settings (broker config) and fairq's, which begin with
    broker.; --queue takes the columns of broker queues import.

    --out writes a document for a script that applies the decisions in PanDA: assignments (of tasks that had no queues),
    rebrokerages (of tasks that had some) and closures (of failed and exhausted tasks), each with its call of PanDA's
    API. docs/json.md describes it. The file is written just before the decisions are stored. If the command fails, run
    it again: with the same data and --now, it writes the same file. --again writes the file of a stored run once more.

    A record has task, status, activity, queues, weight (of the best), reason and retry_time. JSON has cycle, time,
    rules, plugins, counts and tasks (with --summary: stages). In JSON, a task also has candidates. Each has queue,
    weight, bootstrap (no jobs of the share yet), jumbo, queued and cap (queued jobs and their limit), running, maxwdir
    (MiB of scratch of a job), max_walltime (seconds of a job), platform, local_files and tape_files (input that is
    present).
    """
    from fairq.steps.broker.flows import rules_in_force
    from fairq.steps.broker.run import run as step
    from fairq.steps.broker.whatif import GridChange, what_if

    invocation, output = context.obj, context.obj.output
    write = writer_of(out)
    if stored_run is not None:
        from fairq.steps.broker.actions import actions_again

        if write is None or tasks or every or summary or rules is not None:
            raise UsageError(message="--again needs --out, and no option that decides anew; give only these two")
        write(actions_again(invocation.state_path, stored_run))
        return
    if tasks and every:
        raise UsageError(message="--all and single tasks exclude each other; give only one")
    time = invocation.now(now)
    if settings_file is not None or sets or queues:
        if not dry_run or summary or out is not None:
            raise UsageError(
                message="--with, --set and --queue try changes; give them with --dry-run, without --summary and --out"
            )
        change = GridChange(settings_file, sets or (), queues or ())
        tried = what_if(
            invocation.state_path,
            invocation.settings,
            invocation.settings_files,
            change,
            time,
            tasks or [],
            every=every,
            chosen_rules=rules,
            watch=lambda total: progress("Brokering", total, invocation.quiet),
        )
        emit(diff_view(tried, f"Dry run, with {change.words}"), output)
        return
    done = step(
        invocation.state_path,
        rules_in_force(invocation.settings, rules),
        invocation.actor(time),
        tasks or [],
        every=every,
        dry_run=dry_run,
        kept=invocation.settings["broker.verdicts_kept"],
        # A table has no column for what is known of each candidate.
        detailed=output.format in ("json", "ndjson", "af") or output.constraint is not None,
        watch=lambda total: progress("Brokering", total, invocation.quiet),
        out=write,
    )
    for note in data_notes(done.unknown_sites, done.disagreement):
        invocation.note(note)
    emit(_summary(done, dry_run) if summary else _view(done, dry_run), output)


def _view(done: Run, dry_run: bool) -> View:
    records = [decision.document for decision in done.decided]
    columns = [
        Column("Task", "task"),
        Column("Status", "status"),
        Column("Best queues", "queues", few),
        Column("Weight", "weight", lambda weight: f"{weight:.4g}", "right", level=2),
        Column("Why", "reason"),
        Column("Next retry", "retry_time", _RETRY, level=1),
    ]
    fields = ["task", "status", "activity", "queues", "weight", "reason", "retry_time"]
    return View(
        tables=[Table(columns, records, key="tasks", empty="no task is waiting for brokerage")],
        document=_document(done),
        text=_headline(done, dry_run) if records else None,
        fields=fields,
    )


def _summary(done: Run, dry_run: bool) -> View:
    records = [{"activity": activity, **line} for activity, table in done.stage_tables().items() for line in table]
    columns = [Column("Activity", "activity"), Column("Tasks", "tasks"), *STAGE_COLUMNS]
    table = Table(columns, records, key="stages", empty="no task is waiting for brokerage")
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
    tasks = counted(number, "task")
    name = f"Dry run: would broker {tasks}" if dry_run else f"Cycle {done.number}: {tasks}"
    return f"{name}: {counts}; rules {done.rules.name}"
