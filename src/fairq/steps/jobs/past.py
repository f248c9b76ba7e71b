"""Jobs that have left the queue, for output: newest end first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from fairq.common.past import EndedJob
from fairq.common.records import Ad
from fairq.state import ended_jobs, jobs
from fairq.state.connection import reading
from fairq.state.ended_jobs import Wanted
from fairq.steps.jobs.selection import Target, jobs_of
from fairq.steps.jobs.view import command_of

_PAGE = 5000
"""Number of jobs read at once: a writer waits for readers, so each reading is short."""

__all__ = ["Past", "Wanted", "wanted_jobs"]


def wanted_jobs(query: Wanted, targets: Sequence[Target]) -> Wanted:
    """Return *query*, limited to the jobs that *targets* name: job, range of jobs, cluster, owner or submitter."""
    job_ids = tuple(
        (target.cluster, target.first_proc, target.last_proc, target.schedd)
        for target in targets
        if target.cluster is not None
    )
    owners = tuple(target.owner for target in targets if target.owner is not None)
    return replace(query, jobs=job_ids, people=owners)


def still_queued(path: Path, targets: Sequence[Target]) -> str | None:
    """Return a note that jobs of *targets* are still in the queue; None if none is."""
    with reading(path) as state:
        queued = [target.text for target in targets if jobs_of(state, target)]
    return f"not ended yet: 'fairq queue {' '.join(queued)}' shows what is in the queue" if queued else None


class Past:
    """The ended jobs of one state that match a *query*."""

    def __init__(self, path: Path, query: Wanted) -> None:
        """Store the arguments; each page is read separately."""
        self._path = path
        self._wanted = query

    def __len__(self) -> int:
        with reading(self._path) as state:
            return ended_jobs.count(state, self._wanted)

    def rows(self) -> Iterator[Ad]:
        """Return one ad per record, with ``Jobs`` naming its procs."""
        return (_row(ended, shared) for ended, shared in self._records())

    def each(self) -> Iterator[Ad]:
        """Return one ad per job, with ``Jobs`` as `rows`."""
        return (_row(single, shared) for ended, shared in self._records() for single in ended.each())

    def ads(self) -> Iterator[Ad]:
        """Return the whole ad of every job."""
        return (ended.ad_of(shared, proc) for ended, shared in self._records() for proc in ended.numbers)

    def _records(self) -> Iterator[tuple[EndedJob, Ad]]:
        last_seen: tuple[int, int] | None = None
        shared: dict[int, Ad] = {}
        while True:
            with reading(self._path) as state:
                page = ended_jobs.page(state, self._wanted, _PAGE, last_seen)
                ids = {ended.ad_id for _, ended in page}
                shared = {number: ad for number, ad in shared.items() if number in ids}
                shared |= jobs.ads(state, ids - shared.keys())
            for _, ended in page:
                yield ended, shared[ended.ad_id]
            if len(page) < _PAGE:
                return
            last_seen = page[-1][1].end_time, page[-1][0]


def _row(ended: EndedJob, shared: Ad) -> Ad:
    """Return an ad with values computed for display: seconds of waiting, efficiency from 0 to 1, reasons, command."""
    ad = ended.ad_of(shared, ended.first_proc)
    started = ended.end_time if ended.first_start is None else ended.first_start
    return {
        **ad,
        "WaitTime": max(0, started - ended.queue_date),
        "CpuEfficiency": ended.cpu_efficiency,
        "Memory": _memory(ended),
        "Exit": f"SIG {ended.signal}" if ended.signal is not None else ended.exit_code,
        "Reason": ended.reason or ended.hold_reason,
        "Command": command_of(ad),
        "Jobs": ended.name,
    }


def _memory(ended: EndedJob) -> str | None:
    if ended.memory is None:
        return None
    return str(ended.memory) if ended.request_memory is None else f"{ended.memory}/{ended.request_memory:.0f}"
