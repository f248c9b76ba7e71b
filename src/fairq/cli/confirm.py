"""Questions before a large or destructive change: only on a terminal, so that no script waits for an answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fairq.cli.invocation import Invocation

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
"""``yes: Yes = False``"""

MOST_UNASKED = 20
"""Maximum number of named jobs that a command changes without a question."""


def asks(yes: bool) -> bool:
    """Return whether the user can be asked: on a terminal, and without ``--yes``."""
    return not yes and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(invocation: Invocation, question: str) -> None:
    """Ask *question* (yes or no); raises typer.Abort unless the answer is yes."""
    sys.stdout.flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        raise typer.Abort
