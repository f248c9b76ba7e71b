"""What a launcher is told and what it answers; the same for every launcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from fairq.launch.supervisor import record

JsonObject = dict[str, Any]

AT_ONCE = record.AT_ONCE
"""The word by which a run is killed without a grace."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A job that is to run: everything about it that a launcher needs.

    *run* is the unique name of this run: it is started at most once under it. *program* are the words of the command,
    *output* and *error* absolute paths (None: the launcher keeps the text), *append* those of them that are not
    truncated, *log* a file that must be writable before the program starts. *memory* is a limit in MB (None: no
    limit), *execute_seconds* and *job_seconds* end the run, *grace* is the time in seconds between *kill_signal* and
    SIGKILL. *limits* are resource limits by the names of `resource`. *cores* are those that it may run on (none: all).
    """

    run: str
    program: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    input: str | None = None
    output: str | None = None
    error: str | None = None
    append: Sequence[str] = ()
    log: str | None = None
    cpus: int = 1
    memory: int | None = None
    execute_seconds: float | None = None
    job_seconds: float | None = None
    kill_signal: int = 15
    grace: float = 30.0
    umask: int = 0o022
    limits: Mapping[str, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """A run began: the identity of what watches over it (process, its start in ticks since boot, boot id)."""

    pid: int
    start: int
    boot: str
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A run did not begin, and nothing of it is there; the reason in words."""

    reason: str


class Condition(Enum):
    """How a run is found."""

    WAITING = "waiting"
    """It has not begun; it may be started."""
    RUNNING = "running"
    ENDED = "ended"
    """What is known of its end is in `Look.end`."""
    LOST = "lost"
    """It began and is gone, and nobody recorded how it ended; no process of it is left."""
    STRAY = "stray"
    """Nobody watches over it any more, and processes of it are still being ended."""


@dataclass(frozen=True, slots=True)
class Look:
    """What `Launcher.look` found of one run; *end* as `docs/running.md` describes it."""

    condition: Condition
    started: Started | None = None
    end: JsonObject | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Slots:
    """What a launcher can run on: the numbers of the *cores* of this machine, none if that is elsewhere."""

    cores: tuple[int, ...]


class Launcher(Protocol):
    """A way to run jobs. Every method may be repeated after a crash at any instant, with the same result."""

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Started | Refused]:
        """Start runs that have not begun; return what came of each by its name.

        A run that is missing in the answer may or may not have begun: `look` tells.
        """
        ...

    def look(self, runs: Mapping[str, Started | None]) -> dict[str, Look]:
        """Return how these runs are found; what is known of how they began helps where its traces are gone."""
        ...

    def stop(self, runs: Mapping[str, str]) -> None:
        """End these runs, each for the reason given in one word; `look` tells when they have ended.

        One that has not begun never will. The word `AT_ONCE` leaves no grace, also to a run that was given some before.
        """
        ...

    def runs(self) -> set[str]:
        """Return the names of all runs that anything is kept of."""
        ...

    def forget(self, runs: Iterable[str]) -> None:
        """Delete what is kept of runs that have ended."""
        ...

    def slots(self) -> Slots:
        """Return what this launcher can run on."""
        ...

    def close(self) -> None:
        """Give up what this process holds; the runs go on."""
        ...
