"""``fairq submit``: add jobs to the queue."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, parse_duration, parse_end, valued
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.cli.single_dash import SEPARATOR
from fairq.cli.submission import (
    AccountingGroup,
    Env,
    Getenv,
    Requirements,
    attribute_of,
    file_and_macros,
    items_of,
    mail_commands,
    program_of,
    queued,
    shown_name,
    submit_defaults,
    submitter_here,
    tasks_of,
    text_of,
)
from fairq.cli.submit_dag import SUFFIX, submit_dag
from fairq.cli.submit_script import script_as_options
from fairq.cli.tools import SUBMIT
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairq.steps.jobs.submit import Description, Program, Submitted

_LARGEST_COUNT = 2**31 - 1
_SEPARATOR = "\0"
_LINE = re.compile(r"\s*\+?[A-Za-z_][\w.]*\s*=[^\n]*", re.ASCII)


_OPTIONS = {
    "allowed_execute_duration": "time", "max_retries": "retries", "notification": "mail",
    "notify_all_ended": "mail", "request_cpus": "cpus",
    "request_memory": "mem", "request_gpus": "gpus", "periodic_remove": "deadline",
}  # fmt: skip
"""Options that have another name than their submit command, or a second one."""


def _program_as_option(words: list[str]) -> list[str]:
    """Return *words* with those after ``--``, a program and its arguments, as one word; a script is a program, too."""
    words = script_as_options(words, _SEPARATOR)
    if "--" not in words:
        return words
    at = words.index("--")
    # No word of a command line can contain the separator.
    return [*words[:at], "--program=" + _SEPARATOR.join(words[at + 1 :])]


app = App()


Text = str | None


@app.report(
    rewrite=_program_as_option,
    dialect=SUBMIT,
    examples="""
        fairq submit analysis.sub                             # an HTCondor submit description
        sed s/2024/2025/ analysis.sub | fairq submit -        # a description from standard input
        fairq submit analysis.sub YEAR=2025 -append 'priority = 5'
        fairq submit --cpus 4 --mem 2GB -- ./run.sh 'a b'     # one command with its arguments
        fairq submit --time 2h --retries 3 --mail fail -- ./run.sh
        fairq submit --count 1000000 --output 'out.$(Process)' -- /bin/sleep 60
        fairq submit --each a.dat --each b.dat -- ./fit.sh {} # a job for each item
        fairq submit --array 1-100%10 -- ./fit.sh {}          # a job for each number, ten at a time
        fairq submit diamond.dag                              # nodes that run one after another
        fairq submit job.sh 3                                 # a script with #FAIRQ or #SBATCH lines, and its argument
        ls data | fairq submit --each-line - --output '{}.out' -- ./fit.sh data/{}
        fairq submit --dry-run --json analysis.sub            # only show the job ads
    """,
)
def submit(
    context: Context,
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[FILE NAME=VALUE... | -- PROGRAM ARGS...]",
            help="Submit description, - is stdin, and macros that are set above its first line.",
        ),
    ] = None,
    append: Annotated[
        list[str] | None,
        valued("--append -a", "Line to put above queue, as 'priority = 5'; repeatable.", "LINE"),
    ] = None,
    queue: Annotated[
        Text, valued("--queue", "Queue statement of a FILE without one, up to the next dash.", "ARGS...")
    ] = None,
    batch_name: Annotated[
        Text, valued("--batch-name --name", "Name of the jobs as a batch (JobBatchName).", "NAME")
    ] = None,
    terse: Annotated[bool, Option("--terse", help="Print only the first and the last job.")] = False,
    count: Annotated[int | None, valued("--count", "Number of identical jobs.", "N", min=1, max=_LARGEST_COUNT)] = None,
    request_cpus: Annotated[Text, valued("--request-cpus --cpus", "Cores to request.")] = None,
    request_memory: Annotated[
        Text, valued("--request-memory --mem", "Memory to request [MB, or with unit: 2GB].")
    ] = None,
    request_disk: Annotated[Text, valued("--request-disk", "Disk to request [KB, or with unit: 10GB].")] = None,
    request_gpus: Annotated[Text, valued("--request-gpus --gpus", "GPUs to request.")] = None,
    requirements: Requirements = None,
    rank: Annotated[Text, valued("--rank", "Slot preference; higher is better.", "EXPR")] = None,
    priority: Annotated[Text, valued("--priority", "Job priority among your jobs; higher runs first.", "N")] = None,
    accounting_group: AccountingGroup = None,
    accounting_group_user: Annotated[
        Text, valued("--accounting-group-user", "User to charge within the group.", "USER")
    ] = None,
    nice_user: Annotated[bool, Option("--nice-user", help="Use only otherwise idle slots.")] = False,
    concurrency_limits: Annotated[
        Text, valued("--concurrency-limits", "Concurrency limits to use, such as LICENSE:2,DISK.", "NAMES")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        valued("--attribute", "Additional job attribute; repeatable.", "NAME=EXPR"),
    ] = None,
    input_file: Annotated[Text, valued("--input", "File for standard input.", "FILE")] = None,
    output_file: Annotated[Text, valued("--output", "File for standard output.", "FILE")] = None,
    error: Annotated[Text, valued("--error", "File for standard error.", "FILE")] = None,
    log: Annotated[Text, valued("--log", "File for the job event log.", "FILE")] = None,
    initialdir: Annotated[Text, valued("--initialdir", "Working directory of the job.", "DIR")] = None,
    environment: Annotated[Text, valued("--environment", 'Environment of the job, such as "A=1;B=2".', "VARS")] = None,
    env: Env = None,
    getenv: Getenv = False,
    time: Annotated[Text, valued("--time", "Time that a run may take, such as 2h; then the job is held.")] = None,
    retries: Annotated[int | None, valued("--retries", "Runs to add until one exits with 0.", "N", min=0)] = None,
    mail: Annotated[
        Text, valued("--mail", "Mail: end, fail, or all: once, when all have ended [none].", "WHEN")
    ] = None,
    notify_command: Annotated[
        Text, valued("--notify-command", "Command in place of the mail of --mail all.", "COMMAND")
    ] = None,
    each: Annotated[list[str] | None, valued("--each", "Item to queue a job for; repeatable.", "ITEM")] = None,
    each_line: Annotated[Text, valued("--each-line", "File with an item on each line; - is stdin.", "FILE")] = None,
    array: Annotated[Text, valued("--array", "Numbers to queue a job for, as sbatch: 0-9%2.", "NUMBERS")] = None,
    after: Annotated[
        list[str] | None, valued("--after", "Wait until these jobs have ended, or were removed.", "JOB,...")
    ] = None,
    after_ok: Annotated[
        list[str] | None, valued("--after-ok", "Wait until all of these jobs have succeeded.", "JOB,...")
    ] = None,
    after_failed: Annotated[
        list[str] | None, valued("--after-failed", "Wait until they have ended, one without success.", "JOB,...")
    ] = None,
    begin: Annotated[Text, valued("--begin", "Do not start before this time: 20:00, +1h, or a date.", "TIME")] = None,
    deadline: Annotated[Text, valued("--deadline", "Remove what has not ended by this time.", "TIME")] = None,
    max_running: Annotated[
        int | None, valued("--max-running", "Run at most N of these jobs at the same time.", "N", min=1)
    ] = None,
    verbatim: Annotated[bool, Option("--verbatim", help="Replace nothing in arguments and file names.")] = False,
    script: Annotated[bool, Option("--script", help="Standard input is a script.")] = False,
    program: Annotated[Text, Option("--program", hidden=True)] = None,
    variable: Annotated[list[str] | None, Option("--variable", hidden=True)] = None,
    noted: Annotated[list[str] | None, Option("--noted", hidden=True)] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Queue jobs, from an HTCondor submit description or as one command.

    FILE is a submit description for condor_submit. HTCondor's own library reads it, with macros, if, include and every
    form of queue. All queue statements add jobs to one cluster. Like condor_submit, fairq adds clauses for platform,
    disk, memory, cores and other requested resources to the requirements, unless they mention them already. It adds no
    clauses for file transfer. The default request is 1 core, 128 MB of memory and the disk of the executable. The
    executable must exist, unless transfer_executable is false. Relative paths start at the current directory. A note
    names the commands of a description that are without effect here; a command without which another job would run,
    such as noop_job, is refused.

    A description can run commands with your rights: "queue ... from COMMAND |" and "include : COMMAND |". Submit only
    descriptions that you trust. If a command, or a pipe that fairq reads, takes longer than submit.command_timeout,
    fairq kills the command with all its processes and queues nothing.

    Give a program and its arguments after --. The job gets these words as they are, with blanks, quotes and dollars.
    Only $(Process), $(Cluster) and $(Item) are replaced in arguments and file names: the number of the job from 0, that
    of the cluster, and the item of --each, --each-line or --array. With one of these options, so is {}. --verbatim
    replaces none of them. With --array, the item is also in SLURM_ARRAY_TASK_ID. A program without a slash is looked up
    on PATH. Other options take the same values as the submit command of their name, including its macros.

    A FILE whose first line begins with #! is a script; all words after it are its arguments. Options are taken from its
    lines that begin with #FAIRQ, above its first command; those of the command line win. Lines that begin with #SBATCH
    mean what they mean in Slurm: its units, its patterns of file names, its output file, its environment; the job sees
    SLURM_JOB_ID, SLURM_CPUS_PER_TASK and SLURM_ARRAY_TASK_ID. What would run another job is refused, such as several
    nodes; one note names what has no effect. With --script, - is a script from standard input.

    A FILE whose name ends in .dag is one of DAGMan; docs/running.md has its commands. Each node becomes a cluster.

    The environment of a job is PATH (of the system), HOME, USER, LOGNAME, SHELL, LANG=C.UTF-8, TMPDIR (its scratch
    directory) and the number of its cores in OMP_NUM_THREADS and similar variables; --getenv, --env and --environment
    add to it and override it. docs/running.md lists all variables.

    The options of condor_submit also work with one dash: -append, -batch-name, -queue, -terse. --append and NAME=VALUE
    are for a description. A line of --append is read last, just above the queue statement; NAME=VALUE is read first,
    so that a line of the description can override it.

    [submit] of the settings fills in what is said neither here nor in FILE: cores, memory, time, group, environment,
    mail. -v shows what was filled in.

    Identical jobs are stored once: a million cost no more than one.
    """
    from fairq.formats.batch_script import array_variables
    from fairq.steps.jobs.submit import time_macros

    invocation, output = context.obj, context.obj.output
    end = parse_end(deadline, invocation.now(now), "--deadline")
    commands = {
        "request_cpus": request_cpus,
        "request_memory": request_memory,
        "request_disk": request_disk,
        "request_gpus": request_gpus,
        "requirements": requirements,
        "rank": rank,
        "priority": priority,
        "accounting_group": accounting_group,
        "accounting_group_user": accounting_group_user,
        "nice_user": "true" if nice_user else None,
        "getenv": "true" if getenv else None,
        "allowed_execute_duration": None if time is None else str(parse_duration(time, "--time")),
        "periodic_remove": None if end is None else f"time() >= {end}",
        "max_retries": None if retries is None else str(retries),
        **({} if mail is None else mail_commands(mail)),
        "notify_command": notify_command,
        "concurrency_limits": concurrency_limits,
        "input": input_file,
        "output": output_file,
        "error": error,
        "log": log,
        "initialdir": initialdir,
        "environment": environment,
    }
    if notify_command is not None:
        commands["notify_all_ended"] = "true"
    of_options = {name: value for name, value in commands.items() if value is not None}
    defaults = submit_defaults(invocation.settings)
    for text in attribute or []:
        of_options.update([attribute_of(text)])
    actor = invocation.actor(invocation.now(now))
    numbers, most = tasks_of(array)
    file, macros = file_and_macros(words or [], None if program is None else each)
    afters = {"after": after, "after_ok": after_ok, "after_failed": after_failed}
    waits = {name: ",".join(listed) for name, listed in afters.items() if listed}
    limits = {"begin": begin, "max_running": most if max_running is None else max_running}
    waits |= {name: str(value) for name, value in limits.items() if value is not None}
    user = submitter_here(actor)
    if program is None:
        only = {"env": env, "each": each, "each-line": each_line, "array": array, "verbatim": verbatim, "count": count}
        name = next((name for name in (*of_options, *only) if only.get(name, True)), None)
        if file is not None and file.endswith(SUFFIX):
            option = _typed(name or next(iter(waits), None), invocation.arguments)
            emit(
                submit_dag(invocation, file, option, batch_name, user, actor, now, dry_run, defaults.as_commands()),
                output,
            )
            return
        lines = [*(append or []), *([] if batch_name is None else [f"batch_name = {batch_name}"])]
        lines += [f"{name} = {value}" for name, value in waits.items()]
        source: Description | Program
        source = described = _description(
            file,
            _typed(name, invocation.arguments),
            invocation.settings["submit.command_timeout"],
            {**time_macros(actor.time), **macros},
            lines,
            queue,
            defaults.as_commands(),
        )
        defaults.note(invocation, described.filled)
    else:
        for name, value in (("NAME=VALUE", macros), ("--append", append), ("--queue", queue)):
            if value:
                raise UsageError(message=f"{name} is only for a submit description; leave it out with -- PROGRAM")
        if batch_name is not None:
            of_options["batch_name"] = batch_name
        of_options |= waits
        if file is not None:
            raise UsageError(message=f"both a submit description ({file}) and a program; give only one")
        if environment is not None and (env or array):
            raise UsageError(
                message=f"both --environment and --{'env' if env else 'array'}; give --env for each variable"
            )
        filled = defaults.missing(of_options)
        variables = () if environment is not None else defaults.variables
        defaults.note(invocation, [*filled, *(["environment"] if variables else [])])
        source = program_of(
            program.split(_SEPARATOR),
            {**{name: defaults.commands[name] for name in filled}, **of_options},
            count or 1,
            time_macros(actor.time),
            items=items_of(each, each_line, numbers),
            variables=[*variables, *(env or ())],
            macros_of_script=[*(variable or ()), *(array_variables(numbers) if numbers else ())],
            verbatim=verbatim,
        )
    submitted = queued(invocation, source, user, actor, now, dry_run=dry_run)
    if noted:
        invocation.note(f"without effect here: {', '.join(noted)}")
    _note(invocation, submitted)
    invocation.note_pause(actor.time)
    emit(_view(submitted, output, dry_run, terse), output)


def _note(invocation: Invocation, submitted: Submitted) -> None:
    """Print the notes on the jobs for the submitter."""
    for warning in submitted.submission.warnings:
        invocation.note(f"WARNING: {warning.removeprefix('WARNING: ')}")
    if submitted.submission.without_effect:
        invocation.note(f"without effect here: {', '.join(submitted.submission.without_effect)}")
    for problem in submitted.problems:
        invocation.note(f"WARNING: {problem}; the jobs that name it will be held")
    if submitted.is_first_without_launcher and sys.stderr.isatty():
        invocation.note(
            "no launcher: fairq matches jobs, but starts none; 'fairq slots detect --add --launch local' makes this "
            "machine run them"
        )


def _typed(command: str | None, words: Sequence[str]) -> str | None:
    """Return the option among *words* that sets a submit *command*, or else its name; None for None."""
    if command is None:
        return None
    names = ["attribute"] if command.startswith("MY.") else [command, _OPTIONS.get(command, command)]
    options = [f"--{name.replace('_', '-')}" for name in names]
    return next((option for option in options for word in words if word.partition("=")[0] == option), options[-1])


def _description(
    file: str | None,
    option: str | None,
    timeout: int,
    macros: dict[str, str],
    lines: list[str],
    queue: str | None,
    defaults: dict[str, str],
) -> Description:
    from fairq.steps.jobs.submit import Description, External

    if file is None and queue is not None:
        raise UsageError(message="no submit description; name it before --queue, which takes the words after it")
    if not file:
        raise UsageError(message="nothing to submit; name a submit description, or give -- PROGRAM ARGS...")
    if option is not None:
        raise UsageError(message=f"{option} is only for -- PROGRAM; set it in the submit description instead")
    for line in lines:
        if not _LINE.fullmatch(line):
            raise UsageError(message=f"--append: {line!r} is no line NAME = VALUE; give one, as 'priority = 5'")
    text, name = text_of(file), shown_name(file)
    arguments = None if queue is None else " ".join(queue.split(SEPARATOR)).strip()
    text = text.replace("\r\n", "\n")
    return Description(text, name, External(timeout), macros, appended=lines, queue=arguments, defaults=defaults)


def _view(submitted: Submitted, output: Output, dry_run: bool, terse: bool) -> View:
    count = len(submitted.submission)
    jobs = f"{submitted.cluster}.0 - {submitted.cluster}.{count - 1}"
    if dry_run and output.format != "table":
        return View(tables=[Table(columns=[Column("Job", "ProcId")], records=submitted.ads())])
    if dry_run and not terse:
        first = next(submitted.ads())
        records = [{"Name": name, "Value": value} for name, value in sorted(first.items())]
        columns = [Column("Attribute", "Name"), Column("Value", "Value", align="left")]
        text = f"{count} job(s) would be submitted to cluster {submitted.cluster}. Ad of the first job:"
        return View(tables=[Table(columns=columns, records=records)], text=text)
    document = {
        "cluster_id": submitted.cluster,
        "jobs": count,
        "first_proc": 0,
        "last_proc": count - 1,
        "submitters": sorted({job.submitter for job in submitted.ranges}),
    }
    return View(document=document, text=jobs if terse else f"{count} job(s) submitted to cluster {submitted.cluster}.")
