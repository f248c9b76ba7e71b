"""``fairq broker timeouts``: the jobs past their time limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.broker.out import Out, writer_of
from fairq.cli.broker.rules import RulesOption
from fairq.cli.broker.sentences.timeouts import WORDS
from fairq.cli.command import App, Context
from fairq.cli.figures import counted, duration
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Column, Table, View, emit

if TYPE_CHECKING:
    from fairq.steps.broker.timeouts import Cleaned

app = App()

_FIELDS = (
    "panda_id", "job_status", "computing_site", "gshare", "prod_source_label", "current_priority", "jedi_task_id",
    "prod_user_name", "row", "since", "age", "limit", "action", "code", "becomes",
)  # fmt: skip


@app.listing(
    examples="""
        fairq broker timeouts                                      # preview, with reasons
        fairq broker timeouts --apply                              # end the jobs, as in cron
        fairq broker timeouts --constraint 'row == "heartbeat"' --apply
        fairq broker timeouts --rules panda --json
        fairq broker timeouts --apply --out actions.csv            # what to do in PanDA
    """,
)
def timeouts(
    context: Context,
    apply: Annotated[bool, Option("--apply", help="Close, fail or rebroker the listed jobs.")] = False,
    out: Out = None,
    rules: RulesOption = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Find jobs past their time limit; close them, fail them or send them back to brokerage.

    The command checks each job against the rows of PanDA's timeouts, in the order of PanDA's own cleaner. The first row
    whose limit the job exceeds decides. The rows include the heartbeats of each workflow, fast rebrokerage by share,
    and the rebrokerage of users' job sets. The command reads broker jobs and broker queues. The limits are settings of
    broker config, in hours: TIMEOUT_defined, TIMEOUT_holding, HEARTBEAT_TIMEOUT_*, ANALY_TIMEOUT and
    FAST_REBRO_THRESHOLD_*.

    Without --apply, nothing is changed. With --apply, all changes are made in one transaction. The action kill closes a
    job, fail sets it to failed, and rebroker sends it back: the job is closed, and counts as closed at its queue for
    its task. If that task was assigned, it becomes ready for brokerage. Every change is in the history. --constraint
    selects jobs, with --apply as well.

    --out writes a document of what has to be done in PanDA, for a script: rebrokerages (jobs to close, so that their
    task makes others) and closures (jobs to kill or fail), each with its call of PanDA's API or its update of a row.
    The file is written just before the changes are stored; with the same data and --now, it is the same again.

    Jobs at a paused queue, and at a queue with disableReassign, are exempt from all timeouts; under the rules panda,
    only from some. -v and JSON list the exempt jobs.

    JSON has the members time, rules, applied, jobs, exempt, rows (how many by row) and tasks (sent back). A job has
    panda_id, job_status, computing_site, gshare, prod_source_label, current_priority, jedi_task_id, prod_user_name, row
    (the row that decides), what (in words), since (the time that counts), age and limit (seconds), action (kill,
    fail, rebroker), code (PanDA's number), becomes (its next state), exempt (paused, disableReassign or empty) and
    numbers (what fast rebrokerage compares).
    """
    from fairq.steps.broker.timeouts import clean

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now))
    applying = apply and not dry_run
    cleaned = clean(
        invocation.state_path,
        invocation.settings,
        actor,
        rules=rules,
        constraint=output.constraint,
        apply=applying,
        out=writer_of(out),
    )
    for record in cleaned.exempt:
        invocation.detail(f"job {record['panda_id']} is exempt from {record['row']}: its queue is {_why(record)}")
    emit(_view(cleaned), output)
    if cleaned.found and not applying:
        would = "dry run: these jobs would end; nothing was changed"
        invocation.note(would if apply else "no changes; add --apply to make them")


def _why(record: dict[str, Any]) -> str:
    return "paused" if record["exempt"] == "paused" else f"marked {record['exempt']}"


def _compared(numbers: dict[str, Any]) -> str:
    if not numbers:
        return ""
    texts = ("{queued} queued", "{running} running", "{total} queued in the share", "threshold {threshold:g}",
            "{excess} too many")  # fmt: skip
    return ", ".join(texts).format(**numbers)


def _with_descriptions(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with the description of their row."""
    return [{**record, "what": WORDS[record["row"]]} for record in records]


def _view(cleaned: Cleaned) -> View:
    count = len(cleaned.found)
    jobs, exempt, rows = (_with_descriptions(records) for records in (cleaned.found, cleaned.exempt, cleaned.rows))
    job_table = Table(
        columns=[
            Column("Job", "panda_id"),
            Column("State", "job_status"),
            Column("Queue", "computing_site"),
            Column("Share", "gshare", level=7),
            Column("Label", "prod_source_label", level=8),
            Column("Prio", "current_priority", level=6),
            Column("Row", "row", level=2),
            Column("Age", "age", duration, "right", level=1),
            Column("Limit", "limit", duration, "right", level=3),
            Column("Action", "action"),
            Column("Code", "code", level=5),
            *(
                [Column("Compared", "numbers", _compared, level=4)]
                if any(record["numbers"] for record in cleaned.found)
                else []
            ),
        ],
        records=jobs,
        key="jobs",
        title=f"{counted(count, 'job')} {'ended' if cleaned.applied else 'to end'}, rules {cleaned.rules}",
        empty="no job is past its time limit",
        constrained=True,
    )
    by_row = Table(
        columns=[Column("Row", "row"), Column("What", "what"), Column("Jobs", "jobs"), Column("Action", "action")],
        records=rows,
        title="By row",
        constrained=True,
    )
    document = {
        "time": cleaned.time,
        "rules": cleaned.rules,
        "applied": cleaned.applied,
        "tasks": list(cleaned.tasks),
        "rows": rows,
        "exempt": exempt,
    }
    return View(tables=[job_table, by_row], document=document, fields=_FIELDS)
