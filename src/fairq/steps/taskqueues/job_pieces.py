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
        """Return the table of *pieces*, which are in order."""
        none = np.empty(0, np.int64)
        return cls(none, TextColumn.of(()), none, none, none, np.empty(0), none).with_pieces(pieces)

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

    def with_pieces(self, pieces: Sequence[JobPiece]) -> JobPieces:
        """Return the table with more *pieces*, in order."""
        if not pieces:
            return self
        cluster, schedd, whole, first, last, real_priority, queue = zip(*pieces, strict=True)
        joined = JobPieces(
            np.concatenate((self.cluster, np.array(cluster, np.int64))),
            self.schedd.extended(schedd),
            np.concatenate((self.whole, np.array(whole, np.int64))),
            np.concatenate((self.first, np.array(first, np.int64))),
            np.concatenate((self.last, np.array(last, np.int64))),
            np.concatenate((self.real_priority, np.array(real_priority, float))),
            np.concatenate((self.queue, np.array(queue, np.int64))),
        )
        names = joined.schedd.names
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return joined.take(np.lexsort((joined.first, rank[joined.schedd.codes], joined.cluster)))

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
