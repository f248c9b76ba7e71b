"""``fairq taskqueues why``: why a task queue or a job is not offered to a pilot, or at which sites it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import asdict
from typer import Argument, Option

from fairq.cli.command import Context
from fairq.cli.comparison import Compare
from fairq.cli.figures import counted
from fairq.cli.options import Now
from fairq.cli.output import Column, Table, View, emit
from fairq.cli.taskqueues_notes import tell
from fairq.cli.taskqueues_options import (
    PILOT,
    VO,
    GridCE,
    Group,
    JobType,
    MaxRAM,
    Owner,
    Platform,
    Processors,
    Proxy,
    RequiredTag,
    Tag,
    WholeNode,
    number,
    pilot_of,
    target_of,
)
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.taskqueues.why_sites import WhySites

EXAMPLES = """
    fairq taskqueues why 7.0                                          # a job, at all known sites
    fairq taskqueues why 17 --site LCG.CERN.cern --cputime 50000      # a task queue and one pilot
    fairq taskqueues why 7.0 --site LCG.CERN.cern --cputime 50000     # a job and one pilot
    fairq taskqueues why 17 --site LCG.CERN.cern --cputime 50000 --compare
"""

_CPU_TIME = number("--cputime", 0, whole=False)


def why(
    context: Context,
    what: Annotated[str, Argument(metavar="QUEUE|JOB", help="A task queue (17) or a job (7.0).")],
    site: Annotated[
        str | None, Option("--site", metavar="SITE", help="Site that the pilot runs at [default: all known sites].")
    ] = None,
    cputime: Annotated[
        float | None,
        Option(
            "--cputime",
            metavar="N",
            parser=_CPU_TIME,
            help="Remaining CPU time of the pilot, in HS06 seconds; needed with --site.",
        ),
    ] = None,
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
    compare: Compare = False,
    now: Now = None,
) -> None:
    """Explain why a task queue or a job is not offered to a pilot, or at which sites it is.

    For every condition that fails, the table shows what the queue requires, what the pilot offers, and the smallest
    change on either side. If none fails, the queue is offered: the output then shows its priority and its chance to
    be drawn first.

    Without --site, there is a line for each site that task queues, settings or pilots name, with what keeps the queue
    from it: its sites, sites that are not in use, running limits, and matching delays. What the other options do not
    say of the pilot is as the queue asks for.

    With --compare, the member compare of the JSON document has differs, differs_at (the first step at which the two
    sets of rules differ), steps (the result of each step under both sets), and points (the rule points that change the
    decision on their own).
    """
    from fairq.cli import taskqueues_views as views
    from fairq.steps.taskqueues.why import compared, why_not
    from fairq.steps.taskqueues.why_sites import why_sites

    invocation, output = context.obj, context.obj.output
    target, time = target_of(what), invocation.now(now)
    if site is None and compare:
        raise UsageError(message="--compare needs a pilot; give --site and --cputime")
    if site is not None and cputime is None:
        raise UsageError(message="--site needs --cputime, the remaining CPU time of the pilot")
    described = {name: value for name, value in locals().items() if name in PILOT}
    if site is None:
        described_pilot = pilot_of(**{**described, "site": "", "cputime": math.inf if cputime is None else cputime})
        site_verdicts = why_sites(invocation.state_path, invocation.settings, described_pilot, target, time)
        tell(invocation, site_verdicts)
        emit(_sites_view(site_verdicts), output)
        return
    described_pilot = pilot_of(**described)
    explanation = why_not(invocation.state_path, invocation.settings, described_pilot, target, time)
    tell(invocation, explanation)
    comparison = (
        compared(invocation.state_path, invocation.settings, described_pilot, target, time) if compare else None
    )
    emit(views.why_view(explanation, comparison), output)


def _sites_view(explanation: WhySites) -> View:
    records: list[dict[str, Any]] = [
        {
            "site": verdict.site,
            "offered": not verdict.failures,
            "failures": [asdict(failure) for failure in verdict.failures],
        }
        for verdict in explanation.sites
    ]
    document = {
        "rules": explanation.rules,
        "job": explanation.job,
        "task_queue": explanation.queue,
        "reason": explanation.reason or None,
    }
    table = Table(_COLUMNS, records, key="sites", empty="")
    return View(text=_sentence(explanation), tables=[table], document=document)


def _sentence(explanation: WhySites) -> str:
    if explanation.queue is None:
        return f"Job {explanation.job} is offered at no site: {explanation.reason}."
    job = (
        f"Job {explanation.job} of task queue {explanation.queue}"
        if explanation.job
        else f"Task queue {explanation.queue}"
    )
    if not explanation.sites:
        return f"No task queue, setting or pilot names a site; name one with --site (rules {explanation.rules})."
    offered = sum(not verdict.failures for verdict in explanation.sites)
    if offered == len(explanation.sites) == 1:
        return f"{job} is offered at the only known site (rules {explanation.rules})."
    return (
        f"{job} is offered at {offered} of {counted(len(explanation.sites), 'known site')} (rules {explanation.rules})."
    )


_WORDS = {
    "Site": "not one of its Sites",
    "BannedSites": "one of its BannedSites",
    "RunningLimit": "{wanted}: {offered}",
    "MatchingDelay": "{wanted}: {offered}",
}
"""What keeps a queue from a site, by condition."""


def _reasons(failures: list[dict[str, Any]]) -> str:
    words = "{condition}: needs {wanted}, has {offered}"
    return "; ".join(_WORDS.get(failure["condition"], words).format(**failure) for failure in failures)


_COLUMNS = [
    Column("Site", "site", narrow="keep"),
    Column("Offered", "offered", lambda offered: "yes" if offered else "no"),
    Column("Because of", "failures", _reasons),
]
