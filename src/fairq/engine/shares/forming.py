"""Which task queue a job joins (DIRAC TaskQueueDB.insertJob; reference dirac 1.1)."""

from __future__ import annotations

from collections.abc import Mapping

from fairq.engine.shares.model import Requirements

CAPACITY = 5000
"""A queue with so many jobs takes no more: a twin is made."""


class Former:
    """Puts jobs into task queues.

    A job joins the smallest queue of its requirements that holds jobs, unless that is full; an emptied queue is
    never filled again. Of equally small ones it is the one with the lowest number.
    """

    def __init__(self, queues: Mapping[int, tuple[Requirements, int]], capacity: int = CAPACITY) -> None:
        """*queues* are those there are, by number: what they ask for and how many jobs they hold."""
        self._capacity = capacity
        self._next = max(queues, default=0) + 1
        self._filled: dict[Requirements, dict[int, int]] = {}
        for number, (requirements, jobs) in queues.items():
            if jobs:
                self._filled.setdefault(requirements, {})[number] = jobs

    def join(self, requirements: Requirements, jobs: int = 1) -> list[tuple[int, int, bool]]:
        """Put so many alike *jobs*, one after the other, into queues.

        Returns, in order: the queue's number, how many of the jobs it takes, and whether it is new. (Where twins
        take turns, their turns are counted together.)
        """
        filled = self._filled.setdefault(requirements, {})
        found: dict[int, tuple[int, bool]] = {}
        while jobs:
            number = min(filled, key=lambda queue: (filled[queue], queue), default=None)
            new = number is None or filled[number] >= self._capacity
            if number is None or new:
                number, self._next = self._next, self._next + 1
                filled[number] = 0
            others = [count for queue, count in filled.items() if queue != number]
            # Until it is as full as the next smallest, or full if it is the only one or new.
            room = max(1, min([self._capacity, *others]) - filled[number]) if not new else self._capacity
            taken = min(jobs, room) if not new else 1
            filled[number] += taken
            before, was_new = found.get(number, (0, new))
            found[number] = before + taken, was_new
            jobs -= taken
        return [(number, taken, new) for number, (taken, new) in found.items()]

    def leave(self, requirements: Requirements, queue: int, jobs: int = 1) -> int:
        """Take *jobs* out of *queue* and return how many are left; an emptied one takes no more."""
        filled = self._filled[requirements]
        filled[queue] -= jobs
        left = filled[queue]
        if not left:
            del filled[queue]
        return left
