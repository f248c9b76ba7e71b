"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

A queue contains exactly its waiting jobs, and no queue is empty. The numbers of queues are stored. A copy of the formed
queues may be kept (`kept`); then only queues are formed again whose jobs have changed since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from fairq.engine.shares.columns import Integers, ListColumn, NumberColumn, TextColumn
from fairq.engine.shares.forming_table import Jobs, Queues, form
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.records import Ad, JobRange, QueueNumber
from fairq.state import idle_ranges, jobs, meta, task_queues
from fairq.state.connection import State
from fairq.state.idle_ranges import IdleRanges
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues import kept
from fairq.steps.taskqueues.formed import FormedQueues, Numbers
from fairq.steps.taskqueues.idle_needs import read_idle
from fairq.steps.taskqueues.job_pieces import JobPieces
from fairq.steps.taskqueues.policy import SharePolicy

NEXT = "next_task_queue"
"""The key in the state for the number of the next new queue."""

FIELDS = (
    "Owner", "OwnerGroup", "CPUTime", "GridCEs", "Platforms", "JobTypes", "Tags", "Sites", "BannedSites", "MinRAM",
    "MaxRAM",
)  # fmt: skip
"""DIRAC's names for the fields of `Requirements`, in order."""

MEMBERS = (
    "owner", "owner_group", "cpu_time", "grid_ces", "platforms", "job_types", "tags", "sites", "banned_sites",
    "min_ram", "max_ram",
)  # fmt: skip
"""The report members for the fields of `Requirements`, in order."""


def fields_of(requirements: Requirements) -> dict[str, Any]:
    """Return *requirements* by DIRAC's names, without empty ones."""
    pairs = zip(FIELDS, requirements, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def members_of(requirements: Requirements) -> Ad:
    """Return *requirements* as members of a report.

    Lists are texts with commas, so that expressions can read them; empty ones are left out.
    """
    pairs = zip(MEMBERS, requirements, strict=True)
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in pairs if value}


def requirements_of(fields: dict[str, Any]) -> Requirements:
    """Return the requirements that *fields* (see `fields_of`) name."""

    def names(field: str) -> tuple[str, ...]:
        return tuple(fields.get(field, ()))

    return Requirements(
        fields["Owner"],
        fields["OwnerGroup"],
        fields.get("CPUTime", 0),
        names("GridCEs"),
        names("Platforms"),
        names("JobTypes"),
        names("Tags"),
        names("Sites"),
        names("BannedSites"),
        fields.get("MinRAM", 0),
        fields.get("MaxRAM", 0),
    )


def _table_of(identities: Sequence[Mapping[str, Any]]) -> RequirementTable:
    """Return the requirements that *identities* (see `fields_of`) name, as `requirements_of` does."""

    def columns() -> Iterator[TextColumn | NumberColumn | ListColumn]:
        for name, kind in zip(FIELDS, RequirementTable.kinds(), strict=True):
            if kind is ListColumn:
                yield ListColumn.of([tuple(fields.get(name, ())) for fields in identities])
            elif kind is NumberColumn:
                yield NumberColumn.of([fields.get(name, 0) for fields in identities])
            else:
                yield TextColumn.of([fields[name] for fields in identities])

    return RequirementTable(*columns())  # type: ignore[arg-type]


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    known = kept.load(state, policy)
    if known is None:
        base = _with_numbers(_no_queues(), task_queues.load_all(state))
        return _formed(state, policy, base, idle_ranges.load(state), ())
    base, highest, changed = known
    base = _with_numbers(base, task_queues.load_all(state, above=highest))
    return _formed(state, policy, base, idle_ranges.at(state, changed), changed)


def _no_queues() -> kept.Known:
    none = np.empty(0, np.int64)
    return kept.Known(Numbers(RequirementTable.of(()), none, none, none, none, np.empty(0)), JobPieces.of(()), [])


def _with_numbers(known: kept.Known, stored: Sequence[QueueNumber]) -> kept.Known:
    """Return *known* with more numbers that are stored, of queues without jobs."""
    if not stored:
        return known
    of = known.numbers
    sets, places = of.sets.places_of(_table_of([one.identity for one in stored]))
    # Of several numbers of one queue, the last one counts.
    of_queue = {(place, one.part): one.number for place, one in zip(places.tolist(), stored, strict=True)}
    of_set, part = zip(*of_queue, strict=True)
    nothing = np.zeros(len(of_queue), np.int64)
    numbers = Numbers(
        sets,
        np.concatenate((of.number, np.fromiter(of_queue.values(), np.int64))),
        np.concatenate((of.of_set, np.array(of_set, np.int64))),
        np.concatenate((of.part, np.array(part, np.int64))),
        np.concatenate((of.jobs, nothing)),
        np.concatenate((of.real_priorities, nothing.astype(float))),
    )
    return known._replace(numbers=numbers)


def _formed(
    state: State, policy: SharePolicy, known: kept.Known, fresh: IdleRanges, changed: Collection[JobKey]
) -> FormedQueues:
    """Return the queues of the *known* ones whose jobs *changed*: those ranges are now the *fresh* ones or gone."""
    of, pieces = known.numbers, known.pieces
    reasons = {reason: place for place, reason in enumerate(known.reasons)}
    stored = len(of.number)
    next_number = max(int(of.number.max(initial=0)) + 1, int(meta.get(state, NEXT) or 1))
    if not len(fresh.cluster) and not changed:
        return FormedQueues(of, stored, pieces, known.reasons, set(), 0, next_number)

    read = read_idle(state, fresh, policy)
    sets, asked = of.sets.places_of(read.asked)
    codes = np.array([reasons.setdefault(reason, len(reasons)) for reason in read.reasons], np.int64)
    left_out = replace(read.left_out, queue=-1 - codes[-1 - read.left_out.queue])

    is_gone, is_placed = pieces.of_ranges(changed), pieces.queue >= 0
    of_set = np.full(len(pieces), -1, np.int64)
    of_set[is_placed] = of.of_set[pieces.queue[is_placed]]
    # The queues of these requirements are formed again, from all their jobs.
    is_touched = np.zeros(len(sets), bool)
    is_touched[asked] = True
    is_touched[of_set[is_gone & is_placed]] = True
    is_again = is_placed & ~is_gone
    is_again[is_again] = is_touched[of_set[is_again]]
    placed = replace(read.placed, queue=asked).joined(replace(pieces, queue=of_set).take(is_again))

    touched = np.flatnonzero(is_touched[of.of_set])
    known_numbers = of.number[touched]
    formed, places = form(
        Jobs(placed.queue, placed.last - placed.first + 1, placed.real_priority),
        policy.capacity,
        (of.of_set[touched], of.part[touched], known_numbers),
        len(sets),
        next_number,
    )
    is_new = formed.number >= next_number
    of_formed = np.empty(len(formed.number), np.int64)
    of_formed[is_new] = stored + np.arange(np.count_nonzero(is_new))
    order = np.argsort(known_numbers)
    of_formed[~is_new] = touched[order[np.searchsorted(known_numbers, formed.number[~is_new], sorter=order)]]
    again = placed.take(places.row)
    first = again.first + places.start
    again = replace(again, first=first, last=first + places.size - 1, queue=of_formed[places.queue])
    return FormedQueues(
        _with_queues(of, sets, touched, of_formed, formed),
        stored,
        pieces.take(~is_gone & ~is_again).joined(left_out, again),
        list(reasons),
        read.unlasting,
        max(len(fresh.cluster), len(changed)),
        next_number + int(np.count_nonzero(is_new)),
    )


def _with_queues(of: Numbers, sets: RequirementTable, touched: Integers, places: Integers, formed: Queues) -> Numbers:
    """Return the numbers with the queues *formed* anew at their *places*; those *touched* are replaced by them."""
    added = np.zeros(max(0, int(places.max(initial=-1)) + 1 - len(of.number)), np.int64)
    columns = [np.concatenate((column, added)) for column in (of.number, of.of_set, of.part, of.jobs)]
    real_priorities = np.concatenate((of.real_priorities, added.astype(float)))
    number, of_set, part, jobs = columns
    jobs[touched], real_priorities[touched] = 0, 0.0
    number[places], of_set[places], part[places] = formed.number, formed.asked, formed.part
    jobs[places], real_priorities[places] = formed.jobs, formed.real_priorities
    return Numbers(sets, number, of_set, part, jobs, real_priorities)


def remember(
    state: State, formed: FormedQueues, priorities: Sequence[float] | None = None, now: int | None = None
) -> None:
    """Store the numbers of queues that are new.

    With *priorities* (over the queues, at *now*), those of all queues are stored, and queues that no longer exist are
    deleted.
    """
    of, fresh = formed.numbers, np.arange(formed.stored, len(formed.numbers.number))
    columns = (column.tolist() for column in of.sets.take(of.of_set[fresh]).columns)
    fields = dict(zip(FIELDS, columns, strict=True))
    task_queues.add(state, of.number[fresh].tolist(), of.part[fresh].tolist(), fields)
    gone = of.number[of.jobs == 0].tolist()
    if priorities is not None:
        task_queues.forget(state, gone)
        task_queues.set_priorities(state, zip(formed.queues.ids.tolist(), priorities, strict=True), now)
    if len(fresh) or gone or (priorities is not None and len(formed.queues)):
        meta.set(state, NEXT, str(formed.next_number))


def full_ad(state: State, job: JobRange) -> Ad:
    """Return the whole ad of the first proc of *job*."""
    return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], job.first_proc)
