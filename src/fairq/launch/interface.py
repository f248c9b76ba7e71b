"""The requests to a launcher and its answers, the same for every launcher."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from fairq.launch.supervisor import record

JsonObject = dict[str, Any]

AT_ONCE = record.AT_ONCE
"""The stop reason that kills a run at once, without grace."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A job to run, with everything that a launcher needs to know.

    *run* is the unique name of this run; a launcher starts it at most once. *program* holds the words of the command.
    *output* and *error* are absolute paths (None: the launcher keeps the text). *append* lists the files that are not
    truncated. *log* is a file that must be writable before the program starts. *memory* is a limit in MB (None: no
    limit). *execute_seconds* and *job_seconds* limit the run's time. *grace* is the time in seconds between
    *kill_signal* and SIGKILL. *limits* are resource limits by their names in `resource`. *cores* are the cores that
    the run may use (empty: all).
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
    """A run began. Identifies its supervisor by process, start in ticks since boot, and boot id."""

    pid: int
    start: int
    boot: str
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A run did not begin and left nothing behind; gives the reason in words."""

    reason: str


class Condition(Enum):
    """The condition of a run."""

    WAITING = "waiting"
    """The run has not begun; it may be started."""
    RUNNING = "running"
    ENDED = "ended"
    """The run has ended; `Look.end` describes its end."""
    LOST = "lost"
    """The run began and has no process left, but no end was recorded."""
    STRAY = "stray"
    """The run has no supervisor, and the launcher is still killing its processes."""


@dataclass(frozen=True, slots=True)
class Look:
    """The result of `Launcher.look` for one run; `docs/running.md` describes *end*."""

    condition: Condition
    started: Started | None = None
    end: JsonObject | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Slots:
    """The *cores* of this machine that a launcher can use, by number; empty if it runs jobs elsewhere."""

    cores: tuple[int, ...]


class Launcher(Protocol):
    """A way to run jobs. After a crash at any instant, a repeated call of any method gives the same result."""

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Started | Refused]:
        """Start runs that have not begun; return the result of each by its name.

        A run that is missing in the result may or may not have begun; call `look` to find out.
        """
        ...

    def look(self, runs: Mapping[str, Started | None]) -> dict[str, Look]:
        """Return the condition of these runs; their known `Started` helps if the run's files are lost."""
        ...

    def stop(self, runs: Mapping[str, str]) -> None:
        """End these runs, each for a reason of one word; `look` reports when they have ended.

        A run that has not begun will never begin. The reason `AT_ONCE` also ends the grace of a run that is stopping.
        """
        ...

    def runs(self) -> set[str]:
        """Return the names of all runs for which the launcher keeps data."""
        ...

    def forget(self, runs: Iterable[str]) -> None:
        """Delete the data of runs that have ended."""
        ...

    def slots(self) -> Slots:
        """Return the cores that this launcher can use."""
        ...

    def close(self) -> None:
        """Release the resources of this process; the runs continue."""
        ...
