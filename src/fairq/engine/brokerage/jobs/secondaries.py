"""What the jobs of a task read of its other datasets (docs/panda.md, Estimates; PanDA InputChunk.getSubChunk)."""

from __future__ import annotations

import math
import re
from itertools import accumulate

from fairq.engine.brokerage.jobs.tasks import Dataset, File

_PER_JOB = re.compile(r"np=(\d+)")
_RATIO = re.compile(r"ratio=(\d+(?:\.\d+)*)")


class Secondary:
    """A dataset beside the master, read from its first file on, job by job.

    How many files a job reads is in the dataset's attributes: all of them (``nosplit``), so many (``np=N``), or a
    number for each file of the master (``ratio=R``, otherwise 1). With ``ru``, its files are used again.

    Attributes:
        is_whole: every job reads all of it.
    """

    def __init__(self, dataset: Dataset, step: int = 1) -> None:
        """*step*: the master's files that a job takes at a time."""
        attributes = dataset.attributes
        self.is_whole = "nosplit" in attributes
        self._files = tuple(dataset.files)
        self._per_job = int(found[1]) if (found := _PER_JOB.search(attributes)) else None
        self._ratio = _number(found[1]) if (found := _RATIO.search(attributes)) else 1
        self._is_reusable = "ru" in attributes.split(",")
        self._step = step
        self._at = 0
        self._sizes = [0.0, *accumulate(file.fsize or 0.0 for file in self._files)]
        self._events = [0, *accumulate(map(_events, self._files))]

    def files(self, count: int) -> list[File]:
        """Return the files that the job under way reads with the first *count* files of its master."""
        return [file for start, end in self._runs(count) for file in self._files[start:end]]

    def size_with(self, count: int) -> float:
        """Return the bytes that the job would read if it took the last of *count* files as well.

        PanDA does not see that files are used again before it takes them.
        """
        return sum(self._sizes[end] - self._sizes[start] for start, end in self._runs(count, ahead=True))

    def events_with(self, count: int) -> int:
        """Return the same for events: those of ranges, otherwise those of whole files."""
        return sum(self._events[end] - self._events[start] for start, end in self._runs(count, ahead=True))

    def end_job(self, count: int) -> None:
        """The job under way has *count* files of its master; the next one begins."""
        if not self.is_whole:
            self._at = self._runs(count)[-1][1]

    def _runs(self, count: int, *, ahead: bool = False) -> list[tuple[int, int]]:
        total = len(self._files)
        if self.is_whole:
            return [(0, total)]
        if not self._is_reusable:
            return [(self._at, min(self._at + self._needed(count), total))]
        runs, at, taken = [], self._at, 0
        for done in range(self._step, count + self._step, self._step):
            wanted = self._needed(min(done, count)) - taken
            if at + wanted > total and not (ahead and done >= count):
                at = 0
            end = min(at + wanted, total)
            runs.append((at, end))
            taken += end - at
            at = end
            if self._per_job is not None:
                break
        return runs

    def _needed(self, count: int) -> int:
        return math.ceil(count * self._ratio) if self._per_job is None else self._per_job


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1


def _events(file: File) -> int:
    if file.start_event is not None and file.end_event is not None:
        return file.end_event - file.start_event + 1
    return file.events or 0
