"""The submitters that wait below their share, and the smallest job of each that did not start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import JobStatus
from fairq.state import job_ads, jobs
from fairq.state.connection import State, reading
from fairq.steps.launch.values import requests_of
from fairq.steps.reports.status import SubmitterStanding, standing

if TYPE_CHECKING:
    from fairq.settings import Settings

_HALF_A_SLOT = 0.5
"""A match of weight 1 brings whoever misses more than this nearer to its share."""


class Blocked(Struct, frozen=True):
    """A submitter below its share: entitled to *share* (0 to 1) of the pool, *entitled* slot weight, with *in_use*.

    *job* is the smallest of its *idle* jobs. It asks for *cpus* cores, *memory* MB and *gpus*; None where it does not
    say. *stopped* is why the last cycle gave no more.
    """

    submitter: str
    share: float
    entitled: float
    in_use: float
    idle: int
    job: str
    cpus: float | None
    memory: float | None
    gpus: float | None
    stopped: str | None


def blocked(path: Path, settings: Settings, now: int, wanted: Callable[[str], bool] = lambda _: True) -> list[Blocked]:
    """Return the *wanted* submitters that have idle jobs and nothing in use, or less than their share.

    One more slot would bring them nearer to it. Those who miss most come first.
    """
    found = standing(path, settings, now)
    with reading(path) as state:
        listed = [
            _blocked(state, one, now)
            for one in found.submitters
            if one.idle and wanted(one.submitter) and _is_below(one)
        ]
    return sorted(listed, key=lambda one: (one.in_use - one.entitled, one.submitter))


def _is_below(one: SubmitterStanding) -> bool:
    return not one.in_use or one.in_use + _HALF_A_SLOT < (one.entitled or 0.0)


def _blocked(state: State, one: SubmitterStanding, now: int) -> Blocked:
    idle = jobs.select(state, submitter=one.submitter, statuses=[JobStatus.IDLE])
    ads = job_ads.ads(state, {job.ad_id for job in idle})
    requests = {number: requests_of(ad, now) for number, ad in ads.items()}
    job = min(idle, key=lambda job: [amount or 0 for amount in requests[job.ad_id]])
    cpus, memory, gpus = requests[job.ad_id]
    return Blocked(
        one.submitter,
        one.share or 0.0,
        one.entitled or 0.0,
        one.in_use,
        one.idle,
        f"{job.cluster}.{job.first_proc}",
        cpus,
        memory,
        gpus,
        one.stopped,
    )
