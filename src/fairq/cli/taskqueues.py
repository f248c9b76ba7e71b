"""``fairq taskqueues``: DIRAC's scheme: task queues, shares, corrections, and pilots that pull work."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now
from fairq.cli.output import emit
from fairq.cli.taskqueues_demo import EXAMPLES, demo
from fairq.cli.taskqueues_limits import EXAMPLES as LIMITS
from fairq.cli.taskqueues_limits import limits
from fairq.cli.taskqueues_notes import in_words, tell
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
    Proxy,
    Reference,
    RequiredTag,
    Site,
    Tag,
    WholeNode,
    number,
    pilot_of,
)
from fairq.cli.taskqueues_why import EXAMPLES as WHY
from fairq.cli.taskqueues_why import why
from fairq.errors.base import UsageError
from fairq.settings.key import DIRAC

app = App(help="DIRAC's scheme: task queues, shares and their corrections, and pilots that pull work.", default="list")

Selection = Literal["dirac", "proportional", "strict"]
_LARGEST_COUNT = 1_000_000
SELECTIONS: tuple[Selection, ...] = ("dirac", "proportional", "strict")


@app.listing(
    "list",
    watch=True,
    examples="""
        fairq taskqueues                                     # the queues of the idle jobs
        fairq taskqueues list --constraint 'owner_group == "lhcb_user"'
        fairq taskqueues list --csv > queues.csv
    """,
)
def list_(context: Context, now: Now = None) -> None:
    """List the task queues, which hold idle jobs with equal requirements, and their current priorities.

    Jobs are in one queue if they agree in Owner, OwnerGroup, CPUTime (in steps), Sites, BannedSites, GridCEs,
    Platforms, JobTypes, Tags, MinRAM and MaxRAM. Names are case-sensitive. A queue has at most
    shares.max_jobs_in_task_queue jobs; further jobs form another queue. Owner and OwnerGroup are the job's
    accounting_group_user and accounting_group (<none> without one). The others are attributes of the job. Set them
    in a submit description as

    +Sites = "LCG.CERN.cern, LCG.RAL.uk"

    or with fairq submit --attribute: CPUTime (HS06 seconds, default shares.default_cpu_time), Site or Sites,
    BannedSites, Platform or Platforms, GridCE or GridCEs, JobType or JobTypes, Tag or Tags (texts with commas, or
    lists), MinRAM and MaxRAM (MB), and UserPriority. request_cpus = n, above 1, adds the tags nProcessors
    and MultiProcessor. +WholeNode = true adds the tag WholeNode, request_gpus adds GPU, and request_memory sets MinRAM.

    UserPriority is any number above 0; it weighs a job against the other jobs of its user. For a job without
    UserPriority, the job priority (fairq prio) counts, or shares.default_priority if the job priority is 0. A negative
    job priority is the smallest weight. Under the rules dirac, UserPriority is a whole number: 0 weighs 0.00001, and 10
    or more a million. RealPriority, which jobs of a dump may have, replaces the weight.

    A record has task_queue (its number), owner, owner_group, cpu_time, sites, banned_sites, grid_ces, platforms,
    job_types, tags, min_ram, max_ram, jobs, average_priority (of the jobs' weights), priority and rules.
    stored_priority and last_update_time are those of the last fairq taskqueues shares, or of the imported dump.
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues.priorities import list_queues

    invocation, output = context.obj, context.obj.output
    listed = list_queues(invocation.state_path, invocation.settings, invocation.now(now))
    tell(invocation, listed)
    emit(views.list_view(listed), output)


@app.listing(
    "shares",
    watch=True,
    examples="""
        fairq taskqueues shares                              # recalculate, store and explain
        fairq taskqueues shares --group lhcb_user --json
        fairq taskqueues shares --rules dirac --dry-run      # DIRAC's priorities
        fairq taskqueues shares --check dump.json            # verify a live DIRAC
    """,
)
def shares(
    context: Context,
    group: Annotated[str | None, Option("--group", metavar="GROUP", help="Show only this group.")] = None,
    rules: Annotated[
        str | None,
        Option("--rules", metavar="RULES", help="Preview with these rules: documented or dirac."),
    ] = None,
    dump: Annotated[
        str | None,
        Option("--check", metavar="DUMP", help="Verify the priorities stored in a dump."),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Recalculate and store the priorities of all task queues, and show how each was calculated.

    First, the JobShare of each group is corrected for recent usage. A group with job sharing then divides its share
    among all its queues. Any other group first divides it equally among its users with waiting jobs, and corrects
    those parts for recent usage. Queues get their part in proportion to the sum of their jobs' priorities. Under the
    rules dirac, the average counts instead of the sum. Queues that differ only in sites and memory then get the sum of
    their parts.

    The tables show groups, users, queues and corrections. A correction has, for each time slice, the use, the raw and
    the bounded correction, and the bound that applied (upper: the maximum, lower: 1/maximum). All commands calculate
    current priorities themselves; this one stores them for comparison.

    JSON has rules, groups, users and task_queues, each group and user with its corrections.

    --check reads a dump of DIRAC (see fairq taskqueues import) and calculates the priorities that its queues should
    have. It uses the rules dirac (or --rules), and groups, history and corrections of the dump and the settings. It
    shows the queues whose priorities differ, and exits with 1 if there are any. JSON has all queues, each with a
    verdict: same, differs, missing or emptied. --check does not read the state.
    """
    from fairq.cli import taskqueues_views as views

    invocation, output = context.obj, context.obj.output
    if rules is not None and rules not in DIRAC.choices:
        raise UsageError(message=f"--rules {rules}: give documented or dirac")
    time = invocation.now(now)
    if dump is not None:
        _check(invocation, dump, rules or "dirac", time)
        return
    from fairq.steps.taskqueues.priorities import recalculate_shares

    report = recalculate_shares(
        invocation.state_path, invocation.settings, time, group=group, rules=rules, dry_run=dry_run or bool(rules)
    )
    for note in (*report.details, *report.notes):
        invocation.note(in_words(note))
    if dry_run:
        invocation.note("dry run: these priorities would be stored; nothing was changed")
    emit(views.shares_view(report), output)


@app.listing(
    "match",
    examples="""
        fairq taskqueues match --site LCG.CERN.cern --cputime 100000
        fairq taskqueues match --site LCG.CERN.cern --cputime 100000 --processors 8 --count 20 --json
        fairq taskqueues match --site DIRAC.Test.org --cputime 5000 --dry-run --seed 7
    """,
)
def match(
    context: Context,
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
    proxy: Proxy = None,
    processors: Processors = None,
    whole_node: WholeNode = False,
    max_ram: MaxRAM = None,
    pilot: Reference = None,
    count: Annotated[
        float,
        Option(
            "--count",
            metavar="N",
            parser=number("--count", 1, _LARGEST_COUNT, whole=True),
            help="Number of identical pilots.",
        ),
    ] = 1,
    selection: Annotated[
        str | None,
        Option("--selection", metavar="WAY", help="dirac, proportional or strict [default: shares.selection]."),
    ] = None,
    seed: Annotated[
        float | None,
        Option("--seed", metavar="N", parser=number("--seed", 0, whole=True), help="Random seed."),
    ] = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Hand an idle job to a pilot that asks for work.

    fairq draws one of the task queues that match the pilot, weighted by priority, and then one of its jobs. With
    --selection proportional, the draw is proportional to priority. With dirac, it is DIRAC's draw, which favours high
    priorities beyond their share. With strict, the queue with the highest priority is taken. The job then runs on the
    slot pilot_JOB@SITE. That slot exists until the job ends (fairq finish, remove or hold), and negotiation cycles do
    not use it. A job goes to one pilot only, however many ask at once.

    fairq userprio shows the usage of the job after the next cycle, or after the next match at least a minute later. If
    shares.usable_sites is set, pilots of other sites get only jobs with JobType Test or none.

    --proxy USER@GROUP describes a pilot that is not generic. It takes only jobs of its own group and, unless the group
    has job sharing, only jobs of its own user.

    --count serves several pilots in one transaction, with the priorities at its start. Running limits and matching
    delays of the site apply to each pilot in turn.

    JSON is one object: rules, selection, site, time, asked, queues (their number), matching (the number that match the
    pilot), limited (values at their limit at the site), delayed (values whose matching delay lasts, with the seconds),
    and matches in the order made. A match has job, submitter, owner, group, task_queue, priority (of the queue),
    user_priority, chance (of that queue to be drawn first; null with more than 10,000 queues) and slot. No match is
    not an error: the exit code is 0.
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues.match import match as step

    invocation, output = context.obj, context.obj.output
    matched = step(
        invocation.state_path,
        invocation.settings,
        pilot_of(**{name: value for name, value in locals().items() if name in PILOT}),
        invocation.actor(invocation.now(now)),
        count=int(count),
        selection=_selection(selection),
        seed=None if seed is None else int(seed),
        dry_run=dry_run,
    )
    tell(invocation, matched)
    if len(matched.matches) < matched.pilots:
        invocation.note(views.shortage(matched))
    if dry_run and matched.matches:
        invocation.note("dry run: these jobs would be handed out; nothing was changed")
    emit(views.match_view(matched), output)


@app.report(
    "import",
    examples="""
        fairq taskqueues import dump.json
        fairq taskqueues import queues.csv --dry-run
        fairq taskqueues import dirac/                       # task_queues.csv, jobs.csv, history.csv, ...
    """,
)
def import_(
    context: Context,
    dump: Annotated[str, Argument(metavar="DUMP", help="JSON, CSV, directory or archive; - is stdin.")],
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Import the task queues of DIRAC from a dump: waiting jobs, groups, and reports of recent usage.

    A dump is one file, or a directory or archive with a file for each member. The first word of a file's name is its
    member: task_queues.csv, jobs.tsv, history.csv (columns Group, TimeSpan, Entity, Average), groups.json,
    share_corrections.json. docs/dirac.md has the queries.

    The jobs join fairq's queue, for pilots only. A job keeps DIRAC's JobID as its cluster, and queues keep their
    numbers. The import replaces the jobs of a former import that do not run; fairq's own jobs stay. A job that ended
    here after the time of the dump is not queued again. That is the member time (in a directory, time.json with the
    seconds since 1970), otherwise the time of the oldest file.

    A JSON dump is one object with the following members, of which only task_queues is required, or only the array
    task_queues:

    time: when the dump was made, in seconds since 1970.

    groups: by name, with the options of DIRAC's registry: {"lhcb_user": {"JobShare": 1000, "Properties":
    "NormalUser, JobSharing", "AllowBackgroundTQs": true, "VO": "lhcb"}}. [shares.groups] in the settings overrides
    them.

    task_queues: an array of objects with TQId, Owner, OwnerGroup, CPUTime, and the requirements: Sites, BannedSites,
    GridCEs, Platforms, JobTypes, Tags (arrays, or texts with commas), MinRAM, MaxRAM. Priority is the stored priority
    of the queue. Jobs is the number of its jobs, AveragePriority the average of their weights (default 1).

    jobs: an array of objects with JobId, TQId, and UserPriority or RealPriority. It overrides Jobs and
    AveragePriority.

    history: average numbers of running jobs by group ("" for usage by group), time span in seconds, and group or
    user: {"": {"604800": {"lhcb_user": 500}}, "lhcb_user": {"604800": {"alice": 375}}}. "ERROR" instead of the
    numbers marks a failed report. fairq adds them to its own records, for slices of exactly that TimeSpan.

    share_corrections: the block ShareCorrections, used by fairq taskqueues shares --check only.

    CSV has a column for each member of a queue; lists are texts with commas. The output of fairq taskqueues list
    with --json or --csv is a dump as well.
    """
    import socket

    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues.import_dump import import_task_queues

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now))
    imported = import_task_queues(
        invocation.state_path, invocation.settings, dump, actor, host=socket.gethostname(), dry_run=dry_run
    )
    for name in imported.unread:
        invocation.note(f"{name} is not read by an import")
    emit(views.import_view(imported, dry_run), output)


app.listing("limits", watch=True, examples=LIMITS)(limits)
app.report("why", examples=WHY)(why)
app.command("demo", examples=EXAMPLES)(demo)


def _selection(text: str | None) -> Selection | None:
    if text is not None and text not in SELECTIONS:
        raise UsageError(message=f"--selection {text}: give {', '.join(SELECTIONS[:-1])} or {SELECTIONS[-1]}")
    return None if text is None else SELECTIONS[SELECTIONS.index(text)]


def _check(invocation: Invocation, dump: str, rules: str, time: int) -> None:
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues.check import check_dump

    report = check_dump(dump, invocation.settings, time, rules=rules)
    for note in report.notes:
        invocation.note(in_words(note))
    invocation.note(views.verdict(report))
    emit(views.check_view(report, every=invocation.output.format != "table"), invocation.output)
    if report.differences:
        raise SystemExit(1)
