"""Forming task queues from one job after the other, as DIRAC does (TaskQueueDB.insertJob): an oracle.

In DIRAC's own table jobs also leave queues, so that a queue that was full may have room again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Asked = TypeVar("Asked", bound=Hashable)
"""`Requirements`, or anything that is equal for equal ones, such as a number."""


@dataclass
class FormedQueue(Generic[Asked]):
    """A task queue; *part*: the number of queues with the same requirements that were formed before it."""

    number: int
    requirements: Asked
    part: int
    jobs: int = 0
    real_priorities: float = 0.0


class QueueFormer(Generic[Asked]):
    """Puts jobs into task queues, in the order in which they are given.

    A queue keeps its number if it is *known* by its requirements and part. *open_queues* has the queues that
    are not full by requirements and number.
    """

    def __init__(self, capacity: int, known: Mapping[tuple[Asked, int], int], next_number: int) -> None:
        self.capacity = capacity
        self.queues: list[FormedQueue[Asked]] = []
        self.open_queues: dict[Asked, dict[int, FormedQueue[Asked]]] = {}
        self.next_number = next_number
        self._known = known
        self._parts: dict[Asked, int] = {}

    def place(self, requirements: Asked, jobs: int, real_priority: float) -> Iterator[tuple[FormedQueue[Asked], int]]:
        """Put identical *jobs* into queues; yield each queue with its number of new jobs."""
        open_queues = self.open_queues.setdefault(requirements, {})
        while jobs:
            number = queue_with_room(
                {candidate.number: candidate.jobs for candidate in open_queues.values()}, self.capacity
            )
            queue = self._new_queue(requirements) if number is None else open_queues[number]
            added = min(jobs, self.capacity - queue.jobs)
            queue.jobs += added
            queue.real_priorities += real_priority * added
            jobs -= added
            if queue.jobs >= self.capacity:
                del open_queues[queue.number]
            yield queue, added

    def _new_queue(self, requirements: Asked) -> FormedQueue[Asked]:
        part = self._parts.get(requirements, 0)
        self._parts[requirements] = part + 1
        number = self._known.get((requirements, part))
        if number is None:
            number = self.next_number
            self.next_number += 1
        queue = FormedQueue(number, requirements, part)
        self.queues.append(queue)
        self.open_queues[requirements][number] = queue
        return queue


def queue_with_room(queues: Mapping[int, int], capacity: int) -> int | None:
    """Return the number of the queue that the next job joins, None if it needs a new one.

    *queues* are those with the job's requirements, with their numbers of jobs. The job joins the smallest queue that
    has jobs, unless that one is full; ties by number. An emptied queue is never filled again.
    """
    number = min(
        (candidate for candidate in queues if queues[candidate]),
        key=lambda candidate: (queues[candidate], candidate),
        default=None,
    )
    return None if number is None or queues[number] >= capacity else number
