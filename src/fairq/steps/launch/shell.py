"""An interactive job: the slots that can run it, and its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.records import Actor, JobRange
from fairq.errors.launch import NoShellError
from fairq.launch.discovery import NONE
from fairq.launch.supervisor.terminal import listen, take
from fairq.state import ended_jobs, jobs
from fairq.state.connection import reading
from fairq.state.ended_jobs import Wanted
from fairq.state.location import elsewhere_of
from fairq.steps.launch.collect import collect
from fairq.steps.launch.launchers import ATTRIBUTE, LOCAL, of_slot, opened
from fairq.steps.pool.dynamic_slots import load_slots

if TYPE_CHECKING:
    from fairq.settings import Settings

__all__ = ["ending_of", "listen", "local_slots", "shell_job", "take"]

_CURES = {
    NONE: "make slots of this machine: fairq slots detect --add --launch local",
    "slurm": "run 'srun --pty bash' for a shell in Slurm",
    "htcondor": "run 'condor_submit -interactive', or 'condor_ssh_to_job ID' for a job that runs",
}
"""The cures if no slot is one of this machine, by launcher."""


def local_slots(path: Path, settings: Settings) -> str | None:
    """Return the requirement that keeps an interactive job on slots of this machine; None: all of them are.

    Raises NoShellError if there is no slot of this machine.
    """
    with reading(path) as state:
        launchers = {of_slot(slot.ad, settings) for slot in load_slots(state)}
    if LOCAL not in launchers:
        named = sorted(launchers - {NONE}) or [NONE]
        raise NoShellError(cure="; ".join(_CURES.get(name, f"use the tools of {name}") for name in named))
    if launchers == {LOCAL}:
        return None
    own = f'TARGET.{ATTRIBUTE} =?= "{LOCAL}"'
    return f"({own} || TARGET.{ATTRIBUTE} =?= undefined)" if settings["launch.kind"] == LOCAL else own


def shell_job(
    path: Path, settings: Settings, cluster: int, actor: Actor, *, collecting: bool = False
) -> JobRange | None:
    """Return the job of *cluster* as it is in the queue; None if it has left the queue.

    With *collecting*, record the ends of runs before, unless the state may only be read.
    """
    if collecting and not elsewhere_of(path):
        with opened(path, settings) as launchers:
            collect(path, settings, launchers, actor)
    with reading(path) as state:
        matching = jobs.select(state, cluster=cluster, proc=0)
        return matching[0] if matching else None


def ending_of(path: Path, cluster: int) -> tuple[int, str]:
    """Return how the job of *cluster* left the queue: its exit code (128 + number for a signal), or a reason."""
    with reading(path) as state:
        ended_in_history = ended_jobs.page(state, Wanted(jobs=((cluster, 0, 0, None),)), 1)
    if not ended_in_history:
        return 0, "it was removed"
    ended = ended_in_history[0][1]
    if ended.signal is not None:
        return 128 + ended.signal, ""
    return (0, ended.reason or "it was removed") if ended.exit_code is None else (ended.exit_code, "")
