"""The queue for output: rows of identical jobs, or the complete ad of every job.

The whole queue is read in pages: the first ones are shown before the others are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.procs import job_name
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import job_ads, jobs, launches
from fairq.state.connection import State, reading
from fairq.steps.jobs.overlay import Overlay, start_date, was_withdrawn

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.jobs.selection import Selection


FEW = 10_000
"""Number of ranges up to which a query for the claims of each is faster than reading all claims."""


class Queue(Struct):
    """Selected jobs from one consistent reading of the state at *now* (seconds since 1970).

    *notes* list the attributes of the constraint that no job has. If some jobs were not read, *unread* has the counts
    of all jobs: by status, and how many are only matched.
    """

    ranges: list[JobRange]
    shared: dict[int, Ad]
    overlay: Overlay
    now: int
    notes: Sequence[str] = ()
    unread: tuple[dict[int, int], int] | None = None

    def counts(self) -> dict[int, int]:
        """Return the number of jobs by status."""
        if self.unread is not None:
            return dict(self.unread[0])
        result: dict[int, int] = {}
        for job in self.ranges:
            result[job.status] = result.get(job.status, 0) + len(job)
        return result

    def sort(self, attribute: str, *, descending: bool = False) -> bool:
        """Order the jobs by *attribute*, those without it last; return False if none has it, and keep the order.

        The attributes added by `rows` count as well. Identical jobs stay together, ordered by the value of the first
        one.
        """
        keyed = []
        lower_name = attribute.lower()
        spellings: dict[tuple[str, ...], str | None] = {}
        """The last spelling of the attribute among these names."""
        for job in self.ranges:
            ad = self._ad(job)
            ad |= self._shown(job, ad)
            names = tuple(ad)
            if names not in spellings:
                spellings[names] = next((name for name in reversed(names) if name.lower() == lower_name), None)
            name = spellings[names]
            keyed.append((None if name is None else ad[name], job))
        with_value = [pair for pair in keyed if pair[0] is not None]
        with_value.sort(key=lambda pair: _sort_key(pair[0]), reverse=descending)
        self.ranges = [job for _, job in with_value] + [job for value, job in keyed if value is None]
        return bool(with_value) or not keyed

    def matched(self) -> int:
        """Return the number of running jobs that are only matched: nothing known to fairq has started them."""
        if self.unread is not None:
            return self.unread[1]
        return sum(
            last - first + 1
            for job in self.ranges
            if job.status == JobStatus.RUNNING
            for first, last in self.overlay.stretches(job)
            if self.overlay.is_matched_only(job, first)
        )

    def rows(self) -> Iterator[Ad]:
        """Return one ad per range of identical jobs, with ``Jobs`` naming them and ``RunTime`` in seconds.

        ``Matched`` is true for jobs that are only matched.
        """
        return map(self._row, self._alike())

    def waiting(self) -> Iterator[tuple[JobRange, Ad]]:
        """Yield the ranges of idle jobs, each with its ad from `rows`."""
        for job in self.ranges:
            if job.status in (JobStatus.IDLE, JobStatus.WAITING):
                yield job, self._row(job)

    def _alike(self) -> Iterator[JobRange]:
        for job in self.ranges:
            if job.status != JobStatus.RUNNING:
                yield job
                continue
            for first, last in self.overlay.stretches(job):
                yield replace(job, first_proc=first, last_proc=last)

    def has_waits(self) -> bool:
        """Return whether any job waits before it is idle, or for an engine, or was withdrawn from it."""
        return any(job.status == JobStatus.WAITING or was_withdrawn(job) for job in self.ranges) or any(
            self.overlay.waits_for(job, proc) is not None
            for job in self.ranges
            if job.status == JobStatus.RUNNING
            for proc in job.numbers
        )

    def has_borrowed(self) -> bool:
        """Tell whether any running job is above the quota of its group."""
        return bool(self.overlay.borrowed) and any(job.status == JobStatus.RUNNING for job in self.ranges)

    def each(self) -> Iterator[Ad]:
        """Return one ad per job, with ``Jobs`` and ``RunTime`` as `rows`."""
        return (self._row(single) for job in self.ranges for single in job.each())

    def ads(self) -> Iterator[Ad]:
        """Return the whole ad of every job."""
        return (self._ad(single) for job in self.ranges for single in job.each())

    def _row(self, job: JobRange) -> Ad:
        ad = self._ad(job)
        return {**ad, **self._shown(job, ad), "Jobs": job.name}

    def _ad(self, job: JobRange) -> Ad:
        """Return the whole ad of the first job of a range."""
        return {**job.ad_of(self.shared[job.ad_id], job.first_proc), **self.overlay.attributes(job, job.first_proc)}

    def _shown(self, job: JobRange, ad: Ad) -> Ad:
        matched = job.status == JobStatus.RUNNING and self.overlay.is_matched_only(job, job.first_proc)
        start = None if matched else start_date(ad)
        return {
            "Submitter": job.submitter,
            "Matched": matched,
            "RunTime": 0 if start is None else max(0, self.now - start),
            "Command": command_of(ad),
        }


def command_of(ad: Ad) -> str:
    """Return the program of a job (without its directory) and its arguments."""
    words = " ".join(str(ad[name]) for name in ("Args", "Arguments") if ad.get(name))
    return f"{str(ad.get('Cmd', '')).rpartition('/')[2]} {words}".strip()


def _sort_key(value: Any) -> tuple[int, float, str]:
    """Return the sort key of a value: numbers, then texts in any case, then all else."""
    if isinstance(value, bool | int | float):
        return (0, value, "")
    return (1, 0, value.lower()) if isinstance(value, str) else (2, 0, str(value))


def borrowed_in(
    state: State, settings: Settings, now: int, statuses: Collection[int] | None
) -> Collection[tuple[str, int, int]]:
    """Return the running jobs above the quotas of their groups; none if *statuses* are not those of running jobs."""
    if not settings.groups or (statuses is not None and JobStatus.RUNNING not in statuses):
        return ()
    from fairq.steps.quotas.loans import borrowed_jobs  # most pools have no groups

    return borrowed_jobs(state, settings, now)


def look(path: Path, settings: Settings, selection: Selection, now: int) -> Queue:
    """Return the jobs of *selection*, ordered by cluster and proc.

    An unknown job or owner is not an error: the queue has no job of it, and a note says so.
    """
    from fairq.steps.jobs.selection import absence, find, jobs_of, matcher  # a plain listing does without

    with reading(path) as state:
        test = matcher(state, selection)
        by_target = list(find(state, selection, test, missing_is_error=False))
        selected = sorted(
            (job for _, ranges in by_target for job in ranges),
            key=lambda job: (job.schedd, job.cluster, job.first_proc),
        )
        borrowed = borrowed_in(state, settings, now, {job.status for job in selected})
        overlay = Overlay(state, selected if len(selected) <= FEW else None, borrowed=borrowed)
        overlay.load_for(selected)
        notes = [] if test is None else test.unknown.notes("job")
        empty_targets = [target for target, ranges in by_target if not ranges and selection.targets]
        notes += [absence(state, target) for target in empty_targets if not jobs_of(state, target)]
        return Queue(selected, jobs.ads(state, (job.ad_id for job in selected)), overlay, now, notes)


def look_first(path: Path, settings: Settings, limit: int, now: int, statuses: Collection[int] | None = None) -> Queue:
    """Return the whole queue as `look`, but with only its first *limit* ranges, enough for as many lines."""
    with reading(path) as state:
        ranges = jobs.first(state, limit, statuses)
        borrowed = borrowed_in(state, settings, now, {job.status for job in ranges})
        overlay = Overlay(state, ranges, borrowed=borrowed)
        overlay.load_for(ranges)
        counts = jobs.counts(state, statuses)
        matched = overlay.matched_only() if JobStatus.RUNNING in counts else 0
        shared = jobs.ads(state, (job.ad_id for job in ranges))
        return Queue(ranges, shared, overlay, now, unread=(counts, matched))


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
    waiting = (jobs.find(state, *launch.key) for launch in launches.live(state) if launch.reason is not None)
    return any(job is not None and job.status == JobStatus.RUNNING for job in waiting)
