"""``fairq demo``: a worked example on a scratch state."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.play import Keep, play

app = App()


@app.command(
    examples="""
    fairq demo                     # uses a scratch state only
    fairq demo --keep ~/fairq-demo # keep its state to look at afterwards
"""
)
def demo(invocation: Invocation, keep: Keep = None) -> None:
    """Show a day of a small pool on a scratch state.

    Each step shows the command line and the output of the real command: two users with priority
    factors of one to two, a cycle, usage and priorities, their decay after a week, a changed factor, a deleted record.
    """
    from fairq.steps.demo import DEMO

    play(invocation, DEMO, keep)
