"""Forming task queues from jobs (docs/dirac.md 1.3; DIRAC TaskQueueDB.insertJob).

A job joins the smallest queue with its requirements that has jobs, unless that queue is full. Here jobs only arrive, so
among queues with equal requirements only the last one is not full: jobs fill one queue after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.shares.columns import Floats, Integers


class FormedQueues(NamedTuple):
    """Task queues in the order in which they were formed.

    Attributes:
        requirement: over the queues: the number of their requirements.
        part: over the queues: the number of earlier queues with the same requirements.
        jobs: over the queues: the number of their jobs.
        real_priorities: over the queues: the sum of their jobs' real priorities (`user_priority.in_sum`).
        row, start, size, queue: over runs of jobs: *size* jobs of a *row*, from the job at *start* on, are in the
            queue at the index *queue*.
    """

    requirement: Integers
    part: Integers
    jobs: Integers
    real_priorities: Floats
    row: Integers
    start: Integers
    size: Integers
    queue: Integers


def form(requirement: Integers, count: Integers, real_priority: Floats, capacity: int) -> FormedQueues:
    """Return the task queues that jobs form in the given order.

    Args:
        requirement: over the rows: the number of the requirements. -1: the jobs are in no queue.
        count: over the rows: the number of identical jobs, at least 1.
        real_priority: over the rows: the real priority of each of these jobs.
        capacity: maximum number of jobs of a queue.
    """
    order = np.argsort(requirement, kind="stable")
    order = order[np.count_nonzero(requirement < 0) :]
    sorted_requirement, sorted_count = requirement[order], count[order]
    # The number of jobs with the same requirements before each row.
    jobs_before = np.cumsum(sorted_count) - sorted_count
    is_first = np.diff(sorted_requirement, prepend=-1) != 0
    jobs_before -= jobs_before[is_first][np.cumsum(is_first) - 1]
    first_part = jobs_before // capacity
    part_counts = (jobs_before + sorted_count - 1) // capacity - first_part + 1
    sorted_row = np.repeat(np.arange(len(order)), part_counts)
    part = (
        first_part[sorted_row]
        + np.arange(len(sorted_row))
        - np.repeat(np.cumsum(part_counts) - part_counts, part_counts)
    )
    start = np.maximum(part * capacity - jobs_before[sorted_row], 0)
    size = np.minimum((part + 1) * capacity - jobs_before[sorted_row], sorted_count[sorted_row]) - start
    row, requirement_of_run = order[sorted_row], sorted_requirement[sorted_row]

    queue_starts = np.flatnonzero((np.diff(requirement_of_run, prepend=-1) != 0) | (np.diff(part, prepend=-1) != 0))
    queue = np.repeat(np.arange(len(queue_starts)), np.diff(queue_starts, append=len(sorted_row)))
    jobs = np.bincount(queue, size, len(queue_starts)).astype(np.int64)
    with np.errstate(over="ignore"):
        # bincount adds in the order of the jobs, so the sums equal those of a loop to the last bit.
        sums = np.bincount(queue, real_priority[row] * size, len(queue_starts)).astype(float)
    formed = np.lexsort((start[queue_starts], row[queue_starts]))
    rank = np.empty(len(formed), np.int64)
    rank[formed] = np.arange(len(formed))
    return FormedQueues(
        requirement_of_run[queue_starts][formed],
        part[queue_starts][formed],
        jobs[formed],
        sums[formed],
        row,
        start,
        size,
        rank[queue],
    )


def number(formed: FormedQueues, known: tuple[Integers, Integers, Integers], next_number: int) -> Integers:
    """Return the numbers of *formed* queues: known queues keep their number, and new ones get the next ones in order.

    *known* are the requirements, parts and numbers of earlier queues; if a queue has several numbers, the last counts.
    """
    requirement, part, numbers = (column[::-1] for column in known)
    parts = int(max(formed.part.max(initial=0), part.max(initial=0))) + 1
    keys = np.concatenate((requirement * parts + part, formed.requirement * parts + formed.part))
    _, first_rows, group_of_row = np.unique(keys, return_index=True, return_inverse=True)
    known_row = first_rows[group_of_row[len(numbers) :]]
    is_new = known_row >= len(numbers)
    ids = np.empty(len(known_row), np.int64)
    ids[~is_new] = numbers[known_row[~is_new]]
    ids[is_new] = next_number + np.arange(np.count_nonzero(is_new))
    return ids
