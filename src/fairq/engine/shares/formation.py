"""Forming task queues from jobs (docs/dirac.md 1.3; DIRAC TaskQueueDB.insertJob).

A job joins the smallest queue with its requirements that has jobs, unless that one is full. Here jobs come and none
goes, so that all queues of equal requirements are full but the last one: jobs fill one queue after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.shares.columns import Floats, Integers


class FormedQueues(NamedTuple):
    """Task queues in the order in which they were formed.

    Attributes:
        asked: over the queues: the number of their requirements.
        part: over the queues: how many queues with the same requirements were formed before.
        jobs: over the queues: how many jobs they have.
        real_priorities: over the queues: the sum of their jobs' real priorities (`user_priority.in_sum`).
        row, start, size, queue: the places of the jobs: *size* jobs of a *row* from the one at *start* on are in the
            queue at the place *queue*.
    """

    asked: Integers
    part: Integers
    jobs: Integers
    real_priorities: Floats
    row: Integers
    start: Integers
    size: Integers
    queue: Integers


def form(asked: Integers, count: Integers, real_priority: Floats, capacity: int) -> FormedQueues:
    """Put jobs into task queues in their order.

    Args:
        asked: over the rows: the number of the requirements; equal for equal ones. -1: the jobs are in no queue.
        count: over the rows: how many identical jobs, at least 1.
        real_priority: over the rows: of each of these jobs.
        capacity: maximum number of jobs of a queue.
    """
    order = np.argsort(asked, kind="stable")
    order = order[np.count_nonzero(asked < 0) :]
    sorted_asked, sorted_count = asked[order], count[order]
    # How many jobs with the same requirements come before each row.
    before = np.cumsum(sorted_count) - sorted_count
    is_first = np.diff(sorted_asked, prepend=-1) != 0
    before -= before[is_first][np.cumsum(is_first) - 1]
    first_part = before // capacity
    parts = (before + sorted_count - 1) // capacity - first_part + 1
    place = np.repeat(np.arange(len(order)), parts)
    part = first_part[place] + np.arange(len(place)) - np.repeat(np.cumsum(parts) - parts, parts)
    start = np.maximum(part * capacity - before[place], 0)
    size = np.minimum((part + 1) * capacity - before[place], sorted_count[place]) - start
    row, asked_there = order[place], sorted_asked[place]

    begins = np.flatnonzero((np.diff(asked_there, prepend=-1) != 0) | (np.diff(part, prepend=-1) != 0))
    queue = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(place)))
    jobs = np.bincount(queue, size, len(begins)).astype(np.int64)
    with np.errstate(over="ignore"):
        # Adds in the order of the jobs, as one would by hand: the sums are the same to the last bit.
        sums = np.bincount(queue, real_priority[row] * size, len(begins)).astype(float)
    formed = np.lexsort((start[begins], row[begins]))
    rank = np.empty(len(formed), np.int64)
    rank[formed] = np.arange(len(formed))
    return FormedQueues(
        asked_there[begins][formed], part[begins][formed], jobs[formed], sums[formed], row, start, size, rank[queue]
    )


def number(formed: FormedQueues, known: tuple[Integers, Integers, Integers], next_number: int) -> Integers:
    """Return the numbers of *formed* queues: a queue keeps its number, and new ones get the next ones in order.

    *known* are the requirements, parts and numbers of earlier queues; of several numbers of one queue the last counts.
    """
    asked, part, numbers = (column[::-1] for column in known)
    parts = int(max(formed.part.max(initial=0), part.max(initial=0))) + 1
    keys = np.concatenate((asked * parts + part, formed.asked * parts + formed.part))
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    place = first[kinds[len(numbers) :]]
    is_new = place >= len(numbers)
    found = np.empty(len(place), np.int64)
    found[~is_new] = numbers[place[~is_new]]
    found[is_new] = next_number + np.arange(np.count_nonzero(is_new))
    return found
