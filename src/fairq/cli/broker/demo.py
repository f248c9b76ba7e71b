"""``fairq broker demo``: a small grid on a scratch state."""

from __future__ import annotations

from fairq.cli.command import App, Context
from fairq.cli.play import Keep, play

app = App()


@app.command(
    "demo",
    examples="""
        fairq broker demo                     # uses a scratch state only
        fairq broker demo --keep ~/grid-demo  # keep its files and state to look at afterwards
    """,
)
def demo(context: Context, keep: Keep = None) -> None:
    """Show a small grid on a scratch state.

    Each step shows the command line and the output of the real command: a grid of three sites, as CRIC and Rucio
    publish it, is imported and its tasks are brokered. Then storage goes down, tasks move, and a job is stuck.
    """
    from fairq.steps.broker.demo import DEMO

    play(context.obj, DEMO, keep)
