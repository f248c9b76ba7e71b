"""Questions before a large or destructive change: only on a terminal, so that no script waits for an answer."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Option

from fairq.cli.invocation import Invocation
from fairq.cli.output import activity
from fairq.cli.output.messages import tell_error

Yes = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]
"""``yes: Yes = False``"""

MOST_UNASKED = 20
"""Maximum number of named jobs that a command changes without a question."""


def asks(yes: bool) -> bool:
    """Return whether the user can be asked: on a terminal, and without ``--yes``."""
    return not yes and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(invocation: Invocation, question: str) -> None:
    """Ask *question* (yes or no), and end the command unless the answer is yes."""
    activity.end()  # it would be drawn over the question
    sys.stdout.flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        tell_error("aborted")
        raise SystemExit(1)
