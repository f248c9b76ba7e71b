"""The requests to a launcher and its answers, the same for every launcher.

A launcher either starts processes of this machine, or it hands runs to an *engine*, such as Slurm, that queues and
starts them itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from fairq.launch.supervisor import record

JsonObject = dict[str, Any]

AT_ONCE = record.AT_ONCE
"""The stop reason that kills a run at once, without grace."""


GPU_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)  # fmt: skip
"""The environment variables that show a job its GPUs, and no others."""


class Owners(Struct, frozen=True):
    """The *directory* of runs, which is root's, and the program *starter*; without it, nothing is started or ended."""

    directory: Path
    starter: str | None


class Options(Struct, frozen=True):
    """Options of a launcher.

    They are *cgroup* (a directory, auto or none), the bytes of output that it keeps per job, and the settings
    ``launch.NAME`` of its *engine*, by their names below it.
    """

    cgroup: str = "auto"
    keep_output: int = 16 * 1024**2
    engine: Mapping[str, Any] = field(default_factory=dict)
    owners: Owners | None = None
    """For the launcher ``local`` of a host's pool, which runs jobs as their owners; None: run jobs as this user."""


class Assignment(Struct, frozen=True):
    """A job to run, with everything that a launcher needs to know.

    *run* is the unique name of this run; a launcher starts it at most once. *program* holds the words of the command.
    *output* and *error* are absolute paths (None: the launcher keeps the text). *output_directory* is made before they
    are opened, and *output_files* of the job are moved there after its end. *append* lists the files that are not
    truncated. *log* is a file that must be writable before the program starts. *memory* is a limit in MB (None: no
    limit). *execute_seconds* and *job_seconds* limit the run's time. *grace* is the time in seconds between
    *kill_signal*, or that of the order in *signals* (``remove``, ``hold``), and SIGKILL. *limits* are resource limits
    by their names in `resource`. *cores* are the cores that the run may use (empty: all).

    For an engine: *job* is the id in fairq's queue and *submitter* the account there; *held_memory* (MB) and *gpus* are
    what the slot has for the run, and *place* has the attributes ``Engine...`` of the slot, as the engine wrote them.
    *transfer* has the attributes ``Transfer...`` of the job's ad.

    An interactive job gets a terminal instead of files; *terminal* is the address of the command that waits for it.
    The program starts at *start_time* (seconds since 1970; None: at once), at most *start_window* seconds later.
    """

    run: str
    program: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    input: str | None = None
    output: str | None = None
    error: str | None = None
    output_directory: str | None = None
    output_files: Sequence[str] = ()
    append: Sequence[str] = ()
    log: str | None = None
    cpus: int = 1
    memory: int | None = None
    execute_seconds: float | None = None
    job_seconds: float | None = None
    kill_signal: int = 15
    signals: Mapping[str, int] = field(default_factory=dict)
    grace: float = 30.0
    umask: int = 0o022
    limits: Mapping[str, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    job: str = ""
    submitter: str = ""
    held_memory: int | None = None
    gpus: int = 0
    place: Mapping[str, Any] = field(default_factory=dict)
    transfer: Mapping[str, Any] = field(default_factory=dict)
    start_time: float | None = None
    start_window: float = 0.0
    terminal: str | None = None


class Started(Struct, frozen=True):
    """A run began. Identifies its supervisor by process, start in ticks since boot, and boot id."""

    pid: int
    start: int
    boot: str
    cores: tuple[int, ...] = ()


class Queued(Struct, frozen=True):
    """An engine has accepted a run, as *engine_id*; it starts the run in its own time."""

    engine_id: str


Known = Started | Queued
"""The record of a run that has begun or that an engine has accepted."""


class Refused(Struct, frozen=True):
    """A run did not begin and left nothing behind; gives the reason in words."""

    reason: str


class Condition(Enum):
    """The condition of a run."""

    WAITING = "waiting"
    """The run has not begun; it may be started."""
    QUEUED = "queued"
    """The engine has the run and has not started it; `Look.detail` is its reason."""
    RUNNING = "running"
    ENDED = "ended"
    """The run has ended; `Look.end` describes its end."""
    LOST = "lost"
    """The run began and has no process left, but no end was recorded."""
    STRAY = "stray"
    """The run has no supervisor, and the launcher is still killing its processes."""
    UNKNOWN = "unknown"
    """The engine does not answer; `Look.detail` says why. Everything about the run stays as it is."""


class Look(Struct, frozen=True):
    """The condition of one run, returned by `Launcher.look`; `docs/running.md` describes *end*.

    *begun* is its process, or its id in the engine. An engine held resources for it from *since* to *until* (seconds
    since 1970, by the engine's clock): this time is charged. Without them, the charge begins at the match and ends when
    the process ended.
    """

    condition: Condition
    begun: Known | None = None
    end: JsonObject | None = None
    detail: str = ""
    since: float | None = None
    until: float | None = None


class Slots(Struct, frozen=True):
    """The *cores* of this machine that a launcher can use, by number; empty if it runs jobs elsewhere."""

    cores: tuple[int, ...]


class Node(Struct, frozen=True):
    """A machine of an engine, or a part of one, that becomes the slot *name*.

    It has *cpus*, *memory* in MB, *disk* in KB and *gpus* in total, used or not. *place* has the attributes
    ``Engine...`` that lead the engine to it, *attributes* are any others. It takes no jobs because of *problem*, in
    words; empty if it takes some.
    """

    name: str
    machine: str
    cpus: int
    memory: int
    disk: int
    gpus: int = 0
    partitionable: bool = True
    place: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


class Launcher(Protocol):
    """A way to run jobs. After a crash at any instant, a repeated call of any method gives the same result."""

    is_engine: bool
    """Whether an engine starts the runs; they are charged from their start, and their end must be asked for."""

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Start runs that have not begun, or hand them to the engine; return the result of each by its name.

        A run that is missing in the result may or may not have begun; call `look` to find out.
        """
        ...

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of these runs; the recorded start of each is used if the run's files are lost."""
        ...

    def stop(self, runs: Mapping[str, str]) -> None:
        """End these runs, each for a reason of one word; `look` reports when they have ended.

        A run that has not begun will never begin; `look` then reports it as LOST. The reason `AT_ONCE` also ends the
        grace of a run that is stopping.
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

    def nodes(self, partition: str | None = None) -> list[Node]:
        """Return the machines of the engine, or those of one *partition*; none for a launcher without an engine.

        Raises EngineError.
        """
        ...

    def close(self) -> None:
        """Release the resources of this process; the runs continue."""
        ...
