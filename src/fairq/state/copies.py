"""Compare the copies by column, from which large pools are read, with the records that they were made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

from fairq.columns.idle_jobs import IdleJobs
from fairq.common.records import Ad, JobRange
from fairq.state import idle_columns, idle_copy, slot_columns
from fairq.state.connection import State

_Slot = tuple[int, str, Ad]


def differences(state: State) -> Iterator[str]:
    """Yield each copy that differs from its records, one line each, with the first record that differs."""
    yield from _slots(state)
    yield from _idle_jobs(state)


def _slots(state: State) -> Iterator[str]:
    copied = _each(slot_columns.load(state))
    first = next(copied, None)
    if first is None:
        return
    stored = _each(slot_columns.of_slots(state))
    for one, other in zip_longest(chain([first], copied), stored):
        # Of equal numbers, such as 1 and 1.0, the texts differ.
        if repr(one) != repr(other):
            number = (one or other or first)[0]
            yield f"copy: slot_columns is not what slot says, from slot {number} on"
            return


def _each(stretches: Iterator[slot_columns.Stretch]) -> Iterator[_Slot]:
    return (slot for stretch in stretches for slot in zip(stretch.ids, stretch.names, stretch.ads, strict=True))


def _idle_jobs(state: State) -> Iterator[str]:
    if not idle_copy.is_tracked(state):
        return
    copied = (_in_order(of) for of in idle_columns.load(state)[0])
    stored = (_in_order(of) for of in idle_columns.queued(state))
    for one, other in zip_longest(chain.from_iterable(copied), chain.from_iterable(stored)):
        job = one or other
        if job is not None and repr(one) != repr(other):
            yield f"copy: idle_columns is not what job says, from {job.cluster}.{job.first_proc} of {job.submitter} on"
            return


def _in_order(jobs: IdleJobs) -> list[JobRange]:
    return sorted(jobs, key=lambda job: (job.cluster, job.first_proc))
