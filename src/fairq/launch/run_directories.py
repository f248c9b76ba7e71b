"""The directories of runs, each with the name of its run, inside one directory of their launcher."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def names(directory: Path) -> set[str]:
    """Return the names of the directories inside *directory*; none if it cannot be read."""
    try:
        return {entry.name for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)}
    except OSError:
        return set()


def delete(directory: Path, runs: Iterable[str]) -> None:
    """Delete the directories of *runs*; ignore those that cannot be deleted."""
    for run in runs:
        shutil.rmtree(directory / run, ignore_errors=True)
