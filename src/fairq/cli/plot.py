"""``fairq plot``: usage, shares, priorities and the queue as a picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.figures import local
from fairq.cli.options import Now, parse_time, valued
from fairq.cli.output import Output, emit
from fairq.cli.output.terminal import is_plain
from fairq.common.quantities import shown_duration
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairq.steps.reports.series import Series, Share

app = App()

_WEEK = 7 * 86400
_TITLES = {
    "usage": ("Slot weight in use", "slot weight"),
    "priority": ("Effective priority, lower is better", "effective priority"),
    "queue": ("Idle jobs", "jobs"),
    "shares": ("Shares of use", "share"),
}
_OF_SIMULATION = {
    "usage": ("Slot weight in use", "slot weight"),
    "queue": ("Waiting jobs", "jobs"),
    "shares": ("Shares while there was demand", "share"),
    "wait": ("Mean wait", "wait"),
}
_COLUMNS_OF_FILE = 100


@app.report(
    examples="""
        fairq plot usage                                   # the last week, by submitter
        fairq plot shares --by group --since 2026-10-01    # who got what, and what was due
        fairq plot queue --by pool --since -30d            # idle and running jobs
        fairq plot usage --by group --since 2026-01-01 --out usage.svg
        fairq simulate trace.swf --policy fifo --policy current --json > result.json
        fairq plot wait --simulation result.json --out wait.png
    """,
)
def plot(
    context: Context,
    what: Annotated[str, Argument(metavar="WHAT", help="usage, shares, priority, queue or wait.")],
    by: Annotated[str | None, valued("--by", "submitter, group or pool [default: submitter].", "WHAT")] = None,
    since: Annotated[str | None, valued("--since", "Begin of the time [default: 7 days ago].", "TIME")] = None,
    until: Annotated[str | None, valued("--until", "End of the time [default: now].", "TIME")] = None,
    top: Annotated[int, valued("--top", "Show N lines, the rest as others.", "N", min=1)] = 6,
    out: Annotated[str | None, valued("--out", "Write a picture, .svg or .png, with Matplotlib.", "FILE")] = None,
    simulation: Annotated[
        str | None,
        valued("--simulation", "Draw the result of fairq simulate --json; - is stdin.", "FILE"),
    ] = None,
    ascii_: Annotated[bool, Option("--ascii", help="Use ASCII letters only.")] = False,
    now: Now = None,
) -> None:
    """Draw use, shares, priorities, the queue, or the result of a simulation.

    usage shows the slot weight in use. priority shows the effective priority; lower is better. queue shows idle jobs,
    with --by pool also running jobs. shares compares the use with the entitlement while there was demand.

    Each character is the mean over a step of time. A blank means 0; a dot means unknown, because no cycle ran. All
    lines have the same scale. The scale of priority is logarithmic, and says so, if one is more than 100 times another.

    With --simulation, usage and queue have a line for each policy; queue shows the jobs that wait. shares and wait show
    the users, or groups, with most work, each under each policy. shares compares what they got with their entitlement,
    both while they had waiting jobs. wait shows the mean wait of their jobs.

    The picture is made of block characters. --out writes an SVG or PNG file instead; that needs Matplotlib, which
    fairq's extra "plot" installs. JSON and CSV have the numbers.
    """
    from fairq.cli import plot_views as views
    from fairq.steps.reports.series import BY, WHAT, series, shares

    invocation, output = context.obj, context.obj.output
    plain = ascii_ or is_plain(sys.stdout)
    if out is not None:
        from fairq.cli import plot_file

        plot_file.check(out)
    if simulation is not None:
        if since is not None or until is not None:
            raise UsageError(message="--simulation draws the whole result; leave out --since and --until")
        _of_simulation(simulation, what, by, top, out, plain, output)
        return
    by = by or "submitter"
    if what == "wait":
        raise UsageError(message="plot wait draws a simulation; give its result with --simulation")
    if what not in WHAT:
        raise UsageError(message=f"plot: {what!r} is not known; give one of {', '.join(WHAT)}")
    choices = [choice for choice in BY if choice != "pool" or what in ("usage", "queue")]
    if by not in choices:
        raise UsageError(message=f"plot {what} --by: {by!r} is not known; give one of {', '.join(choices)}")
    time = invocation.now(now)
    begin = time - _WEEK if since is None else parse_time(since, "--since", time)
    end = time if until is None else parse_time(until, "--until", time)
    if begin >= end:
        raise UsageError(message="--since is not before --until; give an earlier time")
    title, unit = _TITLES[what]
    title = f"{title}, by {by}, {_day(begin)} to {_day(end)}"
    if what == "shares":
        result = shares(invocation.state_path, invocation.settings, by, begin, end, top)
        _draw_shares(result, title, out, plain, output)
        return
    columns = views.cells() if out is None and output.format == "table" else _COLUMNS_OF_FILE
    lines = series(invocation.state_path, invocation.settings, what, by, begin, end, columns=columns, top=top)
    if what == "queue" and by == "pool":
        title = f"Jobs of the pool, {_day(begin)} to {_day(end)}"
    _draw_series(lines, title, unit, out, plain, output, lines.wide_from if what == "priority" else None)


def _of_simulation(
    name: str, measured: str, by: str | None, top: int, out: str | None, plain: bool, output: Output
) -> None:
    from fairq.cli import plot_file
    from fairq.cli import plot_views as views
    from fairq.steps.reports.simulation_charts import BY, WHAT, Simulated

    over_time = measured in ("usage", "queue")
    if measured not in WHAT or (by is not None and (over_time or by not in BY)):
        choices = f"{', '.join(WHAT)}; shares and wait take --by {' or '.join(BY)}"
        raise UsageError(
            message=f"plot {measured}{f' --by {by}' if by else ''} is not known of a simulation; give {choices}"
        )
    simulated = Simulated(name)
    title, unit = _OF_SIMULATION[measured]
    if over_time:
        lines = simulated.series(measured)
        title = f"{title}, by policy, {_day(lines.since)} to {_day(lines.until)}"
        _draw_series(lines, title, unit, out, plain, output)
        return
    by = by or "submitter"
    title = f"{title}, by {'user' if by == 'submitter' else by} and policy"
    if measured == "shares":
        _draw_shares(simulated.shares(by, top), title, out, plain, output)
    elif out is not None:
        plot_file.write_waits(out, simulated.waits(by, top), title)
    else:
        emit(views.waits_view(simulated.waits(by, top), title, plain, output), output)


def _draw_series(
    series: Series, title: str, unit: str, out: str | None, plain: bool, output: Output, log_from: float | None = None
) -> None:
    from fairq.cli import plot_file
    from fairq.cli import plot_views as views

    if out is not None:
        plot_file.write_series(out, series, f"{title}, mean of {shown_duration(series.step)}", unit, log_from)
    else:
        emit(views.series_view(series, title, unit, plain, output, log_from), output)


def _draw_shares(shares: Sequence[Share], title: str, out: str | None, plain: bool, output: Output) -> None:
    from fairq.cli import plot_file
    from fairq.cli import plot_views as views

    if out is not None:
        plot_file.write_shares(out, shares, title)
    else:
        emit(views.shares_view(shares, title, plain, output), output)


def _day(time: int) -> str:
    return f"{local(time):%Y-%m-%d}"
