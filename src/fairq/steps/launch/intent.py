"""The intent to start: written in the transaction of the match, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.records import Ad, Launch, LaunchPhase
from fairq.launch.discovery import NONE
from fairq.state import jobs, launches
from fairq.state.connection import State
from fairq.steps.launch.assignment import files
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.gpus import gpus_of
from fairq.steps.launch.launchers import kept_directory, of_slot
from fairq.steps.launch.values import UnusableValueError

if TYPE_CHECKING:
    from fairq.settings import Settings


class Matched(Struct, frozen=True):
    """A job that a cycle matched with a slot; *displaced* are the preempted jobs (schedd, cluster, proc)."""

    schedd: str
    cluster: int
    proc: int
    slot: str
    slot_ad: Mapping[str, Any]
    displaced: Sequence[tuple[str, int, int]] = ()


def intend(state: State, settings: Settings, matched: Iterable[Matched], clock: Clock) -> None:
    """Record the intent to start the *matched* jobs whose slots have a launcher.

    A run waits until earlier runs of the same job, on the same slot and of displaced jobs have ended.
    """
    launched = [(match, name) for match in matched if (name := of_slot(match.slot_ad, settings)) != NONE]
    if not launched:
        return
    live = launches.live(state)
    new = []
    for match, name in launched:
        key = (match.schedd, match.cluster, match.proc)
        earlier = [run.name for run in live if run.slot == match.slot or run.key == key or run.key in match.displaced]
        run = f"{match.cluster}.{match.proc}-{os.urandom(5).hex()}"
        job = jobs.find(state, *key)
        assert job is not None
        ad = jobs.whole_ad(state, job)
        output, error = _outputs(ad, kept_directory(state.path, name, settings) / run, clock.now)
        new.append(
            Launch(
                0, run, name, *key, match.slot, LaunchPhase.INTENDED, clock.now, clock.boot, clock.boottime,
                {"runs": earlier} if earlier else {}, cores=_gpus(ad, match.slot_ad, clock.now),
                output=output, error=error,
            )
        )  # fmt: skip
    launches.add(state, new)


def _outputs(ad: Ad, directory: Path, now: int) -> tuple[str, str]:
    output = error = None
    with suppress(UnusableValueError):  # the job is held instead of started
        _, output, error = files(ad, now)
    return output or str(directory / "out"), error or str(directory / "err")


def _gpus(ad: Ad, slot: Mapping[str, Any], now: int) -> dict[str, Any]:
    with suppress(UnusableValueError):  # the job is held instead of started
        if names := gpus_of(ad, slot, now):
            return {"gpus": names}
    return {}
