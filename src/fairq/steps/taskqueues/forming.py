"""Task queues formed from the idle jobs of fairq's own queue (docs/dirac.md 1.3).

A queue contains exactly its waiting jobs, and no queue is empty. The numbers of queues are stored. A copy of the formed
queues may be kept (`kept`); then only queues are formed again whose jobs have changed since.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from fairq.engine.shares.columns import Integers
from fairq.engine.shares.forming import FormedQueue, QueueFormer
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.records import Ad, JobRange, JobStatus, QueueNumber
from fairq.state import jobs, meta, task_queues
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues import kept
from fairq.steps.taskqueues.formed import FormedQueues, Numbers
from fairq.steps.taskqueues.job_pieces import JobPiece, JobPieces
from fairq.steps.taskqueues.needs import needs_of
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

_FEW = 300
"""For more requirements than these, a dictionary of all known ones is made to find them."""


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


def form_queues(state: State, policy: SharePolicy) -> FormedQueues:
    """Form the task queues of all idle jobs of *state*."""
    known = kept.load(state, policy)
    if known is None:
        base = _with_numbers(_no_queues(), task_queues.load_all(state))
        return _formed(state, policy, base, jobs.select(state, statuses=[JobStatus.IDLE]), ())
    base, highest, changed = known
    base = _with_numbers(base, task_queues.load_all(state, above=highest))
    return _formed(state, policy, base, jobs.at(state, changed, JobStatus.IDLE), changed)


def _no_queues() -> kept.Known:
    none = np.empty(0, np.int64)
    return kept.Known(Numbers(RequirementTable.of(()), none, none, none, none, np.empty(0)), JobPieces.of(()), [])


def _with_numbers(known: kept.Known, stored: Sequence[QueueNumber]) -> kept.Known:
    """Return *known* with more numbers that are stored, of queues without jobs."""
    if not stored:
        return known
    # Of several numbers of one queue, the last one counts.
    of_queue = {(requirements_of(one.identity), one.part): one.number for one in stored}
    of, sets = known.numbers, _Sets(known.numbers.sets, len(of_queue))
    places = [sets.place(requirements) for requirements, _ in of_queue]
    nothing = np.zeros(len(places), np.int64)
    numbers = Numbers(
        sets.table(),
        np.concatenate((of.number, np.fromiter(of_queue.values(), np.int64))),
        np.concatenate((of.of_set, np.array(places, np.int64))),
        np.concatenate((of.part, np.fromiter((part for _, part in of_queue), np.int64))),
        np.concatenate((of.jobs, nothing)),
        np.concatenate((of.real_priorities, nothing.astype(float))),
    )
    return known._replace(numbers=numbers)


class _Sets:
    """Finds the places of requirements in a table, and adds new ones."""

    def __init__(self, known: RequirementTable, wanted: int) -> None:
        """*wanted* is the number of requirements that are looked for, about."""
        self._known = known
        self._places: dict[Requirements, int] = {}
        self._added: list[Requirements] = []
        self._is_complete = wanted > _FEW or not len(known)
        if self._is_complete:
            self._places = {one: place for place, one in enumerate(known.tolist())}

    def place(self, requirements: Requirements) -> int:
        """Return the place of *requirements*."""
        place = self._places.get(requirements)
        if place is None:
            place = None if self._is_complete else self._known.find(requirements)
            if place is None:
                place = len(self._known) + len(self._added)
                self._added.append(requirements)
            self._places[requirements] = place
        return place

    def __len__(self) -> int:
        return len(self._known) + len(self._added)

    def table(self) -> RequirementTable:
        """Return the table with the added ones."""
        return self._known.extended(self._added)


def _formed(
    state: State, policy: SharePolicy, known: kept.Known, fresh: Sequence[JobRange], changed: Collection[JobKey]
) -> FormedQueues:
    """Return the queues of the *known* ones whose jobs *changed*: those ranges are now the *fresh* ones or gone."""
    of, pieces = known.numbers, known.pieces
    reasons = {reason: place for place, reason in enumerate(known.reasons)}
    stored = len(of.number)
    next_number = max(int(of.number.max(initial=0)) + 1, int(meta.get(state, NEXT) or 1))
    if not fresh and not changed:
        return FormedQueues(of, stored, pieces, known.reasons, set(), 0, next_number)

    sets = _Sets(of.sets, len(fresh))
    unlasting: set[JobKey] = set()
    to_place: list[tuple[JobPiece, int]] = []
    left_out: list[JobPiece] = []
    for whole, job, needs, is_lasting in needs_of(state, fresh, policy):
        bounds = (job.cluster, job.schedd, whole.first_proc, job.first_proc, job.last_proc)
        if not is_lasting:
            unlasting.add(bounds[:3])
        if isinstance(needs, str):
            left_out.append(JobPiece(*bounds, 0.0, -1 - reasons.setdefault(needs, len(reasons))))
        else:
            to_place.append((JobPiece(*bounds, needs.real_priority, 0), sets.place(needs.requirements)))

    is_gone, is_placed = pieces.of_ranges(changed), pieces.queue >= 0
    of_set = np.full(len(pieces), -1, np.int64)
    of_set[is_placed] = of.of_set[pieces.queue[is_placed]]
    # The queues of these requirements are formed again, from all their jobs.
    is_touched = np.zeros(len(sets), bool)
    is_touched[np.array([place for _, place in to_place], np.int64)] = True
    is_touched[of_set[is_gone & is_placed]] = True
    is_again = is_placed & ~is_gone
    is_again[is_again] = is_touched[of_set[is_again]]
    to_place += zip(pieces.take(is_again).tolist(), of_set[is_again].tolist(), strict=True)
    to_place.sort(key=lambda one: one[0][:4])

    touched = np.flatnonzero(is_touched[of.of_set])
    queues = zip(of.of_set[touched].tolist(), of.part[touched].tolist(), strict=True)
    places = dict(zip(queues, touched.tolist(), strict=True))
    former = QueueFormer(policy.capacity, {key: int(of.number[place]) for key, place in places.items()}, next_number)
    placed: list[tuple[JobPiece, FormedQueue[int]]] = []
    for piece, place in to_place:
        first = piece.first
        for queue, taken in former.place(place, piece.last - first + 1, piece.real_priority):
            placed.append((piece._replace(first=first, last=first + taken - 1), queue))
            first += taken
    for queue in former.queues:
        places.setdefault((queue.requirements, queue.part), len(of.number) + len(places) - len(touched))
    pieces = pieces.take(~is_gone & ~is_again).with_pieces(
        [*left_out, *(piece._replace(queue=places[queue.requirements, queue.part]) for piece, queue in placed)]
    )
    numbers = _with_queues(of, sets.table(), touched, places, former.queues)
    return FormedQueues(
        numbers, stored, pieces, list(reasons), unlasting, max(len(fresh), len(changed)), former.next_number
    )


def _with_queues(
    of: Numbers,
    sets: RequirementTable,
    touched: Integers,
    places: Mapping[tuple[int, int], int],
    formed: Sequence[FormedQueue[int]],
) -> Numbers:
    """Return the numbers with the queues *formed* anew at their *places*; those *touched* are replaced by them."""
    added = np.zeros(max(0, len(places) - len(touched)), np.int64)
    columns = [np.concatenate((column, added)) for column in (of.number, of.of_set, of.part, of.jobs)]
    real_priorities = np.concatenate((of.real_priorities, added.astype(float)))
    number, of_set, part, jobs = columns
    jobs[touched], real_priorities[touched] = 0, 0.0
    for queue in formed:
        place = places[queue.requirements, queue.part]
        number[place], of_set[place], part[place] = queue.number, queue.requirements, queue.part
        jobs[place], real_priorities[place] = queue.jobs, queue.real_priorities
    return Numbers(sets, number, of_set, part, jobs, real_priorities)


def remember(
    state: State, formed: FormedQueues, priorities: Sequence[float] | None = None, now: int | None = None
) -> None:
    """Store the numbers of queues that are new.

    With *priorities* (over the queues, at *now*), those of all queues are stored, and queues that no longer exist are
    deleted.
    """
    of, fresh = formed.numbers, np.arange(formed.stored, len(formed.numbers.number))
    numbers, requirements = of.number[fresh].tolist(), of.sets.take(of.of_set[fresh]).tolist()
    identities = map(fields_of, requirements)
    task_queues.put(state, map(QueueNumber, numbers, identities, of.part[fresh].tolist()))
    gone = of.number[of.jobs == 0].tolist()
    if priorities is not None:
        task_queues.forget(state, gone)
        task_queues.set_priorities(state, zip(formed.queues.ids.tolist(), priorities, strict=True), now)
    if len(fresh) or gone or (priorities is not None and len(formed.queues)):
        meta.set(state, NEXT, str(formed.next_number))


def full_ad(state: State, job: JobRange) -> Ad:
    """Return the whole ad of the first proc of *job*."""
    return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], job.first_proc)
