"""The launchers that a command uses, opened when first needed, and the launcher of each slot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.launch.discovery import NONE, Options, check
from fairq.state import slots
from fairq.state.connection import State
from fairq.state.location import resolve

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher
    from fairq.settings import Settings

ATTRIBUTE = "Launch"
"""The attribute of a slot's ad that names its launcher."""

_MB = 1024**2


def runs_directory(state: Path) -> Path:
    """Return the directory that contains the directories of a state's runs, or the orders to them in a host's pool."""
    return Path(f"{resolve(state)}.runs")


def runs_as_owner(settings: Settings) -> bool:
    """Tell whether jobs run as their owners, so that this process may not touch the owners' files."""
    return bool(settings["launch.run_as"] == "owner")


def kept_directory(state: Path, settings: Settings) -> Path:
    """Return the directory that contains the directories of runs, with the output that is kept."""
    return Path(settings["launch.run_directory"]) if runs_as_owner(settings) else runs_directory(state)


class Launchers:
    """The launchers of one state under its settings; they are closed with `close`."""

    def __init__(self, state: Path, settings: Settings, *, starting: bool = True) -> None:
        """Use the launchers of a pool; without *starting*, those of a host's pool do not call its starter."""
        self._directory = runs_directory(state)
        self._kept = kept_directory(state, settings)
        owners = None
        if runs_as_owner(settings):
            from fairq.launch.owned import Owners

            owners = Owners(self._kept, settings["launch.starter"] if starting else None)
        self._options = Options(settings["launch.cgroup"], settings["launch.keep_output"] * _MB, owners)
        self._open: dict[str, Launcher] = {}
        self.are_checked = False
        """Whether `end_unknown` has already looked for runs unknown to the state."""

    def __getitem__(self, name: str) -> Launcher:
        """Return the launcher *name*; raises UnknownLauncherError."""
        if name not in self._open:
            from fairq.launch.discovery import launcher

            self._open[name] = launcher(name, self._directory, self._options)
        return self._open[name]

    def in_use(self, kind: str) -> list[str]:
        """Return the launchers that may have runs of this state: the pool's launcher *kind*, and the local one."""
        local = ["local"] if self._directory.exists() or self._kept.exists() else []
        return sorted({*local, kind} - {NONE})

    def attend(self) -> str | None:
        """Let the root part of a host's pool do what is decided; return what went wrong."""
        from fairq.launch.owned import Owned

        local = self["local"]
        return local.attend() if isinstance(local, Owned) else None

    def close(self) -> None:
        """Close the open launchers; runs continue."""
        for one in self._open.values():
            one.close()
        self._open.clear()


@contextmanager
def opened(state: Path, settings: Settings) -> Iterator[Launchers]:
    """Provide launchers and close them at the end of the context."""
    found = Launchers(state, settings)
    try:
        yield found
    finally:
        found.close()


def of_slot(ad: Mapping[str, Any], settings: Settings) -> str:
    """Return the name of the launcher of a slot with this *ad*; raises UnknownLauncherError."""
    own = next((value for name, value in ad.items() if name.lower() == ATTRIBUTE.lower()), None)
    return check(own if isinstance(own, str) else settings["launch.kind"])


def is_launching(state: State, settings: Settings) -> bool:
    """Tell whether this pool, or any of its slots, has a launcher."""
    return bool(settings["launch.kind"] != NONE or slots.has_launcher(state))
