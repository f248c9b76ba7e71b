"""``fairq taskqueues demo``: the task queues of two groups on a scratch state."""

from __future__ import annotations

from fairq.cli.command import Context
from fairq.cli.play import Keep, play

EXAMPLES = """
    fairq taskqueues demo                      # uses a scratch state only
    fairq taskqueues demo --keep ~/dirac-demo  # keep its files and state to look at afterwards
"""


def demo(context: Context, keep: Keep = None) -> None:
    """Show the task queues of two groups on a scratch state.

    Each step shows the command line and the output of the real command: an import from the tables of a DIRAC, shares
    that are corrected for last week's usage, and pilots that get work, or do not.
    """
    from fairq.steps.taskqueues.demo import DEMO

    play(context.obj, DEMO, keep)
