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
from fairq.steps.reports.status import SubmitterStatus, pool_status

if TYPE_CHECKING:
    from fairq.settings import Settings

_HALF_A_SLOT = 0.5
"""A submitter that is further below its share gets nearer to it by a match of weight 1."""


class Blocked(Struct, frozen=True):
    """A submitter below its share: entitled to *share* (0 to 1) of the pool, *entitled* slot weight, with *in_use*.

    *job* is the smallest of its *idle* jobs. It requests *cpus* cores, *memory* MB and *gpus*; None where it does not
    say. *stopped* is why the last cycle matched no more of its jobs.
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


def blocked(
    path: Path, settings: Settings, now: int, is_wanted: Callable[[str], bool] = lambda _: True
) -> list[Blocked]:
    """Return the submitters that *is_wanted* accepts with idle jobs and nothing in use or less than their share.

    One more slot would bring them nearer to it. Those who miss most come first.
    """
    pool = pool_status(path, settings, now)
    with reading(path) as state:
        listed = [
            _blocked(state, submitter, now)
            for submitter in pool.submitters
            if submitter.idle and is_wanted(submitter.submitter) and _is_below(submitter)
        ]
    return sorted(listed, key=lambda submitter: (submitter.in_use - submitter.entitled, submitter.submitter))


def _is_below(submitter: SubmitterStatus) -> bool:
    return not submitter.in_use or submitter.in_use + _HALF_A_SLOT < (submitter.entitled or 0.0)


def _blocked(state: State, submitter: SubmitterStatus, now: int) -> Blocked:
    idle = jobs.select(state, submitter=submitter.submitter, statuses=[JobStatus.IDLE])
    ads = job_ads.ads(state, {job.ad_id for job in idle})
    requests = {number: requests_of(ad, now) for number, ad in ads.items()}
    job = min(idle, key=lambda job: [amount or 0 for amount in requests[job.ad_id]])
    cpus, memory, gpus = requests[job.ad_id]
    return Blocked(
        submitter.submitter,
        submitter.share or 0.0,
        submitter.entitled or 0.0,
        submitter.in_use,
        submitter.idle,
        f"{job.cluster}.{job.first_proc}",
        cpus,
        memory,
        gpus,
        submitter.stopped,
    )
