"""``fairq taskqueues``: DIRAC's scheme: task queues, shares, corrections, and pilots that pull work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import Output, Report, emit
from fairq.cli.taskqueues_options import (
    PILOT,
    VO,
    CpuTime,
    GridCE,
    Group,
    JobType,
    MaxRAM,
    Owner,
    Platform,
    Processors,
    Reference,
    RequiredTag,
    Site,
    Tag,
    WholeNode,
    number,
    pilot_of,
)
from fairq.errors import InvalidJobIdError, UsageError
from fairq.settings.key import DIRAC

if TYPE_CHECKING:
    from fairq.steps.share_world import Told

app = App(
    help="DIRAC's scheme: task queues, shares and their corrections, and pilots that pull work.", default="list"
)

Selection = Literal["dirac", "proportional", "strict"]
_LARGEST_COUNT = 1_000_000
SELECTIONS: tuple[Selection, ...] = ("dirac", "proportional", "strict")


@app.command(
    "list",
    examples="""
        fairq taskqueues                                     # the queues of the jobs that wait
        fairq taskqueues list --constraint 'OwnerGroup == "lhcb_user"'
        fairq taskqueues list --csv > queues.csv
    """,
)
def list_(invocation: Invocation, output: Output, now: Now = None) -> None:
    """List the task queues: the idle jobs that ask for the same, with their priority as of now.

    Jobs share a queue if they agree in Owner, OwnerGroup, CPUTime (in steps), Sites, BannedSites, GridCEs,
    Platforms, JobTypes, Tags, MinRAM and MaxRAM; upper and lower case differ. A queue takes
    shares.max_jobs_in_task_queue jobs, further ones make another. Owner and OwnerGroup are the job's
    accounting_group_user and accounting_group (<none> without one). The others are attributes of the job, set in
    a submit description as

    +Sites = "LCG.CERN.cern, LCG.RAL.uk"

    or with fairq submit --attribute: CPUTime (HS06 seconds; else shares.default_cpu_time), Site or Sites,
    BannedSites, Platform or Platforms, GridCE or GridCEs, JobType or JobTypes, Tag or Tags (texts with commas, or
    lists), MinRAM and MaxRAM (MB), and UserPriority (0 to 10). Without UserPriority a job's own priority counts:
    above 0 it is the UserPriority, below 0 background work. (RealPriority goes before both; jobs have it that come
    from a dump which knows no more than their average.) From what is requested follow the tags nProcessors
    and MultiProcessor (request_cpus above 1), WholeNode (+WholeNode = true), GPU (request_gpus), and MinRAM
    (request_memory).

    Records have these names, and TaskQueue (its number), Jobs, AveragePriority (of the jobs' real priorities:
    1 to 9 as they are, 1e-5 for 0, 1e6 for 10), Priority, Rules, and StoredPriority and LastUpdate of the last fairq
    taskqueues shares, or of the dump that the queue came with.
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues import list_queues

    listed = list_queues(invocation.state_path, invocation.settings, invocation.now(now))
    _tell(invocation, listed)
    emit(views.list_view(listed), output)


@app.command(
    "shares",
    examples="""
        fairq taskqueues shares                              # recalculate, store, and show how it came about
        fairq taskqueues shares --group lhcb_user --json
        fairq taskqueues shares --rules dirac --dry-run      # what DIRAC would make of it
        fairq taskqueues shares --check dump.json            # are a live DIRAC's priorities what they should be?
    """,
)
def shares(
    invocation: Invocation,
    output: Output,
    group: Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Show this group alone.")] = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="RULES", help="documented or dirac; with one of these nothing is stored."),
    ] = None,
    dump: Annotated[
        str | None,
        typer.Option("--check", metavar="DUMP", help="Compare a dump's stored priorities with what they should be."),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Recalculate the priorities of all task queues, and show group by group how they came about.

    A group's JobShare is corrected by what its members ran; a group with job sharing shares it out among all its
    queues, another one among its users, corrected again, and then among each user's queues, in proportion to the
    average priority of their jobs. Queues that differ only in sites and memory get the sum of theirs. The first
    table has the groups, the second the users, the third the queues; for every time slice of every corrector the
    fourth has use, raw and bounded correction, the bound that cut it (upper: the maximum, lower: 1/maximum), and
    the factor that comes of all slices. Priorities are always calculated for the jobs that wait now: nothing has
    to run for them, but what is stored is as old as the last call of this command.

    JSON has rules, Groups, Users and TaskQueues, each group and user with its Corrections.

    --check reads a dump of a DIRAC (see fairq taskqueues import) and calculates what its priorities should be,
    by the rules dirac unless --rules says otherwise, with the groups, history and corrections of the dump and the
    settings. Shown are the queues whose priorities differ (JSON: all, with their Verdict: same, differs, missing,
    emptied). The exit code is 1 if any differs. The state is not read.
    """
    from fairq.cli import taskqueues_views as views

    if rules is not None and rules not in DIRAC.choices:
        raise UsageError(message=f"--rules {rules}: give documented or dirac")
    time = invocation.now(now)
    if dump is not None:
        _check(invocation, output, dump, rules or "dirac", time)
        return
    from fairq.steps.taskqueues import recalculate_shares

    report = recalculate_shares(
        invocation.state_path, invocation.settings, time, group=group, rules=rules, dry_run=dry_run or bool(rules)
    )
    for note in (*report.details, *report.notes):
        invocation.note(note)
    if dry_run:
        invocation.note("dry run: these priorities would be stored; nothing was changed")
    emit(views.shares_view(report), output)


@app.command(
    "match",
    examples="""
        fairq taskqueues match --site LCG.CERN.cern --cputime 100000
        fairq taskqueues match --site LCG.CERN.cern --cputime 100000 --processors 8 --count 20 --json
        fairq taskqueues match --site DIRAC.Test.org --cputime 5000 --dry-run --seed 7
    """,
)
def match(
    invocation: Invocation,
    output: Output,
    site: Site,
    cputime: CpuTime,
    grid_ce: GridCE = None,
    platform: Platform = None,
    job_type: JobType = None,
    tag: Tag = None,
    required_tag: RequiredTag = None,
    group: Group = None,
    owner: Owner = None,
    vo: VO = None,
    processors: Processors = None,
    whole_node: WholeNode = False,
    max_ram: MaxRAM = None,
    pilot: Reference = None,
    count: Annotated[
        float,
        typer.Option(
            "--count",
            metavar="N",
            parser=number("--count", 1, _LARGEST_COUNT, whole=True),
            help="So many pilots ask, all alike.",
        ),
    ] = 1,
    selection: Annotated[
        str | None,
        typer.Option("--selection", metavar="WAY", help="dirac, proportional or strict; else shares.selection."),
    ] = None,
    seed: Annotated[
        float | None,
        typer.Option(
            "--seed", metavar="N", parser=number("--seed", 0, whole=True), help="Draw the same every time."
        ),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Hand a waiting job to a pilot that asks for work.

    Of the queues that the pilot suits one is drawn by its priority, and of that queue a job: in DIRAC's way
    (dirac), which favours the heavy ones beyond their share, in proportion to the priorities (proportional), or
    the first (strict). The job then runs, on a slot pilot_JOB@SITE that is in the pool until the job ends (fairq
    finish, remove or hold), and that negotiation cycles give to nobody else. Its use is charged as any other.
    However many pilots ask at once, a job is handed out to one of them.

    Its use shows in fairq userprio after the next cycle or, from a minute on, the next match. Pilots of a site that is
    not among shares.usable_sites, if that is set, are given test jobs alone: JobType Test, or none.

    With --count so many pilots are served in one transaction, from the priorities at its beginning. Running
    limits and matching delays of the site hold for each of them in turn.

    JSON is one object: rules, selection, site, time, asked, queues (how many there are), matching (how many suit
    the pilot), limited (what the site has enough of), and matches in the order made, each with job, submitter,
    owner, group, taskqueue, priority (of the queue), userpriority, chance (with which that queue was the first;
    null with more than 10,000 queues) and slot. No match is no error: the exit code is 0.
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues_match import match as step

    time = invocation.now(now)
    matched = step(
        invocation.state_path,
        invocation.settings,
        pilot_of(**{name: value for name, value in locals().items() if name in PILOT}),
        invocation.actor(time),
        count=int(count),
        selection=_selection(selection),
        seed=None if seed is None else int(seed),
        dry_run=dry_run,
    )
    _tell(invocation, matched)
    if len(matched.matches) < matched.asked:
        invocation.note(views.shortage(matched))
    if dry_run:
        invocation.note("dry run: these jobs would be handed out; nothing was changed")
    emit(views.match_view(matched), output)


@app.command(
    "why",
    examples="""
        fairq taskqueues why 17 --site LCG.CERN.cern --cputime 50000      # a task queue
        fairq taskqueues why 7.0 --site LCG.CERN.cern --cputime 50000     # a job
    """,
)
def why(
    invocation: Invocation,
    output: Report,
    what: Annotated[str, typer.Argument(metavar="QUEUE|JOB", help="A task queue, as 17, or a job, as 7.0.")],
    site: Site,
    cputime: CpuTime,
    grid_ce: GridCE = None,
    platform: Platform = None,
    job_type: JobType = None,
    tag: Tag = None,
    required_tag: RequiredTag = None,
    group: Group = None,
    owner: Owner = None,
    vo: VO = None,
    processors: Processors = None,
    whole_node: WholeNode = False,
    max_ram: MaxRAM = None,
    now: Now = None,
) -> None:
    """Explain why a task queue, or a job, is not offered to a pilot.

    Every condition that fails is told with what the queue asks for and what the pilot offers, and the least
    change of either side that would make it hold. If none fails, the queue is offered: then its priority is told,
    and the chance with which it comes first among the queues that suit the pilot.
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues_why import why_not

    target = _target(what)
    asked = pilot_of(**{name: value for name, value in locals().items() if name in PILOT})
    found = why_not(invocation.state_path, invocation.settings, asked, target, invocation.now(now))
    _tell(invocation, found)
    emit(views.why_view(found), output)


@app.command(
    "import",
    examples="""
        fairq taskqueues import dump.json
        fairq taskqueues import queues.csv --dry-run
    """,
)
def import_(
    invocation: Invocation,
    output: Report,
    dump: Annotated[str, typer.Argument(metavar="DUMP", help="The dump, JSON or CSV; - is stdin.")],
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Take over the task queues of a DIRAC from a dump: its waiting jobs, groups, and reports of what ran.

    The jobs become jobs of fairq's queue, for pilots alone: a job keeps DIRAC's JobID as its cluster, the queues
    keep their numbers. What was imported before is replaced, except for jobs that run; fairq's own jobs stay. A job
    that ended here after the dump's time does not wait again.

    JSON is one object, of which all but task_queues may be left out, or just that array:

    time: seconds since 1970, of when the dump was made.

    groups: by name, with the options of DIRAC's registry: {"lhcb_user": {"JobShare": 1000, "Properties":
    "NormalUser, JobSharing", "AllowBackgroundTQs": true, "VO": "lhcb"}}. They stand in for [shares.groups] where
    the settings say nothing.

    task_queues: an array of objects with TQId, Owner, OwnerGroup, CPUTime, and what the queue asks for: Sites,
    BannedSites, GridCEs, Platforms, JobTypes, Tags (arrays, or texts with commas), MinRAM, MaxRAM; Priority, as
    stored; and Jobs (how many) with AveragePriority (of their real priorities; 1 if left out).

    jobs: an array of objects with JobId, TQId, and UserPriority or RealPriority; then Jobs and AveragePriority
    follow from it.

    history: average numbers of running jobs by group ("" for use by groups), time span in seconds, and group or
    user: {"": {"604800": {"lhcb_user": 500}}, "lhcb_user": {"604800": {"alice": 375}}}; "ERROR" in the place of
    the numbers is a report that failed. They are added to what fairq itself ran, for slices of exactly that
    TimeSpan.

    share_corrections: the block ShareCorrections; only fairq taskqueues shares --check reads it.

    CSV has a column for each member of a queue; lists are texts with commas. What fairq taskqueues list prints
    with --json or --csv is such a dump, too.
    """
    import socket

    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues_import import import_task_queues

    actor = invocation.actor(invocation.now(now))
    imported = import_task_queues(
        invocation.state_path, invocation.settings, dump, actor, host=socket.gethostname(), dry_run=dry_run
    )
    emit(views.import_view(imported, dry_run), output)


def _selection(text: str | None) -> Selection | None:
    if text is None:
        return None
    if text not in SELECTIONS:
        raise UsageError(message=f"--selection {text}: give {', '.join(SELECTIONS[:-1])} or {SELECTIONS[-1]}")
    return SELECTIONS[SELECTIONS.index(text)]


def _target(text: str) -> int | tuple[int, int]:
    found = re.fullmatch(r"(\d{1,18})(?:\.(\d{1,18}))?", text, re.ASCII)
    if found is None:
        raise InvalidJobIdError(value=text)
    number, proc = found.groups()
    return int(number) if proc is None else (int(number), int(proc))


def _check(invocation: Invocation, output: Output, dump: str, rules: str, time: int) -> None:
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues_check import check_dump

    report = check_dump(dump, invocation.settings, time, rules=rules)
    for note in report.notes:
        invocation.note(note)
    invocation.note(views.verdict(report))
    emit(views.check_view(report, every=output.format != "table"), output)
    if report.differences:
        raise typer.Exit(1)


def _tell(invocation: Invocation, told: Told) -> None:
    """Say what is worth knowing; what the correctors have to say, only to those who ask for more."""
    for note in told.notes:
        invocation.note(note)
    for detail in told.details:
        invocation.detail(detail)
