"""``fairq userprio``: show and change priorities and usage, with condor_userprio's options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace
from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes
from fairq.cli.options import DryRun, Now, Reason, duration_option, valued
from fairq.cli.output import View, emit
from fairq.cli.tools import USERPRIO
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.settings import Settings

_DAY = 86400

_Several = list[str] | None
_Date = tuple[int, int, int]

app = App()


def _view(name: str, text: str, *short: str) -> object:
    return Option(f"--{name}", *short, help=text)


def _edit(name: str, metavar: str, text: str) -> object:
    return Option(f"--{name}", metavar=metavar, help=text)


@app.listing(
    dialect=USERPRIO,
    watch=True,
    context_settings={"help_option_names": ["--help"]},
    examples="""
        fairq userprio                                  # users active in the last 24 hours
        fairq userprio -all -allusers                   # all columns, all users
        fairq userprio alice@example.org bob            # two submitters
        fairq userprio --tree                           # who is over and who is under its share
        fairq userprio -setfactor alice@example.org 10  # a tenth of the share of one with factor 1
        fairq userprio -setceiling alice@example.org 100 -duration 7d
        fairq userprio -setfactor alice 10 -setfactor bob 20 --reason "until the thesis is done"
        fairq userprio --prune 90d                      # delete users inactive for 90 days
        fairq userprio --target alice=50% --target bob=25%   # factors for these shares
        fairq userprio --allusers --json
    """,
)
def userprio(  # noqa: PLR0912 - one branch for each kind of view
    context: Context,
    names: Annotated[
        list[str] | None,
        Argument(metavar="NAME...", help="Submitters (user@domain or user) or groups."),
    ] = None,
    all_: Annotated[bool, _view("all", "Show all columns.")] = False,
    most: Annotated[bool, _view("most", "Show the most useful columns [default].")] = False,
    priority: Annotated[bool, _view("priority", "Show priorities and factors.")] = False,
    usage: Annotated[bool, _view("usage", "Show usage and when it began and ended.")] = False,
    quotas: Annotated[bool, _view("quotas", "Show the quotas of the groups.", "-q")] = False,
    surplus: Annotated[bool, _view("surplus", "Show which groups accept surplus.")] = False,
    sortkey: Annotated[bool, _view("sortkey", "Show the groups' sort keys.")] = False,
    order: Annotated[bool, _view("order", "Show the position of each group.")] = False,
    groupid: Annotated[bool, _view("groupid", "Show the number of each group.")] = False,
    hierarchical: Annotated[bool, _view("hierarchical", "Show users below their groups.", "-h")] = False,
    flat: Annotated[bool, _view("flat", "Show users and groups in one list.")] = False,
    grouporder: Annotated[bool, _view("grouporder", "Show the groups first, then the users.")] = False,
    grouprollup: Annotated[bool, _view("grouprollup", "Include subgroups in each group's usage.")] = False,
    tree: Annotated[bool, _view("tree", "Show groups and users: entitled, used, over or under.")] = False,
    allusers: Annotated[bool, _view("allusers", "Show inactive users as well.")] = False,
    activefrom: Annotated[
        _Date | None, _edit("activefrom", "MONTH DAY YEAR", "Show users active since that day.")
    ] = None,
    getreslist: Annotated[str | None, _edit("getreslist", "NAME", "Show the slots that NAME uses.")] = None,
    long: Annotated[bool, _view("long", "Show whole ads, attribute by attribute.")] = False,
    classic: Annotated[bool, _view("classic", "Use the table layout of HTCondor 6.8.")] = False,
    plain: Annotated[bool, _view("plain", "Use condor_userprio's layout on a terminal.")] = False,
    setprio: Annotated[_Several, _edit("setprio", "NAME VALUE", "Set the real priority.")] = None,
    setfactor: Annotated[_Several, _edit("setfactor", "NAME VALUE", "Set the priority factor [at least 1].")] = None,
    setfloor: Annotated[_Several, _edit("setfloor", "NAME N", "Set the floor in slot weight [0: none].")] = None,
    setceiling: Annotated[_Several, _edit("setceiling", "NAME N", "Set the ceiling in slot weight [-1: none].")] = None,
    duration: Annotated[str | None, _edit("duration", "TIME", "Limit factor, floor or ceiling to 7d, 12h, ...")] = None,
    cancelceilinglease: Annotated[_Several, _edit("cancelceilinglease", "NAME", "End a ceiling's lease now.")] = None,
    cancelfloorlease: Annotated[_Several, _edit("cancelfloorlease", "NAME", "End a floor's lease now.")] = None,
    cancelfactorlease: Annotated[_Several, _edit("cancelfactorlease", "NAME", "End a factor's lease now.")] = None,
    setaccum: Annotated[_Several, _edit("setaccum", "NAME SECONDS", "Set the weighted accumulated usage.")] = None,
    setbegin: Annotated[_Several, _edit("setbegin", "NAME TIME", "Set the time of the first use.")] = None,
    setlast: Annotated[_Several, _edit("setlast", "NAME TIME", "Set the time of the last use.")] = None,
    resetusage: Annotated[_Several, _edit("resetusage", "NAME", "Reset the accumulated usage of NAME.")] = None,
    resetall: Annotated[bool, _view("resetall", "Reset the accumulated usage of all users.")] = False,
    delete: Annotated[_Several, _edit("delete", "NAME", "Delete the record of NAME.")] = None,
    force: Annotated[bool, _view("force", "Delete even while its jobs hold slots.")] = False,
    prune: Annotated[
        int | None,
        duration_option("--prune", "Delete users inactive for AGE (e.g. 90d).", metavar="AGE"),
    ] = None,
    reason: Reason = None,
    yes: Yes = False,
    target: Annotated[
        list[str] | None,
        valued("--target", "Find factors for long-run shares; repeatable.", "NAME=SHARE"),
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Set the factors that --target finds.")] = False,
    scale_all: Annotated[bool, Option("--scale-all", help="Let --target raise all factors of the pie.")] = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Show and change priorities and usage.

    Without an edit option, the command shows the accounting records as of the last update and writes nothing. By
    default, it shows users active in the last 24 hours. As in condor_userprio, every option also works with one dash
    and abbreviated: here -q is --quotas and -h is --hierarchical.

    Below the table, stderr names each lease of a factor, ceiling or floor, and when it ends.

    Each edit changes one value; the history keeps the former value and the --reason. One call can have several edits:
    all are made, or, if one of them fails, none. Their order is: setprio, setfactor, setfloor, setceiling, the
    cancelling of leases, setaccum, setbegin, setlast, resetusage, delete, resetall, prune.

    A name is user@domain, group.user@domain or the name of a group. A user without domain and group, as bob, is found
    if only one submitter fits. Setting a value for an unknown full name creates a record. On a terminal the command
    asks before it does this, and before -delete, -resetall and -prune; --yes answers in advance.

    --tree shows each group with its users and subgroups below it. A group is entitled to its quota, a user to its
    share in the last cycle. OVER is what is in use above that; it is negative below it. A group over its quota uses
    what others leave.

    --target finds the factors that give submitters these shares of the contended slots in the long run. The slices of
    one cycle are inverse to the factors, but the real priorities follow the use. In steady state, the share is
    therefore inverse to the square root of the factor: a factor of 4 gives half the share, not a fourth. Other
    submitters with jobs or recent usage keep their factors. If groups are configured, the shares are those of the pie
    of the submitters' group. The table shows the shares before and after, and the result of a simulation of nine
    half-lives. --apply sets the factors in one transaction. A factor is at least 1: a share that needs a lower one is
    refused, unless --scale-all multiplies all factors of the pie.
    """
    from fairq.cli.userprio_edits import Edits, pairs, run_edits

    invocation, output = context.obj, context.obj.output
    time = invocation.now(now)
    edits = Edits(
        pairs=pairs(
            setprio=setprio, setfactor=setfactor, setfloor=setfloor, setceiling=setceiling, setaccum=setaccum,
            setbegin=setbegin, setlast=setlast,
        ),
        names={
            "cancelceilinglease": cancelceilinglease or (), "cancelfloorlease": cancelfloorlease or (),
            "cancelfactorlease": cancelfactorlease or (), "resetusage": resetusage or (), "delete": delete or (),
        },
        duration=duration,
        reset_all=resetall,
        force=force,
        prune=prune,
    )  # fmt: skip
    if invocation.watching and (edits.given or apply):
        raise UsageError(message="--watch repeats the command; leave it out with an edit")
    if edits.given:
        run_edits(invocation, output, edits, invocation.actor(time, reason), now, yes=yes, dry_run=dry_run)
        return
    if target:
        from fairq.cli.userprio_target import run_target

        run_target(invocation, output, target, now, apply=apply and not dry_run, scale_all=scale_all)
        return
    if apply or scale_all:
        raise UsageError(message="--apply and --scale-all need --target")
    edits.check_without_edit(dry_run=dry_run, reason=reason)
    from fairq.cli import userprio_views as views
    from fairq.steps.userprio.views import accounting_report, resources_of

    if tree or getreslist is not None:
        path = invocation.existing_state
        if getreslist is not None:
            view = views.resources_view(resources_of(path, getreslist), time, long=long)
        else:
            view = _tree(path, invocation.settings, time, names or ())
        emit(view, output)
        return
    columns = {
        "all": all_, "most": most, "priority": priority, "usage": usage, "quotas": quotas, "surplus": surplus,
        "sort_key": sortkey, "order": order, "group_id": groupid,
    }  # fmt: skip
    cutoff: int | None = time - _DAY
    if allusers or names:
        cutoff = None
    elif activefrom is not None:
        cutoff = views.midnight(*activefrom)
    options = views.options_of(
        [name for name, is_requested in columns.items() if is_requested],
        hierarchical=hierarchical,
        flat=flat,
        groups_first=grouporder,
        cutoff=cutoff,
    )
    report = accounting_report(
        invocation.existing_state, invocation.settings, time, everybody=allusers or bool(names), roll_up=grouprollup
    )
    ads = report.ads
    for name in views.missing(ads, names or ()):
        invocation.note(f"fairq: there is no accounting record of {name}")
    ads = views.selected(ads, names or (), output.constraint)
    if output.format != "table":
        emit(views.records_view(ads, cutoff), output)
    elif long:
        emit(views.long_view(views.active(ads, cutoff)), output)
    else:
        shown = {ad["Name"] for ad in ads}
        ads = [ad for ad in report.logged if ad["Name"] in shown]
        options = replace(options, without=report.without, zero_is_time=report.zero_is_time)
        emit(views.table_view(ads, options, header=output.header, plain=plain, classic=classic), output)
        absent = [] if names or output.constraint else views.absence(ads, cutoff)
        for note in (*absent, *views.leases(ads, time)):
            invocation.note(note)


def _tree(path: Path, settings: Settings, now: int, names: Sequence[str]) -> View:
    from fairq.cli.userprio_tree import tree_view
    from fairq.steps.userprio.tree import share_tree

    return tree_view(*share_tree(path, settings, now), names)
