"""The launchers that a command uses, opened when first needed, and the launcher of each slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.common.records import Launch
from fairq.launch.discovery import NONE, OWN, check
from fairq.launch.interface import Options
from fairq.settings.keys import SINGLE
from fairq.state import slots
from fairq.state.connection import State
from fairq.state.location import resolve

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher, Owners
    from fairq.settings import Settings

ATTRIBUTE = "Launch"
"""The attribute of a slot's ad that names its launcher."""

_ENGINE_KEYS = [name for name in SINGLE if name.startswith("launch.") and name.count(".") > 1]
"""The settings of all launchers."""

_MB = 1024**2
LOCAL = "local"
_NAP, _ENGINE_NAP = 0.05, 0.5


def runs_directory(state: Path, launcher: str, settings: Settings | None = None) -> Path:
    """Return the directory that contains the directories of a state's runs under a *launcher*.

    It is beside the state file. With *settings*, it may be elsewhere, for an engine whose machines cannot read that.
    The launcher ``local`` of a host's pool keeps its orders there (see `kept_directory`).
    """
    if launcher == LOCAL:
        return Path(f"{resolve(state)}.runs")
    configured = None if settings is None else engine_settings(settings, launcher).get("directory")
    beside = Path(f"{resolve(state)}.{launcher}")
    return Path(configured) / beside.name if configured else beside


def engine_settings(settings: Settings, launcher: str) -> dict[str, Any]:
    """Return the settings ``launch.LAUNCHER``, by their names below it; empty for a launcher without settings."""
    prefix = f"launch.{launcher}."
    return {name.removeprefix(prefix): settings[name] for name in _ENGINE_KEYS if name.startswith(prefix)}


def runs_as_owner(settings: Settings) -> bool:
    """Return whether jobs run as their owners, so that this process may not touch the owners' files."""
    return bool(settings["launch.run_as"] == "owner")


def kept_directory(state: Path, launcher: str, settings: Settings) -> Path:
    """Return the directory that contains the directories of runs, with the output that is kept."""
    if launcher == LOCAL and runs_as_owner(settings):
        return Path(settings["launch.run_directory"])
    return runs_directory(state, launcher, settings)


class Launchers:
    """The launchers of one state under its settings; they are closed with `close`."""

    def __init__(self, state: Path, settings: Settings, *, starting: bool) -> None:
        """Use the launchers of a pool; only with *starting*, that of a host's pool calls its starter."""
        self._state = state
        self._settings = settings
        self._starting = starting
        self._open: dict[str, Launcher] = {}
        self.checked: set[str] = set()
        """The launchers of which `end_unknown` has already ended the runs unknown to the state."""
        self.blocked: set[str] = set()
        """The launchers that may start nothing, because they have such runs."""

    def __getitem__(self, name: str) -> Launcher:
        """Return the launcher *name*; raises UnknownLauncherError."""
        if name not in self._open:
            from fairq.launch.discovery import launcher

            output_limit = self._settings["launch.keep_output"] * _MB
            engine = engine_settings(self._settings, name)
            options = Options(self._settings["launch.cgroup"], output_limit, engine, self._owners())
            self._open[name] = launcher(name, runs_directory(self._state, name, self._settings), options)
        return self._open[name]

    def _owners(self) -> Owners | None:
        if not runs_as_owner(self._settings):
            return None
        from fairq.launch.interface import Owners

        starter = self._settings["launch.starter"] if self._starting else None
        return Owners(kept_directory(self._state, LOCAL, self._settings), starter)

    def in_use(self) -> list[str]:
        """Return the launchers that may have runs of this state: the pool's launcher and those with files."""
        with_files = {name for name in OWN if self._has_files(name)}
        return sorted({*with_files, self._settings["launch.kind"]} - {NONE})

    def _has_files(self, name: str) -> bool:
        directories = (runs_directory, kept_directory)
        return any(directory(self._state, name, self._settings).exists() for directory in directories)

    def engines(self, live: Iterable[Launch]) -> set[str]:
        """Return the launchers of these runs that have an engine."""
        return {name for name in {launch.launcher for launch in live} if self[name].is_engine}

    def nap(self, live: Iterable[Launch]) -> float:
        """Return the seconds between two looks at these runs while a command waits for their end."""
        return _ENGINE_NAP if self.engines(live) else _NAP

    def attend(self) -> str | None:
        """Call the root part of a host's pool, which starts and stops runs; return its error message or None."""
        from fairq.launch.owner_runs import Owned

        local = self[LOCAL]
        return local.attend() if isinstance(local, Owned) else None

    def close(self) -> None:
        """Close the open launchers; runs continue."""
        for launcher in self._open.values():
            launcher.close()
        self._open.clear()


@contextmanager
def opened(state: Path, settings: Settings, *, starting: bool = False) -> Iterator[Launchers]:
    """Provide launchers and close them at the end of the context.

    Only a turn is *starting*: runs started by a user's command would get the limits and the control group of that user.
    """
    launchers = Launchers(state, settings, starting=starting)
    try:
        yield launchers
    finally:
        launchers.close()


def of_slot(ad: Mapping[str, Any], settings: Settings) -> str:
    """Return the name of the launcher of a slot with this *ad*; raises UnknownLauncherError."""
    named_launcher = next((value for name, value in ad.items() if name.lower() == ATTRIBUTE.lower()), None)
    return check(named_launcher if isinstance(named_launcher, str) else settings["launch.kind"])


def is_launching(state: State, settings: Settings) -> bool:
    """Return whether this pool, or any of its slots, has a launcher."""
    return bool(settings["launch.kind"] != NONE or slots.has_launcher(state))
