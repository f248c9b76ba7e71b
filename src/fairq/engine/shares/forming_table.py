"""Forming task queues from many jobs, by column: `forming.QueueFormer` forms the same from one job after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.shares.columns import Integers, Mask
from fairq.engine.shares.division import Floats
from fairq.engine.shares.forming import QueueFormer


class Jobs(NamedTuple):
    """Identical jobs in each row.

    Attributes:
        asked: a number below the one of all different requirements; equal for equal ones.
        size: how many jobs.
        real_priority: of each of them.
    """

    asked: Integers
    size: Integers
    real_priority: Floats


class Queues(NamedTuple):
    """Task queues; the columns are the fields of `forming.FormedQueue`."""

    number: Integers
    asked: Integers
    part: Integers
    jobs: Integers
    real_priorities: Floats


class Places(NamedTuple):
    """Where jobs are: *size* jobs of a row of *jobs* from the one at *start* on, and the place of their queue."""

    row: Integers
    start: Integers
    size: Integers
    queue: Integers


def form(
    jobs: Jobs, capacity: int, known: tuple[Integers, Integers, Integers], different: int, next_number: int
) -> tuple[Queues, Places]:
    """Put *jobs* into task queues in their order; return the queues as they are formed, and the places of the jobs.

    Args:
        jobs: the jobs.
        capacity: maximum number of jobs of a queue.
        known: over earlier queues: what they asked, their parts and their numbers; of equal ones the last one counts.
        different: the number of all different requirements.
        next_number: the number of the next queue that is not known; known ones are smaller.
    """
    fits: Mask = np.bincount(jobs.asked, jobs.size, different) <= capacity
    single, in_single = _one_queue_each(jobs, fits, known)
    rest, in_rest, began = _queue_by_queue(jobs, capacity, fits, known, next_number)
    first_row = np.empty(len(single.asked), np.int64)
    first_row[in_single.queue[::-1]] = in_single.row[::-1]
    # A queue that is not known gets its number when its first job comes.
    order = np.argsort(np.concatenate((first_row, began)), kind="stable")
    queues = Queues(*(np.concatenate(pair)[order] for pair in zip(single, rest, strict=True)))
    is_new = (queues.number < 0) | (queues.number >= next_number)
    queues.number[is_new] = next_number + np.arange(np.count_nonzero(is_new))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    in_rest = in_rest._replace(queue=in_rest.queue + len(single.asked))
    placed = Places(*(np.concatenate(pair) for pair in zip(in_single, in_rest, strict=True)))
    return queues, placed._replace(queue=places[placed.queue])


def _one_queue_each(jobs: Jobs, fits: Mask, known: tuple[Integers, Integers, Integers]) -> tuple[Queues, Places]:
    """Return one queue for all jobs with the same requirements, of those that fit into one; -1: a new number."""
    rows = np.flatnonzero(fits[jobs.asked])
    asked, counts = jobs.asked[rows], jobs.size[rows]
    used = np.flatnonzero(np.bincount(asked, minlength=len(fits)))
    places = np.full(len(fits), -1, np.int64)
    places[used] = np.arange(len(used))
    queue = places[asked]
    numbers = np.full(len(fits), -1, np.int64)
    is_first = known[1] == 0
    numbers[known[0][is_first]] = known[2][is_first]
    with np.errstate(over="ignore"):
        # Adds in the order of the rows, as one would by hand: the sums are the same to the last bit.
        sums: Floats = np.bincount(queue, jobs.real_priority[rows] * counts, len(used)).astype(float)
    in_all = np.bincount(queue, counts, len(used)).astype(np.int64)
    zeros = np.zeros(len(rows), np.int64)
    return Queues(numbers[used], used, np.zeros(len(used), np.int64), in_all, sums), Places(rows, zeros, counts, queue)


def _queue_by_queue(
    jobs: Jobs, capacity: int, fits: Mask, known: tuple[Integers, Integers, Integers], next_number: int
) -> tuple[Queues, Places, Integers]:
    """Return the queues of the other jobs, the places of these jobs, and the rows at which the queues began."""
    wanted = ~fits[known[0]]
    asked, part, number = (column[wanted].tolist() for column in known)
    former = QueueFormer(capacity, dict(zip(zip(asked, part, strict=True), number, strict=True)), next_number)
    began: list[int] = []
    placed: list[tuple[int, int, int, int]] = []
    places: dict[int, int] = {}
    rows = np.flatnonzero(~fits[jobs.asked])
    for row, *job in zip(rows.tolist(), *(column[rows].tolist() for column in jobs), strict=True):
        start = 0
        for queue, taken in former.place(*job):
            place = places.setdefault(queue.number, len(places))
            if place == len(began):
                began.append(row)
            placed.append((row, start, taken, place))
            start += taken
    queues = [(one.number, one.requirements, one.part, one.jobs) for one in former.queues]
    numbers, asked_by, parts, counts = np.array(queues, np.int64).reshape(-1, 4).T
    sums = np.array([one.real_priorities for one in former.queues], float)
    columns = np.array(placed, np.int64).reshape(-1, 4).T
    return Queues(numbers, asked_by, parts, counts, sums), Places(*columns), np.array(began, np.int64)
