"""``fairq edit``: other attributes for jobs in the queue."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes
from fairq.cli.figures import counted
from fairq.cli.invocation import operating_system_user
from fairq.cli.job_options import SELECTION, Reason, confirm_many, job_editor, report, selected
from fairq.cli.options import DryRun, Now, parse_duration, valued
from fairq.cli.output import emit
from fairq.cli.submission import attribute_of, mail_commands
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairq.common.records import Ad

app = App()

_COMMANDS = {
    "request_cpus": "RequestCpus",
    "request_memory": "RequestMemory",
    "request_disk": "RequestDisk",
    "request_gpus": "RequestGPUs",
    "allowed_execute_duration": "AllowedExecuteDuration",
    "environment": "Environment",
    "max_retries": "JobMaxRetries",
    "accounting_group": "AcctGroup",
    "batch_name": "JobBatchName",
    "notification": "JobNotification",
    "notify_all_ended": "NotifyAllEnded",
    "rank": "Rank",
    "concurrency_limits": "ConcurrencyLimits",
}
"""The submit commands of the options, with the attribute that each one sets."""

_PAIR = 2

_ASSIGNMENT = re.compile(r"\w+\s*=(?!=|\?=|!=)")
"""The beginning of ATTRIBUTE=VALUE; no job and no expression begins like this."""


@app.report(
    selection=SELECTION,
    examples="""
        fairq edit 7 --mem 8GB --time 4h           # a cluster
        fairq edit --name sweep --idle --cpus 2    # the waiting jobs of a batch
        fairq edit 7.3 Site '"CERN"'               # an attribute, as condor_qedit does
        fairq undo                                 # as they were before
    """,
)
def edit(
    context: Context,
    words: Annotated[
        list[str] | None, Argument(metavar="JOB... [ATTRIBUTE VALUE]", help="Jobs as for fairq remove; an attribute.")
    ] = None,
    cpus: Annotated[str | None, valued("--cpus --request-cpus", "Cores.", "N")] = None,
    mem: Annotated[str | None, valued("--mem --request-memory", "Memory, such as 512 (MB) or 2GB.", "SIZE")] = None,
    disk: Annotated[str | None, valued("--disk --request-disk", "Disk space, such as 2GB.", "SIZE")] = None,
    gpus: Annotated[str | None, valued("--gpus --request-gpus", "GPUs.", "N")] = None,
    time: Annotated[str | None, valued("--time", "Time after which a run is ended, such as 2h.", "DURATION")] = None,
    environment: Annotated[
        str | None, valued("--environment", 'Environment in place of the former, such as "A=1;B=2".', "VARS")
    ] = None,
    retries: Annotated[int | None, valued("--retries", "Runs to add until one exits with 0.", "N", min=0)] = None,
    group: Annotated[
        str | None, valued("--accounting-group", "Accounting group to charge; not of running jobs.", "GROUP")
    ] = None,
    batch_name: Annotated[str | None, valued("--batch-name", "Name of the batch.", "NAME")] = None,
    mail: Annotated[str | None, valued("--mail", "Mail about ends: end, fail or all.", "WHEN")] = None,
    rank: Annotated[str | None, valued("--rank", "Slot preference; higher is better.", "EXPR")] = None,
    limits: Annotated[str | None, valued("--concurrency-limits", "Concurrency limits.", "NAME,...")] = None,
    attribute: Annotated[list[str] | None, valued("--attribute", "Set an attribute; repeatable.", "NAME=EXPR")] = None,
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Change attributes of jobs in the queue.

    The options take the same values as those of fairq submit, and are checked in the same way. ATTRIBUTE VALUE sets
    one attribute to a ClassAd expression, and ATTRIBUTE=VALUE may be repeated; a text needs double quotes. All changes
    of a command are made together. If a request is new, its clause is added to the requirements.

    Idle and held jobs have the new values from the next cycle on. The current run of a job keeps what it was started
    with, but --retries, --mail and --batch-name count at once. --environment replaces the whole environment that the
    job was submitted with. --accounting-group is for jobs that do not run, and for groups that you may submit to. What
    fairq sets cannot be edited: the identity of a job, its status, times, usage and numbers of runs, the user who is
    charged, and what it waits for. On a terminal, the command asks before it changes all jobs, or more than 20.
    """
    by_command = {
        "request_cpus": cpus,
        "request_memory": mem,
        "request_disk": disk,
        "request_gpus": gpus,
        "allowed_execute_duration": None if time is None else str(parse_duration(time, "--time")),
        "environment": environment,
        "max_retries": None if retries is None else str(retries),
        "accounting_group": group,
        "batch_name": batch_name,
        **({} if mail is None else mail_commands(mail)),
        "rank": rank,
        "concurrency_limits": limits,
    }
    commands = {name: value for name, value in by_command.items() if value is not None}
    assigned = [word for word in words or () if _ASSIGNMENT.match(word)]
    words = [word for word in words or () if word not in assigned]
    pairs = [attribute_of(text) for text in (*(attribute or ()), *assigned)]
    if not (commands or pairs):
        if len(words) < _PAIR:
            raise UsageError(message="nothing to change; give an option such as --mem, or the jobs and ATTRIBUTE VALUE")
        name, value = words[-_PAIR:]
        words = words[:-_PAIR]
        pairs = [attribute_of(f"{name}={value}")]
    invocation = context.obj
    selection = selected(invocation, words, now)
    attributes = _attributes(commands, pairs, invocation.now(now))
    editor, trial = job_editor(invocation, now, reason, dry_run=dry_run)
    if not dry_run:
        confirm_many(invocation, "Edit", yes, lambda: len(trial.edit(selection, attributes)))
    changed = editor.edit(selection, attributes)
    for warning in changed.warnings:
        invocation.note(f"WARNING: {warning}")
    if changed.running:
        run = "1 job runs" if changed.running == 1 else f"{counted(changed.running, 'job')} run"
        from fairq.steps.jobs.attributes import AT_ONCE

        now_too = [name for name in attributes if name.lower() in AT_ONCE]
        others = len(now_too) < len(attributes)
        other_values = (
            "the current run keeps what it was started with; the next one has the new values" if others else ""
        )
        at_once = f"{', '.join(now_too)} {'counts' if len(now_too) == 1 else 'count'} at once" if now_too else ""
        invocation.note(f"{run}: {'; '.join(filter(None, [at_once, other_values]))}")
    emit(report(changed.targets, selection, "edited", dry_run), invocation.output)


def _attributes(commands: Mapping[str, str], pairs: list[tuple[str, str]], now: int) -> Ad:
    """Return the attributes that the submit *commands* and the *pairs* of MY.NAME and expression set."""
    from fairq.common.hardware import architecture, operating_system
    from fairq.formats.submitfile import Context as JobContext
    from fairq.formats.submitfile import Program, submission
    from fairq.steps.jobs.attributes import check_names

    user = JobContext(operating_system_user(), Path.cwd(), architecture(), operating_system(), now=now)
    names = [name.removeprefix("MY.") for name, _ in pairs]
    check_names(names)
    # The rules of a submission convert the values; the other attributes of this job are not used.
    job_ad = submission(Program(["/bin/sh"], {**commands, **dict(pairs)}), 1, user).groups[0].ad(0)
    return {name: job_ad[name] for name in [*(_COMMANDS[name] for name in commands), *names]}
