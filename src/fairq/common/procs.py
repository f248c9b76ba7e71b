"""Ranges of procs: the jobs of a cluster by their numbers, and their names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace


class Procs(NamedTuple):
    """Procs *first_proc* to *last_proc*, both included, of one cluster."""

    schedd: str
    cluster: int
    first_proc: int
    last_proc: int

    @property
    def name(self) -> str:
        """The name of the jobs, as every command writes it."""
        return job_name(self.cluster, self.first_proc, self.last_proc)


def job_name(cluster: int, first_proc: int, last_proc: int) -> str:
    """Return the name of one job, ``7.0``, or of a range, ``7.0-99``."""
    return f"{cluster}.{first_proc}" if first_proc == last_proc else f"{cluster}.{first_proc}-{last_proc}"


class ProcRange(Struct):
    """Procs *first_proc* to *last_proc*, both included, of one cluster."""

    cluster: int
    first_proc: int
    last_proc: int

    def __len__(self) -> int:
        return self.last_proc - self.first_proc + 1

    @property
    def numbers(self) -> range:
        """The numbers of the procs."""
        return range(self.first_proc, self.last_proc + 1)

    @property
    def name(self) -> str:
        """The name of the jobs, as every command writes it."""
        return job_name(self.cluster, self.first_proc, self.last_proc)

    def each(self) -> Iterator[Self]:
        """Yield each proc as a range of its own."""
        return (replace(self, first_proc=proc, last_proc=proc) for proc in self.numbers)

    def part(self, first: int, last: int) -> Self | None:
        """Return the part from proc *first* to *last*; None if it has none of these."""
        first, last = max(self.first_proc, first), min(self.last_proc, last)
        return replace(self, first_proc=first, last_proc=last) if first <= last else None

    def without(self, bounds: Sequence[tuple[int, int]]) -> Iterator[Self]:
        """Yield the parts outside of *bounds*, which are ascending and do not overlap."""
        start = self.first_proc
        for first, last in bounds[bisect_left(bounds, start, key=lambda pair: pair[1]) :]:
            if first > self.last_proc:
                break
            if start < first:
                yield replace(self, first_proc=start, last_proc=first - 1)
            start = last + 1
        if start <= self.last_proc:
            yield replace(self, first_proc=start)
