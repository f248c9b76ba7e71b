"""``fairq --version``, for the start of the program and for commands."""

from __future__ import annotations

import sys

from fairq import __version__


def show_version() -> None:
    """Print the version."""
    sys.stdout.write(f"fairq {__version__}\n")
