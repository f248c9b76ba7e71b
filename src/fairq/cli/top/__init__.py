"""``fairq top``: the queue on the whole screen."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from fairq.cli.command import App, Context
from fairq.cli.options import duration_option
from fairq.cli.terminal_guard import guarded_terminal
from fairq.errors.base import UsageError
from fairq.errors.report import TopPackageError

app = App()

_EVERY = 5

_RESET_SEQUENCES = "\x1b[?1000;1002;1003;1006;1015l\x1b[?2004l\x1b[?2048l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[?7h"
"""No mouse, no bracketed paste, no reports of size, keys as usual, the first screen, a cursor, no reports of focus, and
lines that wrap."""


@app.command(
    examples="""
        fairq top              # the queue; ? shows the keys
        fairq top --every 30   # look for changes every 30 seconds
        NO_COLOR=1 fairq top   # without colour
    """
)
def top(
    context: Context,
    every: Annotated[
        int | None,
        duration_option("--every", "Time between two looks at the pool [seconds or 1m; default: 5]."),
    ] = None,
) -> None:
    """Show the queue on the whole screen, and change its jobs.

    Arrows, PgUp, PgDn, Home and End move; s sorts by the next column, S turns the order round; / shows only rows with
    all words that you type. Space selects a job, * all that are shown, c none. On the selected jobs, else on that of
    the cursor: t follows the output, w explains why it waits, h holds, l releases and x removes them, after a question.
    r looks at once, ? shows the keys, q ends. Administrators see the slots with 2 and the groups with 3; 1 is the
    queue.

    The terminal is left as it was, however the command ends.

    The screen needs Textual: pip install 'fairq[top]'.
    """
    try:
        import textual  # noqa: F401
    except ModuleNotFoundError:
        raise TopPackageError from None
    invocation = context.obj
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError(message="fairq top needs a terminal; use fairq queue without one")
    path = invocation.existing_state
    from fairq.cli.output import activity
    from fairq.cli.top.screen import Screen

    activity.end()
    with guarded_terminal(_RESET_SEQUENCES):
        screen = Screen(invocation, path, max(1, _EVERY if every is None else every))
        screen.run()
    if screen.fault is not None:
        raise screen.fault
    if screen.ended_by:
        raise SystemExit(128 + screen.ended_by)
