"""Which task queue a job joins (docs/dirac.md 1.3; DIRAC TaskQueueDB.insertJob)."""

from __future__ import annotations

from collections.abc import Mapping


def queue_with_room(queues: Mapping[int, int], capacity: int) -> int | None:
    """Return the number of the queue that the next job joins, None if it needs a new one.

    *queues* are those with the job's requirements, and how many jobs each holds. The job joins the smallest that
    holds any, unless that one is full; an emptied queue is never filled again. Of equally small ones it is the one
    with the lowest number.
    """
    number = min((one for one in queues if queues[one]), key=lambda one: (queues[one], one), default=None)
    return None if number is None or queues[number] >= capacity else number
