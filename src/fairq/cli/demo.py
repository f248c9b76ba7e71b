"""``fairq demo``: a worked example on a scratch state."""

from __future__ import annotations

from fairq.cli.command import App, Context
from fairq.cli.play import Keep, play

app = App()


@app.command(
    examples="""
    fairq demo                     # use a scratch state only
    fairq demo --keep ~/fairq-demo # keep the state to look at it afterwards
"""
)
def demo(context: Context, keep: Keep = None) -> None:
    """Show a day of a small pool on a scratch state.

    Each step shows a real command and its output. Two users have priority factors of 1000 and 2000. The demo runs
    cycles, shows usage and priorities and their decay after a week, changes a factor, and deletes a record.
    """
    from fairq.steps.demo import DEMO

    play(context.obj, DEMO, keep)
