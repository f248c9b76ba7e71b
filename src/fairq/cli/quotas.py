"""``fairq quotas``: the tree of accounting groups, previews of it, and its problems."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.config import tell_change
from fairq.cli.cycle_view import overrun_sentence
from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.options import DryRun, Now, Reason, valued
from fairq.cli.output import Output, View, emit
from fairq.cli.whatif import Ceiling, Factor, Floor, Limit, Set, With, Without, alteration_of
from fairq.common.quantities import rounded
from fairq.errors.base import InvalidNumberError, UsageError

if TYPE_CHECKING:
    from fairq.steps.quotas.tree import QuotaReport
    from fairq.steps.simulate.alteration import Alteration

app = App(help="Show, preview, check and change the quotas of accounting groups.", default="show")


def _size(text: str) -> float:
    from fairq.settings.values import BadValueError, read_real

    try:
        size = read_real(text)
    except BadValueError:
        size = -1.0
    if size < 0:
        raise InvalidNumberError(what="--slots", value=text, expected="give the weight of a pool, 0 or more")
    return size


@app.listing(
    "show",
    watch=True,
    examples="""
        fairq quotas                                # the groups: quotas, surplus, requests, and use
        fairq quotas --tree                         # the tree with bars, even in a pipe
        fairq quotas --slots 15                     # preview a smaller pool
        fairq quotas --slots +10x64c256g            # preview ten more machines
        fairq quotas --with next-year.toml          # preview another configuration
        fairq quotas --set groups.physics.quota=40  # preview a quota
        fairq quotas --af group quota in_use        # for scripts
    """,
)
def show(
    context: Context,
    tree: Annotated[bool, Option("--tree", help="Show the tree with bars, even in a pipe.")] = False,
    plain: Annotated[bool, Option("--plain", help="Show condor_userprio's table, even on a terminal.")] = False,
    slots: Annotated[
        str | None,
        valued("--slots", "Preview a pool of weight N, or more slots: +10x64c256g.", "N"),
    ] = None,
    other: With = None,
    sets: Set = None,
    factor: Factor = None,
    ceiling: Ceiling = None,
    floor: Floor = None,
    limit: Limit = None,
    without: Without = None,
    now: Now = None,
) -> None:
    """Show the accounting groups with their quotas; change nothing.

    The figures are those of the last cycle. If the groups or other settings of quotas have changed since then, the
    figures are those at the start of the next cycle.

    In a pipe, the output is the table of condor_userprio -quotas -allusers. A terminal shows the tree of groups. For
    each group it has the quota and the use, both with all subgroups, and the requests of its users. Borrowed is the use
    above the quotas of the group's and its subgroups' own users, by the jobs that started last. One bar shows the
    quota as a share of the pool, another the use of the quota (+: above it). A wide terminal also shows the configured
    quota, the quota of the group's own users, and their allocation, surplus included.

    --slots, --with, --set, --factor, --ceiling, --floor, --limit and --without compare the current tree with a
    preview for another pool, other settings or other values of submitters. They show the quotas, and what a first
    round would allocate to the queued jobs. --with uses only FILE: settings that FILE does not have are at their
    defaults. If FILE is an HTCondor configuration, the rules htcondor apply. A second table shows the use of each
    submitter in the long run, if all keep as many jobs as now. Without groups, it is the only table.

    JSON, CSV, TSV, --af and --constraint use one record per group: group, configured, quota (with all subgroups), own
    (for the group's own users), surplus_policy, requested, allocated, surplus (allocated above own), in_use (with all
    subgroups), own_in_use, borrowed and more; docs/json.md describes them all. In a preview, the names end in _now and
    _then. For HTCondor's attributes of a group, such as EffectiveQuota, use fairq userprio --allusers --json.
    """
    from fairq.cli import quotas_views as views
    from fairq.cli.blocks import draws_blocks
    from fairq.cli.output import terminal

    invocation, output = context.obj, context.obj.output
    if tree and plain:
        raise UsageError(message="--tree and --plain exclude each other; give only one")
    time = invocation.now(now)
    if slots is not None or other is not None or any((sets, factor, without, ceiling, floor, limit)):
        if tree or plain:
            raise UsageError(message="a preview has its own table; leave out --tree and --plain")
        added_slots = slots if slots is not None and slots.startswith("+") else None
        size = None if slots is None or added_slots is not None else _size(slots)
        _compare(
            invocation,
            output,
            size,
            alteration_of(other, sets, factor, added_slots, without, ceiling, floor, limit),
            time,
        )
        return
    from fairq.steps.quotas.tree import quota_report

    report = quota_report(invocation.state_path, invocation.settings, time)
    if not invocation.settings.groups:
        invocation.note("no groups are configured; see [groups] in fairq.toml(5)")
    elif report.last is None:
        invocation.note("no cycle has run with these groups yet; the figures are those at the start of the next cycle")
    _note_overruns(invocation, report.overruns)
    style = terminal.style(sys.stdout)
    if output.format != "table":
        emit(views.records_view(report, output.constraint), output)
    elif (tree or style is not None) and not plain:
        blocks = style is not None and draws_blocks(sys.stdout)
        if invocation.settings.groups:
            emit(views.tree_view(report, output.constraint, _title(report), blocks=blocks), output)
    else:
        emit(views.condor_view(report, output.constraint, header=output.header), output)


@app.listing(
    "check",
    examples="""
        fairq quotas check                          # the groups in use
        fairq quotas check next-year.toml           # a configuration, before you apply it
        fairq quotas check /etc/condor/condor_config.local
    """,
)
def check(
    context: Context,
    file: Annotated[
        str | None,
        Argument(metavar="[FILE]", help="Settings or HTCondor configuration to check; - is stdin."),
    ] = None,
    now: Now = None,
) -> None:
    """List problems in the group configuration and how to fix them.

    Quotas: subgroups whose quotas exceed that of their parent, static quotas above the pool, dynamic quotas above 1,
    quotas of groups that are not named, quotas that are rounded down or too small for any slot, and surplus that
    oversubscription gives away twice.

    Groups: groups without a parent, without a quota, or with two quotas, groups that are unused or named like a user,
    groups that jobs request but that do not exist, and settings that the flat model ignores.

    Nothing is changed. The pool and the users are those of the current state.

    The exit code is 0 if there are no problems and 1 otherwise. Errors in the settings themselves go to stderr, as in
    fairq config check; the exit code is then that of the last error.
    """
    from fairq.cli import quotas_views as views
    from fairq.cli.output.messages import tell_error
    from fairq.steps.quotas.check import check_quotas

    invocation, output = context.obj, context.obj.output
    checked = check_quotas(invocation.state_path, invocation.settings_files, file, invocation.now(now))
    emit(views.check_view(checked), output)
    for problem in checked.errors[:-1]:
        tell_error(problem)
    if checked.errors:
        raise checked.errors[-1]
    if checked.oddities:
        raise SystemExit(1)
    count = counted(checked.groups, "group")
    invocation.note(f"no problems in {count}" if checked.groups else "no groups are configured")


def _compare(invocation: Invocation, output: Output, size: float | None, alteration: Alteration, time: int) -> None:
    from fairq.cli import quotas_views as views
    from fairq.cli import whatif
    from fairq.steps.quotas.compare import compare
    from fairq.steps.simulate.whatif import what_if

    settings = invocation.settings
    then = alteration.settings(settings, invocation.settings_files)
    path = invocation.state_path
    comparison = compare(path, settings, then, time, size, lambda pool: alteration.of_pool(pool, time))
    comparison_of_use = what_if(
        path, settings, invocation.settings_files, alteration, time, size=size, cycle=size is None
    )
    if not comparison.size_then and size is None:
        invocation.note("the pool has no slots; --slots N gives it a size")
    _note_overruns(invocation, comparison.overruns)
    now_words = f"a pool of {rounded(comparison.size_now)}"
    then_words = ", ".join(filter(None, [f"a pool of {rounded(comparison.size_then)}", alteration.words]))
    groups = views.comparison_view(comparison, output.constraint, now_words, then_words)
    title = "Long-run use if all keep as many jobs as now"
    users = whatif.submitters_table(comparison_of_use, title=title, key=None, cycle=False)
    for line in whatif.summary(comparison_of_use) if comparison_of_use.submitters else ():
        invocation.note(line)
    if not comparison.groups:
        users.empty = "no jobs are queued and no groups are configured; see [groups] in fairq.toml(5)"
        emit(View(tables=[users]), output)
        return
    tables = [*groups.tables, users] if comparison_of_use.submitters else groups.tables
    emit(View(tables=tables, fields=groups.fields), output)


def _note_overruns(invocation: Invocation, overruns: Sequence[Mapping[str, Any]]) -> None:
    for exceeded in overruns:
        is_order = exceeded["name"] == "GROUP_SORT_EXPR"
        invocation.note(overrun_sentence(exceeded, "group" if is_order else "ad"))


def _title(report: QuotaReport) -> str:
    when = "before the next cycle" if report.last is None else f"cycle {report.last.cycle}"
    return f"Groups in a pool of {rounded(report.total)}, {when}"


@app.command(
    "set",
    examples="""
        fairq quotas set physics --quota 20 --reason 'new machines'
        fairq quotas set physics.hep --share 50% --accept-surplus
        fairq quotas set physics --members ann,bob,%hep    # who may submit to it
        fairq quotas set physics --members +eve,-bob       # also eve, and bob no more
        fairq quotas set physics --members ''              # everybody
    """,
)
def set_(
    context: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Accounting group; created if it does not exist.")],
    quota: Annotated[str | None, valued("--quota", "Static quota in slot weight [50%: a share].", "WEIGHT")] = None,
    share: Annotated[str | None, valued("--share", "Share of the parent's quota [0.25 or 25%].", "SHARE")] = None,
    surplus: Annotated[
        bool | None, Option("--accept-surplus/--no-surplus", help="Whether it uses what other groups leave.")
    ] = None,
    autoregroup: Annotated[
        bool | None, Option("--autoregroup/--no-autoregroup", help="Whether it also negotiates with <none>.")
    ] = None,
    factor: Annotated[str | None, valued("--factor", "Priority factor of its new submitters.", "FACTOR")] = None,
    members: Annotated[
        str | None,
        valued("--members", "Who may submit [%GROUP: a Unix group; +USER adds, -USER removes].", "USER,..."),
    ] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
) -> None:
    """Create an accounting group, or change its quota and other settings.

    The change goes to the settings file that fairq config set changes. It is in fairq state history, with its
    reason and the former values, and fairq undo takes it back. To preview it, use fairq quotas --set.
    """
    from fairq.steps.setting_edits import set_group

    if quota is not None and share is not None:
        raise UsageError(message="--quota and --share exclude each other; give only one")
    if quota is not None and quota.strip().endswith("%"):
        share, quota = quota, None
    values: dict[str, str | None] = {}
    if quota is not None:
        values |= {"quota": quota, "quota_dynamic": None}
    if share is not None:
        values |= {"quota_dynamic": share, "quota": None}
    switches = {"accept_surplus": surplus, "autoregroup": autoregroup}
    values |= {key: str(value).lower() for key, value in switches.items() if value is not None}
    values |= {key: value for key, value in (("prio_factor", factor), ("members", members)) if value is not None}
    if not values:
        raise UsageError(message="nothing to set; give --quota, --share, --members or another option")
    invocation = context.obj
    recorder = None if dry_run else invocation.recorder(reason)
    file, comments_kept = set_group(invocation.settings_files, name, values, recorder=recorder, dry_run=dry_run)
    tell_change(invocation, file, comments_kept, dry_run)


@app.command("remove", examples="fairq quotas remove physics.hep physics --reason 'moved to the grid'")
def remove(
    context: Context,
    names: Annotated[list[str], Argument(metavar="NAME...", help="Accounting group.")],
    reason: Reason = None,
    dry_run: DryRun = False,
) -> None:
    """Remove accounting groups with all their settings.

    Its submitters then have no group, or that of the parent. A group whose subgroups stay is not removed. The
    change is in fairq state history, and fairq undo takes it back.
    """
    from fairq.steps.setting_edits import remove_groups

    invocation = context.obj
    recorder = None if dry_run else invocation.recorder(reason)
    file, comments_kept = remove_groups(invocation.settings_files, names, recorder=recorder, dry_run=dry_run)
    tell_change(invocation, file, comments_kept, dry_run)
