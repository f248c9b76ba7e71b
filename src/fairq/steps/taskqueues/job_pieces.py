"""The jobs of all task queues, by column."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Integers, Mask, TextColumn
from fairq.engine.shares.division import Floats
from fairq.state.kept_queues import JobKey


class JobPiece(NamedTuple):
    """Procs *first* to *last* of the range of jobs that begins with the proc *whole*, all in one queue.

    *queue* is the place of the queue; below 0, it is -1 minus the place of the reason why they are in none.
    *real_priority* is that of each job.
    """

    cluster: int
    schedd: str
    whole: int
    first: int
    last: int
    real_priority: float
    queue: int


class JobPieces(Struct, frozen=True):
    """Pieces in the order of cluster, schedd and proc; the columns are the fields of `JobPiece`."""

    cluster: Integers
    schedd: TextColumn
    whole: Integers
    first: Integers
    last: Integers
    real_priority: Floats
    queue: Integers

    @classmethod
    def of(cls, pieces: Sequence[JobPiece]) -> JobPieces:
        """Return the table of *pieces*, in their order."""
        cluster, schedd, *numbers, real_priority, queue = zip(*pieces, strict=True) if pieces else ((),) * 7
        whole, first, last = (np.array(column, np.int64) for column in numbers)
        places = np.array(cluster, np.int64), TextColumn.of(schedd), whole, first, last
        return cls(*places, np.array(real_priority, float), np.array(queue, np.int64))

    def __len__(self) -> int:
        return len(self.cluster)

    def tolist(self) -> list[JobPiece]:
        """Return every piece."""
        return list(map(JobPiece, *(getattr(self, name).tolist() for name in JobPiece._fields)))

    def take(self, places: Integers | Mask) -> JobPieces:
        """Return the pieces at *places*."""
        schedd = TextColumn(self.schedd.codes[places], self.schedd.names)
        whole, first, last = self.whole[places], self.first[places], self.last[places]
        return JobPieces(
            self.cluster[places], schedd, whole, first, last, self.real_priority[places], self.queue[places]
        )

    def joined(self, *others: JobPieces) -> JobPieces:
        """Return the pieces of this table and *others*, in order."""
        tables = [self, *(other for other in others if len(other))]
        if len(tables) == 1:
            return self
        schedd = self.schedd
        for table in tables[1:]:
            schedd = schedd.joined(table.schedd)
        joined = JobPieces(
            np.concatenate([table.cluster for table in tables]),
            schedd,
            np.concatenate([table.whole for table in tables]),
            np.concatenate([table.first for table in tables]),
            np.concatenate([table.last for table in tables]),
            np.concatenate([table.real_priority for table in tables]),
            np.concatenate([table.queue for table in tables]),
        )
        return joined.take(joined.order())

    def order(self) -> Integers:
        """Return the places of the pieces in the order of cluster, schedd and proc."""
        names = self.schedd.names
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        order: Integers = np.lexsort((self.first, rank[self.schedd.codes], self.cluster))
        return order

    def of_ranges(self, keys: Collection[JobKey]) -> Mask:
        """Return which pieces belong to the ranges *keys*."""
        found = np.zeros(len(self), bool)
        clusters = np.array(sorted({cluster for cluster, _, _ in keys}), np.int64)
        # The pieces are in the order of clusters: those of other ones need not be looked at.
        starts = np.searchsorted(self.cluster, clusters, "left").tolist()
        ends = np.searchsorted(self.cluster, clusters, "right").tolist()
        wanted = set(keys)
        for start, end in zip(starts, ends, strict=True):
            for place in range(start, end):
                code = self.schedd.codes[place]
                found[place] = (int(self.cluster[place]), self.schedd.names[code], int(self.whole[place])) in wanted
        return found

    def of_proc(self, cluster: int, proc: int) -> list[int]:
        """Return the places of the pieces with this proc, one for each schedd that has it."""
        places: list[int] = np.flatnonzero(
            (self.cluster == cluster) & (self.first <= proc) & (proc <= self.last)
        ).tolist()
        return places
