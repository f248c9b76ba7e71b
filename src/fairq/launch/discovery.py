"""Which launchers there are: those of the entry point ``fairq.launchers``, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.errors.launch import UnknownLauncherError

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher

NONE = "none"
"""The name that means: nothing is started."""

_GROUP = "fairq.launchers"


@dataclass(frozen=True, slots=True)
class Options:
    """What a launcher may be told: *cgroup* (a directory, auto, none), and bytes of output that it keeps of a job."""

    cgroup: str = "auto"
    keep_output: int = 16 * 1024**2


@cache
def _known() -> dict[str, Callable[[Path, Options], Launcher]]:
    from importlib.metadata import entry_points

    from fairq.launch.local import Local

    others = {point.name: point.load() for point in entry_points(group=_GROUP) if point.name != "local"}
    return {"local": Local, **others}


def check(name: str) -> str:
    """Return *name* if it is that of a launcher, or none; raises UnknownLauncherError."""
    if name not in (NONE, "local") and name not in _known():
        raise UnknownLauncherError(name=name, known=", ".join([NONE, *sorted(_known())]))
    return name


def launcher(name: str, directory: Path, options: Options) -> Launcher:
    """Return the launcher *name*, which keeps its files in *directory*; raises UnknownLauncherError."""
    return _known()[check(name)](directory, options)
