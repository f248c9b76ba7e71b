"""The idle jobs of the state with their needs, by column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fairq import __version__
from fairq.columns.ads import AdTable
from fairq.columns.idle_jobs import PRIORITIES, QUEUE, IdleJobs
from fairq.common.expression_form import is_expression
from fairq.common.records import Ad, overrides
from fairq.engine.shares.columns import Column, Floats, Integers, Mask, Table, distinct_rows
from fairq.engine.shares.needs import ATTRIBUTES as NEEDS
from fairq.engine.shares.needs import PRIORITY, Priorities, combinations_of, read_needs, read_priorities
from fairq.engine.shares.queues import RequirementTable
from fairq.state import idle_jobs, jobs, queue_needs, rows
from fairq.state.connection import State
from fairq.steps.taskqueues.job_requirements import IDENTITY, identity_of, plain_value, read_as
from fairq.steps.taskqueues.policy import SharePolicy

_OWNER = "owner"
"""The owner of a job, as an attribute beside those of its ad."""

_FORM = 3
"""The version of how the needs of jobs are read; increase it with each change."""

_AT_ONCE = 500
"""The number of ads read together."""

RangeKey = tuple[int, str, int]
"""The cluster, the schedd and the first proc of a range of jobs."""


class NumberedQueue(NamedTuple):
    """A queue with a number: the number of its requirements, its part (`formation.FormedQueues`), and its number."""

    requirement: int
    part: int
    number: int


class Numbers(Table[NumberedQueue], frozen=True):
    """Numbers of queues."""

    record = NumberedQueue

    requirement: Integers
    part: Integers
    number: Integers


class WaitingJob(NamedTuple):
    """Procs *first* to *last* of the range of jobs that begins with the proc *range_start*; their needs are equal.

    *requirement* is the number of their requirements; -1: they are in no queue, for this *reason*.
    """

    cluster: int
    schedd: str
    range_start: int
    first: int
    last: int
    user_priority: float
    real_priority: float
    requirement: int
    reason: str


class WaitingJobs(Table[WaitingJob], frozen=True):
    """Jobs in the order of cluster, schedd and proc."""

    record = WaitingJob

    cluster: Integers
    schedd: Column
    range_start: Integers
    first: Integers
    last: Integers
    user_priority: Column
    real_priority: Floats
    requirement: Integers
    reason: Column

    def range_keys(self) -> list[RangeKey]:
        """Return the range of each job."""
        return list(zip(self.cluster.tolist(), self.schedd.tolist(), self.range_start.tolist(), strict=True))

    def in_order(self) -> WaitingJobs:
        """Return the same jobs in their order."""
        names = self.schedd.values
        rank = np.argsort(sorted(range(len(names)), key=names.__getitem__))
        return self.take(np.lexsort((self.first, rank[self.schedd.codes], self.cluster)))


class AdNeed(NamedTuple):
    """The requirements, by number, of an *owner*'s jobs that have only priorities beside their shared ad.

    *priorities* are those of the shared ad, as JSON.
    """

    ad_id: int
    owner: str
    requirement: int
    priorities: str | None


def policy_key(policy: SharePolicy) -> str:
    """Return a text of everything that the needs of a job depend on besides the job."""
    return repr((_FORM, __version__, policy.job_defaults))


def read_waiting(
    state: State, policy: SharePolicy, known_requirements: RequirementTable, numbers: Numbers
) -> tuple[WaitingJobs, RequirementTable, list[AdNeed]]:
    """Return the idle jobs with their needs, all requirements (the known ones first), and the needs read from ads.

    The ads of jobs are not read if their queue, one of those with *numbers*, is stored.
    """
    idle = idle_jobs.load_needs(state)
    requirement = (
        _stored_requirement(idle, numbers)
        if queue_needs.policy(state) == policy_key(policy)
        else np.full(len(idle), -1)
    )
    requirement[_has_own_needs(idle)] = -1
    is_known = requirement >= 0
    newly_read, known_requirements, new_needs = _read_needs(state, idle.take(~is_known), policy, known_requirements)
    waiting = _with_stored_needs(idle.take(is_known), requirement[is_known], policy)
    return waiting.joined(newly_read).in_order() if len(newly_read) else waiting, known_requirements, new_needs


def _stored_requirement(idle: IdleJobs, numbers: Numbers) -> Integers:
    """Return the number of the requirements of each range's queue; -1: its queue is not stored."""
    order = np.argsort(numbers.number)
    sorted_numbers, queue = numbers.number[order], idle.columns[QUEUE]
    if not len(sorted_numbers):
        return np.full(len(queue), -1)
    position = np.minimum(np.searchsorted(sorted_numbers, queue), len(sorted_numbers) - 1)
    return np.where(sorted_numbers[position] == queue, numbers.requirement[order][position], -1)


def _has_own_needs(idle: IdleJobs) -> Mask:
    """Return which ranges have attributes beside their shared ads that affect more than priorities."""
    has_needs = np.zeros(len(idle), bool)
    for name in ("own", "template"):
        column = _texts(idle, name)
        affects = [
            any(read_as(attribute) not in ("", *PRIORITY) for attribute in ad) for ad in rows.loads_all(column.values)
        ]
        has_needs |= np.array([*affects, False])[column.codes]
    return has_needs | _may_differ(idle)


def _may_differ(idle: IdleJobs) -> Mask:
    """Return which ranges have procs whose needs may differ."""
    template = _texts(idle, "template")
    reads = [any(map(read_as, ad)) for ad in rows.loads_all(template.values)]
    return np.array([*reads, False])[template.codes]


def _texts(idle: IdleJobs, name: str) -> Column:
    """Return a column of texts; the code -1 is for rows without one."""
    column = Column(idle.columns[name], list(idle.texts)).compact()
    none_count = column.values[:1] == [None]
    return Column(column.codes - none_count, column.values[none_count:])


def _with_stored_needs(idle: IdleJobs, requirement: Integers, policy: SharePolicy) -> WaitingJobs:
    """Return jobs whose requirements are stored; only their priorities are read."""
    own, shared = _texts(idle, "own"), _texts(idle, PRIORITIES)
    ads = [rows.loads_all(shared.values), rows.loads_all(own.values)]
    own_ad = np.where(own.codes < 0, -1, own.codes + len(shared.values))
    attributes, _ = _overlaid(ads, len(shared.values) + len(own.values), shared.codes, own_ad)
    job_priority = Column.of(idle.columns["priority"].tolist())
    priorities = read_priorities(_plain_columns(attributes, PRIORITY), job_priority, policy.job_defaults)
    ranges = _Pieces(np.arange(len(idle)), idle.columns["first_proc"], idle.columns["last_proc"], own.codes, [])
    return _waiting_jobs(idle, ranges, requirement, priorities)


def _waiting_jobs(idle: IdleJobs, pieces: _Pieces, requirement: Integers, priorities: Priorities) -> WaitingJobs:
    refusal = priorities.refusal
    return WaitingJobs(
        idle.columns["cluster"][pieces.range_index],
        _texts(idle, "schedd").take(pieces.range_index),
        idle.columns["first_proc"][pieces.range_index],
        pieces.first,
        pieces.last,
        priorities.user,
        priorities.real,
        np.where(refusal.codes < 0, requirement, -1),
        Column(refusal.codes + 1, ["", *map(str, refusal.values)]),
    )


def _read_needs(
    state: State, idle: IdleJobs, policy: SharePolicy, known_requirements: RequirementTable
) -> tuple[WaitingJobs, RequirementTable, list[AdNeed]]:
    """Read the needs of jobs from their ads."""
    own = _texts(idle, "own")
    pieces = _split_ranges(idle, own)
    raw, ad_columns = _read_attributes(state, idle, own.values, pieces)
    priority = Column.of(idle.columns["priority"].tolist()).take(pieces.range_index)
    needs = read_needs(_plain_columns(raw, NEEDS), priority, policy.job_defaults)
    is_placed = needs.priorities.refusal.codes < 0
    owner = _texts(idle, "owner").take(pieces.range_index)
    requirements = needs.requirements(*_owners_and_groups(raw, owner))
    requirement = np.full(len(is_placed), -1)
    all_requirements, requirement[is_placed] = known_requirements.with_all(requirements.take(np.flatnonzero(is_placed)))
    has_expression = np.zeros(len(requirement), bool)
    for name, column in raw.items():
        if name not in PRIORITY:
            # The last value is for jobs without the attribute, whose code is -1.
            has_expression |= np.array([*map(is_expression, column.values), False])[column.codes]
    storable = np.flatnonzero(is_placed & ~has_expression & ~_has_own_needs(idle)[pieces.range_index])
    ad_id = Column.of(idle.columns["ad_id"].tolist()).take(pieces.range_index)
    first_rows = storable[distinct_rows((ad_id.take(storable), owner.take(storable)), len(storable))[0]]
    new_needs = map(
        AdNeed,
        ad_id.take(first_rows).tolist(),
        owner.take(first_rows).tolist(),
        requirement[first_rows].tolist(),
        _priorities_json(ad_columns, first_rows),
    )
    return _waiting_jobs(idle, pieces, requirement, needs.priorities), all_requirements, list(new_needs)


def _priorities_json(ad_columns: Mapping[str, Column], pieces: Integers) -> list[str | None]:
    """Return the priorities in the ads of some pieces, as JSON."""
    combination_of_piece, combinations = combinations_of(
        {name: column.take(pieces) for name, column in ad_columns.items()}, PRIORITY, len(pieces)
    )
    texts = [rows.dumps(combination) if combination else None for combination in combinations]
    return [texts[combination] for combination in combination_of_piece.tolist()]


class _Pieces(NamedTuple):
    """Ranges split into pieces of jobs with equal attributes.

    Attributes:
        range_index, first, last: over the pieces: the index of the range, and the procs.
        own: over the pieces: the index of the piece's own values among those of the ranges, then *more*; -1: none.
        more: values that take precedence over those of the shared ad.
    """

    range_index: Integers
    first: Integers
    last: Integers
    own: Integers
    more: list[Ad]


def _split_ranges(idle: IdleJobs, owns: Column) -> _Pieces:
    first, last, own, differ = idle.columns["first_proc"], idle.columns["last_proc"], owns.codes, _may_differ(idle)
    if not differ.any():
        return _Pieces(np.arange(len(first)), first, last, own, [])
    # The procs of such a range may differ: each is a piece.
    sizes = np.where(differ, last - first + 1, 1)
    range_index = np.repeat(np.arange(len(first)), sizes)
    firsts = first[range_index] + np.arange(len(range_index)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, lasts = own[range_index], np.where(differ[range_index], firsts, last[range_index])
    template = _texts(idle, "template")
    own_ads, templates = rows.loads_all(owns.values), rows.loads_all(template.values)
    more: list[Ad] = []
    for piece in np.flatnonzero(differ[range_index]).tolist():
        own_ad = None if own[piece] < 0 else own_ads[own[piece]]
        own[piece] = len(own_ads) + len(more)
        more.append(overrides(own_ad, templates[template.codes[range_index[piece]]], int(firsts[piece])))
    return _Pieces(range_index, firsts, lasts, own, more)


def _read_attributes(
    state: State, idle: IdleJobs, owns: Sequence[str], pieces: _Pieces
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the attributes that are read, by lower-case name, and only those of the shared ads.

    The code -1 is for pieces without the attribute.
    """
    numbers, ad_index = np.unique(idle.columns["ad_id"], return_inverse=True)
    size = len(numbers) + len(owns) + len(pieces.more)
    # Ads are read in batches, so that only the attributes in use stay in memory.
    own_ads = (rows.loads_all(owns[start : start + _AT_ONCE]) for start in range(0, len(owns), _AT_ONCE))
    ads = chain(jobs.ads_in_turn(state, numbers.tolist()), own_ads, [pieces.more])
    return _overlaid(ads, size, ad_index[pieces.range_index], np.where(pieces.own < 0, -1, pieces.own + len(numbers)))


def _overlaid(
    batches: Iterable[Sequence[Ad]], size: int, shared: Integers, own: Integers
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return over the jobs the attributes that are read in *size* ads, and only those of the shared ads.

    *shared* and *own* are the indices of each job's ads, -1 for none; its own ad takes precedence.
    """
    columns = _attribute_columns(batches, size)
    ad_columns = {name: column.take(shared) for name, column in columns.items()}
    return {
        name: Column(np.where(column.codes[own] < 0, ad_columns[name].codes, column.codes[own]), column.values)
        for name, column in columns.items()
    }, ad_columns


def _plain_columns(raw: Mapping[str, Column], names: Collection[str]) -> dict[str, Column]:
    """Return the attributes called *names* with plain values."""
    return {
        name: Column(column.codes, list(map(plain_value, column.values)))
        for name, column in raw.items()
        if name in names
    }


def _attribute_columns(batches: Iterable[Sequence[Ad]], size: int) -> dict[str, Column]:
    """Return the attributes of *size* ads that are read; an additional last row has none (code -1)."""
    codes: dict[str, Integers] = {}
    code_of_key: dict[str, dict[Any, int]] = {}
    values: dict[str, list[Any]] = {}
    start = 0
    for ads in batches:
        table = AdTable()
        table.put(range(start, start + len(ads)), ads)
        start += len(ads)
        for names, ad_rows, columns in table.parts:
            # Of several spellings in one ad, the last one counts.
            for name, column_index in {
                name: column_index for column_index, word in enumerate(names) if (name := read_as(word))
            }.items():
                name_codes = code_of_key.setdefault(name, {})
                keys = [value if type(value) is str else (type(value), repr(value)) for value in columns[column_index]]
                new = {
                    key: value for key, value in zip(keys, columns[column_index], strict=True) if key not in name_codes
                }
                name_codes.update(zip(new, range(len(name_codes), len(name_codes) + len(new)), strict=True))
                values.setdefault(name, []).extend(new.values())
                all_codes = codes.setdefault(name, np.full(size + 1, -1))
                all_codes[np.asarray(ad_rows)] = [name_codes[key] for key in keys]
    return {name: Column(codes[name], values[name]) for name in codes}


def _owners_and_groups(raw: Mapping[str, Column], owner: Column) -> tuple[Column, Column]:
    """Return the owners and the groups of the jobs."""
    combination_of_job, combinations = combinations_of({**raw, _OWNER: owner}, (*IDENTITY, _OWNER), len(owner))
    identities = Column(
        combination_of_job, [identity_of(combination, combination[_OWNER]) for combination in combinations]
    )
    return identities.mapped(lambda identity: identity[0]), identities.mapped(lambda identity: identity[1])
