"""Find launchers by name: ``local`` and those of the entry point ``fairq.launchers``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.errors.launch import UnknownLauncherError

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher
    from fairq.launch.owned import Owners

NONE = "none"
"""The launcher name for a pool that starts no jobs."""

_GROUP = "fairq.launchers"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a launcher: *cgroup* (a directory, auto or none) and the bytes of output that it keeps per job."""

    cgroup: str = "auto"
    keep_output: int = 16 * 1024**2
    owners: Owners | None = None
    """Where the launcher ``local`` of a host's pool runs jobs as their owners; None: as this user."""


@cache
def _known() -> dict[str, Callable[[Path, Options], Launcher]]:
    from importlib.metadata import entry_points

    from fairq.launch.local import Local

    others = {point.name: point.load() for point in entry_points(group=_GROUP) if point.name != "local"}
    return {"local": Local, **others}


def check(name: str) -> str:
    """Return *name* if it names a launcher or is ``none``; raises UnknownLauncherError otherwise."""
    if name not in (NONE, "local") and name not in _known():
        raise UnknownLauncherError(name=name, known=", ".join([NONE, *sorted(_known())]))
    return name


def launcher(name: str, directory: Path, options: Options) -> Launcher:
    """Return the launcher *name*, which keeps its files in *directory*; raises UnknownLauncherError."""
    if name == "local" and options.owners is not None:
        from fairq.launch.owned import Owned

        return Owned(directory, options, options.owners)
    return _known()[check(name)](directory, options)
