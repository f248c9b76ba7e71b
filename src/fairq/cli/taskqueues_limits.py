"""``fairq taskqueues limits``: the running limits and matching delays of the sites."""

from __future__ import annotations

from fairq.cli.command import Context
from fairq.cli.options import Now
from fairq.cli.output import Column, Table, View, emit
from fairq.common.quantities import shown_duration

EXAMPLES = """
    fairq taskqueues limits                              # what runs and what may run at each site
    fairq taskqueues limits --constraint reached         # only limits that are reached
    fairq taskqueues limits --watch
"""


def limits(context: Context, now: Now = None) -> None:
    """Show the running limits and matching delays of the sites (shares.RunningLimit and shares.MatchingDelay).

    For each site, computing element, attribute and value: the jobs of pilots that run, their limit, the delay between
    two starts, and the time that it still lasts. Limits and delays that the rules do not apply are left out.

    A record has site, ce (null: the whole site), attribute, value, running, limit, reached, delay, burst (starts
    without a delay) and delay_left, in seconds.
    """
    from fairq.steps.taskqueues.limits import site_limits

    invocation, output = context.obj, context.obj.output
    records = site_limits(invocation.state_path, invocation.settings, invocation.now(now))
    empty = "no site has a limit or a delay; see shares.RunningLimit and shares.MatchingDelay"
    emit(View(tables=[Table(_COLUMNS, records, empty=empty)]), output)


def _duration(seconds: float) -> str:
    return shown_duration(round(seconds))


_COLUMNS = [
    Column("Site", "site"),
    Column("CE", "ce", level=2),
    Column("Attribute", "attribute"),
    Column("Value", "value"),
    Column("Running", "running"),
    Column("Limit", "limit"),
    Column("Delay", "delay", _duration, "right", level=1),
    Column("Delay left", "delay_left", _duration, "right"),
]
