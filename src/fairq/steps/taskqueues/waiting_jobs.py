"""The idle jobs of the state with their needs, by column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fairq.columns.ads import AdTable
from fairq.common.expression_form import is_expression
from fairq.common.records import Ad, overrides
from fairq.engine.shares.columns import Column, Floats, Integers, Table
from fairq.engine.shares.needs import ATTRIBUTES as NEEDS
from fairq.engine.shares.needs import kinds_of, read_needs
from fairq.engine.shares.queues import RequirementTable
from fairq.state import jobs
from fairq.state.connection import State
from fairq.state.idle_ranges import IdleRanges
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues.job_requirements import IDENTITY, identity_of, plain_value, read_as
from fairq.steps.taskqueues.policy import SharePolicy

_OWNER = "owner"
"""The owner of a job, as an attribute beside those of its ad."""


class WaitingJob(NamedTuple):
    """Procs *first* to *last* of the range of jobs that begins with the proc *whole*; they need the same.

    *asked* is the number of their requirements; -1: they are in no queue, for this *reason*.
    """

    cluster: int
    schedd: str
    whole: int
    first: int
    last: int
    user_priority: float
    real_priority: float
    asked: int
    reason: str


class WaitingJobs(Table[WaitingJob], frozen=True):
    """Jobs in the order of cluster, schedd and proc."""

    record = WaitingJob

    cluster: Integers
    schedd: Column
    whole: Integers
    first: Integers
    last: Integers
    user_priority: Column
    real_priority: Floats
    asked: Integers
    reason: Column

    @classmethod
    def none(cls) -> WaitingJobs:
        """Return a table without jobs."""
        numbers, values = np.empty(0, np.int64), Column.of(())
        return cls(numbers, values, numbers, numbers, numbers, values, np.empty(0), numbers, values)

    def range_keys(self) -> list[JobKey]:
        """Return the range of each job."""
        return list(zip(self.cluster.tolist(), self.schedd.tolist(), self.whole.tolist(), strict=True))

    def replaced(self, ranges: Collection[JobKey], by: WaitingJobs) -> WaitingJobs:
        """Return the jobs with others in place of those in some *ranges*, which may be gone."""
        if not ranges:
            return self
        suspects = np.flatnonzero(np.isin(self.cluster, [cluster for cluster, _, _ in ranges]))
        wanted = set(ranges)
        is_gone = [key in wanted for key in self.take(suspects).range_keys()]
        joined = self.take(np.delete(np.arange(len(self)), suspects[is_gone])).joined(by)
        names = joined.schedd.values
        rank = np.argsort(sorted(range(len(names)), key=names.__getitem__))
        return joined.take(np.lexsort((joined.first, rank[joined.schedd.codes], joined.cluster)))


def read_waiting(
    state: State, idle: IdleRanges, policy: SharePolicy, known: RequirementTable
) -> tuple[WaitingJobs, RequirementTable, set[JobKey]]:
    """Return the jobs *idle* with their needs, in their order.

    Also return their requirements, the *known* ones first, and the ranges of jobs whose needs may change though the
    jobs do not: the value of an expression may.
    """
    pieces = _split(idle)
    raw = _attributes(state, idle, pieces)
    plain = {name: Column(one.codes, list(map(plain_value, one.values))) for name, one in raw.items() if name in NEEDS}
    needs = read_needs(plain, Column.of(idle.priority.tolist()).take(pieces.of_range), policy.job_defaults)
    is_placed = needs.refusal.codes < 0
    requirements = needs.requirements(*_identities(raw, Column.of(idle.owner).take(pieces.of_range)))
    asked = np.full(len(is_placed), -1)
    different, asked[is_placed] = known.with_all(requirements.take(np.flatnonzero(is_placed)))
    waiting = WaitingJobs(
        idle.cluster[pieces.of_range],
        Column.of(idle.schedd).take(pieces.of_range),
        idle.first_proc[pieces.of_range],
        pieces.first,
        pieces.last,
        needs.user_priority,
        needs.real_priority,
        asked,
        Column(needs.refusal.codes + 1, ["", *map(str, needs.refusal.values)]),
    )
    has_expression = np.zeros(len(asked), bool)
    for one in raw.values():
        # The last is for jobs without the attribute, whose code is -1.
        has_expression |= np.array([*map(is_expression, one.values), False])[one.codes]
    return waiting, different, set(waiting.take(np.flatnonzero(has_expression)).range_keys())


class _Pieces(NamedTuple):
    """Ranges split into pieces of jobs that are alike in all attributes that are read.

    Attributes:
        of_range, first, last: over the pieces: the place of the range, and the procs.
        own: over the pieces: the place of the piece's own values among those of the ranges, then *more*; -1: none.
        more: values that take precedence over those of the shared ad.
    """

    of_range: Integers
    first: Integers
    last: Integers
    own: Integers
    more: list[Ad]


def _split(idle: IdleRanges) -> _Pieces:
    first, last, own = idle.first_proc, idle.last_proc, idle.own
    reading = [place for place, template in enumerate(idle.templates) if any(map(read_as, template))]
    if not reading:
        return _Pieces(np.arange(len(first)), first, last, own, [])
    # The procs of such a range may differ: each is a piece.
    differ = np.isin(idle.template, reading)
    sizes = np.where(differ, last - first + 1, 1)
    of_range = np.repeat(np.arange(len(first)), sizes)
    firsts = first[of_range] + np.arange(len(of_range)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, lasts = own[of_range], np.where(differ[of_range], firsts, last[of_range])
    every = list(chain.from_iterable(idle.own_ads()))
    more: list[Ad] = []
    for piece in np.flatnonzero(differ[of_range]).tolist():
        shared = None if own[piece] < 0 else every[own[piece]]
        own[piece] = len(every) + len(more)
        more.append(overrides(shared, idle.templates[idle.template[of_range[piece]]], int(firsts[piece])))
    return _Pieces(of_range, firsts, lasts, own, more)


def _attributes(state: State, idle: IdleRanges, pieces: _Pieces) -> dict[str, Column]:
    """Return the attributes that are read, by lower-case name; the code -1 is for pieces without the attribute."""
    numbers, of_ad = np.unique(idle.ad_id, return_inverse=True)
    size = len(numbers) + len(idle.owns) + len(pieces.more)
    ads = chain(jobs.ads_in_turn(state, numbers.tolist()), idle.own_ads(), [pieces.more])
    shared, own = of_ad[pieces.of_range], np.where(pieces.own < 0, size, pieces.own + len(numbers))
    return {
        name: Column(np.where(column.codes[own] < 0, column.codes[shared], column.codes[own]), column.values)
        for name, column in _columns(ads, size).items()
    }


def _columns(batches: Iterable[Sequence[Ad]], size: int) -> dict[str, Column]:
    """Return the attributes of *size* ads that are read, with a row after them that has none (code -1)."""
    codes: dict[str, Integers] = {}
    known: dict[str, dict[Any, int]] = {}
    values: dict[str, list[Any]] = {}
    start = 0
    for ads in batches:
        table = AdTable()
        table.put(range(start, start + len(ads)), ads)
        start += len(ads)
        for names, rows, columns in table.parts:
            # Of several spellings in one ad, the last one counts.
            for name, place in {name: place for place, word in enumerate(names) if (name := read_as(word))}.items():
                of_name = known.setdefault(name, {})
                keys = [value if type(value) is str else (type(value), repr(value)) for value in columns[place]]
                new = {key: value for key, value in zip(keys, columns[place], strict=True) if key not in of_name}
                of_name.update(zip(new, range(len(of_name), len(of_name) + len(new)), strict=True))
                values.setdefault(name, []).extend(new.values())
                of_all = codes.setdefault(name, np.full(size + 1, -1))
                of_all[np.asarray(rows)] = [of_name[key] for key in keys]
    return {name: Column(codes[name], values[name]) for name in codes}


def _identities(raw: Mapping[str, Column], owner: Column) -> tuple[Column, Column]:
    """Return the owners and the groups of the jobs."""
    of_job, kinds = kinds_of({**raw, _OWNER: owner}, (*IDENTITY, _OWNER), len(owner))
    found = Column(of_job, [identity_of(kind, kind[_OWNER]) for kind in kinds])
    return found.changed(lambda identity: identity[0]), found.changed(lambda identity: identity[1])
