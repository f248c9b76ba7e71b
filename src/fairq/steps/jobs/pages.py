"""The whole queue in pages: the first ones are shown before the others are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import job_ads, jobs, launches
from fairq.state.connection import State, reading
from fairq.steps.jobs.name import job_name
from fairq.steps.jobs.overlay import Overlay
from fairq.steps.jobs.view import FEW, Queue, borrowed_in

if TYPE_CHECKING:
    from fairq.settings import Settings

_FIRST, _SECOND = 1024, 8192
"""Number of ranges in the pages that are read singly.

The first page is more than a screenful. While the second one is read, a program such as head has read its lines and
ended.
"""

_PAGE = 4096
"""Number of ranges whose ads are parsed at once, after the first pages."""


class QueuePages:
    """One consistent reading of all jobs, in the order of the queue.

    The state is open, and its writers wait, until all jobs are read: at `release`, or at the end of the rows.
    """

    def __init__(
        self,
        state: State,
        close: Callable[[], None],
        now: int,
        statuses: Collection[int] | None,
        borrowed: Collection[tuple[str, int, int]],
    ) -> None:
        """Read from *state* at *now* (seconds since 1970) the jobs in *statuses*, all for None; *close* closes it.

        *borrowed* are the running jobs above the quotas of their groups.
        """
        self._borrowed = borrowed
        self._state: State | None = state
        self._close = close
        self._now = now
        self._statuses = statuses
        self._last: JobRange | None = None
        self._rest: Iterator[Queue] = iter(())
        self._counts: Counter[int] = Counter()
        self._matched = 0
        self._by_range = False
        self._widest = jobs.widest(state, statuses)
        self._is_waiting = (statuses is None or JobStatus.RUNNING in statuses) and _has_waiting(state)

    def has_waits(self) -> bool:
        """Return whether any job waits before it is idle, or for an engine, or was withdrawn from it."""
        return self._is_waiting or (self._widest is not None and self._widest.waiting)

    def has_borrowed(self) -> bool:
        """Tell whether any running job is above the quota of its group."""
        return bool(self._borrowed) and (self._statuses is None or JobStatus.RUNNING in self._statuses)

    def widest(self) -> list[Ad]:
        """Return rows as wide as the widest one, if a query could determine the width."""
        if self._widest is None:
            return []
        cluster, proc, priority, submitter, _ = self._widest
        return [{"Jobs": job_name(cluster, max(0, proc - 1), proc), "Submitter": submitter, "JobPrio": priority}]

    def rows(self) -> Iterator[Ad]:
        """Yield the rows of all jobs, as `Queue.rows`."""
        self._by_range = True
        return (row for page in self._pages() for row in page.rows())

    def each(self) -> Iterator[Ad]:
        """Yield one row per job, as `Queue.each`."""
        return (row for page in self._pages() for row in page.each())

    def counts(self) -> dict[int, int]:
        """Return the number of jobs by status, in the pages so far."""
        return dict(self._counts)

    def matched(self) -> int:
        """Return the number of running jobs that are only matched, in the pages so far."""
        return self._matched

    def release(self) -> None:
        """Read the remaining jobs, and close the state."""
        if self._state is None:
            return
        ranges = jobs.first(self._state, None, self._statuses, self._last)
        overlay = self._overlay(ranges if len(ranges) <= FEW else None)
        overlay.load_for(ranges)
        texts = job_ads.texts(self._state, (job.ad_id for job in ranges))
        self._state = None
        self._close()
        self._rest = self._parsed(ranges, texts, overlay)

    def _pages(self) -> Iterator[Queue]:
        for page in self._read():
            for status, number in page.counts().items():
                self._counts[status] += number
            self._matched += page.matched()
            yield page

    def _read(self) -> Iterator[Queue]:
        for size in (_FIRST, _SECOND):
            if self._state is not None:
                ranges = jobs.first(self._state, size, self._statuses, self._last)
                shared = job_ads.ads(self._state, (job.ad_id for job in ranges))
                overlay = self._overlay(ranges)
                overlay.load_for(ranges)
                page = Queue(ranges, shared, overlay, self._now)
                self._last = ranges[-1] if ranges else self._last
                if len(ranges) < size:
                    self.release()
                yield page
        self.release()
        yield from self._rest

    def _overlay(self, only: list[JobRange] | None) -> Overlay:
        assert self._state is not None
        return Overlay(self._state, only, by_range=self._by_range, borrowed=self._borrowed)

    def _parsed(self, ranges: list[JobRange], texts: dict[int, str], overlay: Overlay) -> Iterator[Queue]:
        for start in range(0, len(ranges), _PAGE):
            part = ranges[start : start + _PAGE]
            shared = job_ads.parsed({job.ad_id: texts[job.ad_id] for job in part})
            yield Queue(part, shared, overlay, self._now)


@contextmanager
def queue_pages(
    path: Path, settings: Settings, now: int, statuses: Collection[int] | None = None
) -> Iterator[QueuePages]:
    """Open the queue of the state at *path*, see `QueuePages`."""
    with ExitStack() as stack:
        state = stack.enter_context(reading(path))
        yield QueuePages(state, stack.close, now, statuses, borrowed_in(state, settings, now, statuses))


def _has_waiting(state: State) -> bool:
    """Return whether an engine has accepted a job and not started it, or has not answered."""
    waiting = (launch for launch in launches.live(state) if launch.reason is not None)
    by_launch = (
        jobs.select(state, cluster=launch.cluster, proc=launch.proc, schedd=launch.schedd) for launch in waiting
    )
    return any(job.status == JobStatus.RUNNING for ranges in by_launch for job in ranges)
