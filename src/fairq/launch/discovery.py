"""Find launchers by name: those of fairq, and those of the entry point ``fairq.launchers``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.errors.launch import UnknownLauncherError

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher, Options

NONE = "none"
"""The launcher name for a pool that starts no jobs."""

_GROUP = "fairq.launchers"


OWN = {
    "local": "fairq.launch.local:Local",
    "slurm": "fairq.launch.slurm.launcher:Slurm",
    "htcondor": "fairq.launch.htcondor.launcher:HTCondor",
}
"""The launchers of fairq itself, each loaded when it is needed."""


@cache
def _plugins() -> dict[str, Callable[[Path, Options], Launcher]]:
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=_GROUP) if point.name not in OWN}


def check(name: str) -> str:
    """Return *name* if it names a launcher or is ``none``; raises UnknownLauncherError otherwise."""
    if name != NONE and name not in OWN and name not in _plugins():
        raise UnknownLauncherError(name=name, known=", ".join([NONE, *sorted({*OWN, *_plugins()})]))
    return name


def launcher(name: str, directory: Path, options: Options) -> Launcher:
    """Return the launcher *name*, which keeps its files in *directory*; raises UnknownLauncherError."""
    if name == "local" and options.owners is not None:
        from fairq.launch.owner_runs import Owned

        return Owned(directory, options, options.owners)
    if check(name) in OWN:
        module, _, class_name = OWN[name].partition(":")
        instance: Launcher = getattr(import_module(module), class_name)(directory, options)
        return instance
    return _plugins()[name](directory, options)
