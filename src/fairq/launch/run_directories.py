"""The directories of runs, each with the name of its run, inside one directory of their launcher."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


class RunDirectories:
    """The part that launchers have in common; *directory* is the one of the launcher."""

    def __init__(self, directory: Path) -> None:
        """Keep the directories of runs inside *directory*."""
        self._directory = directory

    def runs(self) -> set[str]:
        """Return the runs that have a directory."""
        return names(self._directory)

    def forget(self, runs: Iterable[str]) -> None:
        """Delete the directories of runs."""
        delete(self._directory, runs)


def names(directory: Path) -> set[str]:
    """Return the names of the directories inside *directory*, hidden ones left out; none if it cannot be read."""
    try:
        entries = [entry.name for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return set()
    return {name for name in entries if not name.startswith(".")}


def delete(directory: Path, runs: Iterable[str]) -> None:
    """Delete the directories of *runs*; ignore those that cannot be deleted."""
    for run in runs:
        shutil.rmtree(directory / run, ignore_errors=True)
