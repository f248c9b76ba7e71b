"""``fairq quotas``: the tree of accounting groups, what it would become, and what is odd about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import Now
from fairq.cli.output import Output, emit
from fairq.errors.base import InvalidNumberError, UsageError

if TYPE_CHECKING:
    from fairq.steps.quotas.tree import QuotaReport

app = App(help="The accounting groups: their quotas, shares and use; check a configuration.", default="show")


def _size(text: str) -> float:
    from fairq.settings.values import BadValueError, read_real

    try:
        size = read_real(text)
    except BadValueError:
        size = -1.0
    if size < 0:
        raise InvalidNumberError(what="--slots", value=text, expected="give the size of a pool, in slot weight")
    return size


@app.command(
    "show",
    examples="""
        fairq quotas                                # the groups: quotas, surplus, requests, and use
        fairq quotas --tree                         # every group below its parent, with bars, in a pipe too
        fairq quotas --slots 15                     # half of the machines are down: who has what then?
        fairq quotas --with next-year.toml          # what another configuration would make of the pool
        fairq quotas --af Name SubtreeQuota HierWeightedResourcesUsed
    """,
)
def show(
    invocation: Invocation,
    output: Output,
    tree: Annotated[bool, typer.Option("--tree", help="Show the tree with bars in a pipe too.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Show condor_userprio's table on a terminal too.")] = False,
    slots: Annotated[
        float | None,
        typer.Option("--slots", metavar="N", parser=_size, help="Show what the tree becomes on N slot weight."),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option("--with", metavar="FILE", help="Show what FILE makes of it: settings or HTCondor configuration."),
    ] = None,
    now: Now = None,
) -> None:
    """Show the accounting groups with their quotas; nothing is changed.

    The figures are those of the last cycle. If the groups, or what else decides their quotas, were set up anew
    since then, they are what the next cycle begins with. In a pipe this is the table of condor_userprio -quotas
    -allusers. A terminal gets the tree: each group below its parent; its quota, that of all below it included;
    what its users ask for; what they and those below have in use; a bar of its quota as a share of the pool,
    and one of its use of the quota (+: beyond it). A wide terminal also gets what is configured, the quota of
    the group's own users, and what they were allocated, surplus included.

    --slots and --with show the tree of now beside what it would be on a pool of another size, or by another
    configuration, or both: the quotas, and what a first round would allocate for the jobs in the queue. FILE
    counts alone: what it does not say is as by default, under the rules htcondor if it is HTCondor's.

    JSON, CSV and the like have one record per group with HTCondor's attributes: Name, ConfigQuota,
    EffectiveQuota (the group's own), SubtreeQuota, SurplusPolicy, GroupSortKey, Requested,
    WeightedResourcesUsed, HierWeightedResourcesUsed and those of the accounting record. Beyond them:
    ParentGroup, StaticQuota, AcceptSurplus, Autoregroup, Allocated, SurplusAllocated and Submitters. With
    --slots or --with the names end in Now and Then.
    """
    from fairq.cli import quotas_views as views
    from fairq.cli.output import terminal
    from fairq.cli.quotas_bars import draws_blocks

    if tree and plain:
        raise UsageError(message="--tree and --plain exclude each other; give one of them")
    time = invocation.now(now)
    if slots is not None or other is not None:
        if tree or plain:
            raise UsageError(message="--slots and --with show a table of their own; leave --tree and --plain out")
        _compare(invocation, output, slots, other, time)
        return
    from fairq.steps.quotas.tree import quota_report

    report = quota_report(invocation.state_path, invocation.settings, time)
    if not invocation.settings.groups:
        invocation.note("no groups are configured; see [groups] in fairq.toml(5)")
    elif report.last is None:
        invocation.note("no cycle has run with these groups yet: the figures are what the next one begins with")
    style = terminal.style(sys.stdout)
    if output.format != "table":
        emit(views.records_view(report, output.constraint), output)
    elif (tree or style is not None) and not plain and invocation.settings.groups:
        width = None if style is None else style.width
        blocks = style is not None and draws_blocks(sys.stdout)
        emit(views.tree_view(report, output.constraint, _title(report), width=width, blocks=blocks), output)
    else:
        emit(views.condor_view(report, output.constraint, header=output.header), output)


@app.command(
    "check",
    examples="""
        fairq quotas check                          # the groups in force
        fairq quotas check next-year.toml           # another configuration, before it is put in force
        fairq quotas check /etc/condor/condor_config.local
    """,
)
def check(
    invocation: Invocation,
    output: Output,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="Settings or HTCondor configuration (- is stdin) to check instead."
        ),
    ] = None,
    now: Now = None,
) -> None:
    """Tell everything odd about the groups of a configuration, a line for each, with its cure.

    That is: quotas of children above the parent's, sums of static quotas above the pool and of dynamic ones
    above 1, quotas of groups that are not named, groups without a parent, without a quota or with two, groups
    that nobody uses or that are named like a user, groups that jobs ask for and that are not there, surplus
    that oversubscription gives away twice, quotas that are cut to whole numbers, and what the flat model leaves
    out. Nothing is changed. Sums are compared with the pool and groups with the users of the state at hand.

    The exit code is 0 if nothing is odd and 1 if something is. What is wrong with the settings themselves is
    told on stderr, as fairq config check does it; the exit code is then that of the last of these errors.
    """
    from fairq.cli import quotas_views as views
    from fairq.cli.output.messages import tell_error
    from fairq.steps.quotas.check import check_quotas

    checked = check_quotas(invocation.state_path, invocation.place, file, invocation.now(now))
    emit(views.check_view(checked), output)
    for problem in checked.errors[:-1]:
        tell_error(problem)
    if checked.errors:
        raise checked.errors[-1]
    if checked.oddities:
        raise typer.Exit(1)
    count = f"{checked.groups} group{'' if checked.groups == 1 else 's'}"
    invocation.note(f"nothing is odd about {count}" if checked.groups else "no groups are configured")


def _compare(invocation: Invocation, output: Output, slots: float | None, other: str | None, time: int) -> None:
    from fairq.cli import quotas_views as views
    from fairq.steps.quotas.compare import compare
    from fairq.steps.quotas.source import read_settings

    settings = invocation.settings
    then = settings if other is None else read_settings(other, invocation.environment)
    comparison = compare(invocation.state_path, settings, then, time, slots)
    if not comparison.size_then and slots is None:
        invocation.note("the pool has no slots; --slots N gives it a size")
    now_words = f"a pool of {comparison.size_now:g}"
    then_words = f"a pool of {comparison.size_then:g}" + (f", {other}" if other else "")
    emit(views.comparison_view(comparison, output.constraint, now_words, then_words), output)


def _title(report: QuotaReport) -> str:
    of = "before the next cycle" if report.last is None else f"cycle {report.last.cycle}"
    return f"Groups in a pool of {report.total:g}, {of}"
