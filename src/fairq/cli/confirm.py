"""Questions before a change that cannot be repeated: on a terminal only, so that no script ever waits for an answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fairq.cli.invocation import Invocation

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
"""``yes: Yes = False``"""

MOST_UNASKED = 20
"""Jobs that a command changes without a question, as long as they are named."""


def asks(yes: bool) -> bool:
    """Say whether the user can be asked: at a terminal, and without ``--yes``."""
    return not yes and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(invocation: Invocation, question: str) -> None:
    """Ask *question*, to be answered by yes or no; raises typer.Abort unless the answer is yes."""
    sys.stdout.flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        raise typer.Abort
