"""The needs of many idle jobs, by column: `needs` reads the same from one job after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fairq.ad_table import AdTable, Repeated
from fairq.engine.shares.columns import Integers, Mask, TextColumn
from fairq.engine.shares.job_needs import ATTRIBUTES as NEEDS
from fairq.engine.shares.job_needs import read_needs
from fairq.engine.shares.needs_table import JOB_PRIORITY, Attribute, attributes_of_kinds, read_table
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.errors.shares import JobRequirementError
from fairq.expression_form import is_expression
from fairq.records import Ad, overrides
from fairq.state import jobs
from fairq.state.connection import State
from fairq.state.idle_ranges import IdleRanges
from fairq.state.kept_queues import JobKey
from fairq.steps.taskqueues.job_pieces import JobPieces
from fairq.steps.taskqueues.job_requirements import IDENTITY, identity_of, plain_value, read_as
from fairq.steps.taskqueues.policy import SharePolicy

_OWNER = "owner"
"""The owner of a job, as an attribute beside those of its ad."""

_SAME_IF_EQUAL = frozenset({str, int})
"""The types of values that need no more than to be equal: 1, 1.0 and true are, and so are 0.0 and -0.0."""


class ReadJobs(NamedTuple):
    """Jobs with what they need.

    Attributes:
        placed: the jobs for task queues; their *queue* means nothing yet.
        asked: over these: their requirements.
        left_out: the jobs for no queue; *queue* is -1 minus the place of the reason.
        reasons: why jobs are in no queue.
        unlasting: ranges of jobs whose needs may change though the jobs do not.
    """

    placed: JobPieces
    asked: RequirementTable
    left_out: JobPieces
    reasons: list[str]
    unlasting: set[JobKey]


def read_idle(state: State, idle: IdleRanges, policy: SharePolicy) -> ReadJobs:
    """Return the jobs *idle* with their needs, in their order."""
    split = _split(idle)
    raw = _attributes(state, idle, split)
    plain = {
        name: Attribute(one.codes, list(map(plain_value, one.values))) for name, one in raw.items() if name in NEEDS
    }
    of_range = split.of_range
    priorities, codes = np.unique(idle.priority, return_inverse=True)
    plain[JOB_PRIORITY] = Attribute(codes[of_range], priorities.tolist())
    needs = read_table(plain, policy.job_defaults)
    schedd = TextColumn.of(idle.schedd).take(of_range)
    cluster, whole = idle.cluster[of_range], idle.first_proc[of_range]
    queue = np.zeros(len(of_range), np.int64)
    queue[needs.is_refused], reasons = _refusals(plain, needs.is_refused, policy)
    pieces = JobPieces(cluster, schedd, whole, split.first, split.last, needs.real_priorities, queue)
    owner = TextColumn.of(idle.owner)
    identities = _identities({**raw, _OWNER: Attribute(owner.codes[of_range], owner.names)})
    asked = needs.requirements(*identities)
    is_placed = ~needs.is_refused
    unlasting = pieces.take(_has_expression(raw, len(pieces)))
    return ReadJobs(
        pieces.take(is_placed),
        asked.take(np.flatnonzero(is_placed)),
        pieces.take(needs.is_refused),
        reasons,
        {(one.cluster, one.schedd, one.whole) for one in unlasting.tolist()},
    )


class _Split(NamedTuple):
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


def _split(idle: IdleRanges) -> _Split:
    first, last, own = idle.first_proc, idle.last_proc, idle.own
    reading = [place for place, template in enumerate(idle.templates) if any(map(read_as, template))]
    if not reading:
        return _Split(np.arange(len(first)), first, last, own, [])
    # The procs of such a range may differ: each is a piece.
    differ = np.isin(idle.template, reading)
    sizes = np.where(differ, last - first + 1, 1)
    of_range = np.repeat(np.arange(len(first)), sizes)
    firsts = first[of_range] + np.arange(len(of_range)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, lasts = own[of_range], np.where(differ[of_range], firsts, last[of_range])
    every = [ad for some in idle.own_ads() for ad in some] if (own[differ[of_range]] >= 0).any() else []
    more: list[Ad] = []
    for piece in np.flatnonzero(differ[of_range]).tolist():
        place = of_range[piece]
        shared = None if own[piece] < 0 else every[own[piece]]
        own[piece] = len(idle.owns) + len(more)
        more.append(overrides(shared, idle.templates[idle.template[place]], int(firsts[piece])))
    return _Split(of_range, firsts, lasts, own, more)


def _attributes(state: State, idle: IdleRanges, split: _Split) -> dict[str, Attribute]:
    """Return all attributes that are read, of the pieces, by lower-case name."""
    values: dict[str, _Values] = defaultdict(_Values)
    numbers, of_ad = np.unique(idle.ad_id, return_inverse=True)
    shared = _coded(len(numbers), jobs.ads_in_turn(state, numbers.tolist()), values)
    of_ad = of_ad[split.of_range]
    of_own = _coded(len(idle.owns) + len(split.more), chain(idle.own_ads(), (split.more,)), values)
    has_own = split.own >= 0
    found = {}
    for name, known in values.items():
        codes = shared[name][of_ad] if name in shared else np.full(len(of_ad), -1)
        if name in of_own:
            own = np.where(has_own, of_own[name][split.own], -1)
            codes = np.where(own >= 0, own, codes)
        found[name] = known.attribute(codes)
    return found


class _Values:
    """The different values of an attribute, each with a number; these leave out some."""

    def __init__(self) -> None:
        self._next = 0
        self._plain: dict[Any, int] = {}
        self._floats: dict[Any, int] = {}
        self._others: dict[Any, int] = {}
        self._of_others: dict[Any, Any] = {}

    def codes(self, column: Sequence[Any]) -> Integers:
        """Return the numbers of the values in *column*."""
        if isinstance(column, Repeated):
            return np.repeat(self.codes((column[0],)), len(column))
        types = set(map(type, column))
        if types <= _SAME_IF_EQUAL:
            return self._numbered(column, self._plain)
        if types == {float} and all(column):
            return self._numbered(column, self._floats)
        keys = [(type(value), repr(value)) for value in column]
        self._of_others.update(zip(keys, column, strict=True))
        return self._numbered(keys, self._others)

    def _numbered(self, keys: Sequence[Any], known: dict[Any, int]) -> Integers:
        """Return the numbers that *known* has for *keys*; a new one gets the number of its first place."""
        start, self._next = self._next, self._next + len(keys)
        return np.fromiter(map(known.setdefault, keys, range(start, self._next)), np.int64, len(keys))

    def attribute(self, numbers: Integers) -> Attribute:
        """Return the attribute of jobs whose values have these *numbers*; -1: none."""
        values = [*self._plain, *self._floats, *map(self._of_others.__getitem__, self._others)]
        places = np.full(self._next + 1, -1)
        places[[*self._plain.values(), *self._floats.values(), *self._others.values()]] = np.arange(len(values))
        return Attribute(places[numbers], values)


def _coded(size: int, found: Iterable[Sequence[Ad]], values: dict[str, _Values]) -> dict[str, Integers]:
    """Return the numbers of each attribute's *values* over *size* ads that are *found* in turn; -1: an ad has none."""
    numbers: dict[str, Integers] = {}
    start = 0
    for ads in found:
        table = AdTable()
        table.put(range(start, start + len(ads)), ads)
        start += len(ads)
        for names, rows, columns in table.parts:
            # Of several spellings in one ad, the last one counts.
            for name, place in {name: place for place, word in enumerate(names) if (name := read_as(word))}.items():
                of_all = numbers.setdefault(name, np.full(size, -1))
                here = slice(rows.start, rows.stop) if isinstance(rows, range) else np.array(rows)
                of_all[here] = values[name].codes(columns[place])
    return numbers


def _identities(raw: Mapping[str, Attribute]) -> tuple[TextColumn, TextColumn]:
    """Return the owners and the groups of the jobs."""
    kinds, of_job = attributes_of_kinds(raw, (*IDENTITY, _OWNER))
    found = [identity_of(kind, kind[_OWNER]) for kind in kinds]
    owners, groups = (TextColumn.of([identity[place] for identity in found]) for place in (0, 1))
    return owners.take(of_job), groups.take(of_job)


def _refusals(plain: Mapping[str, Attribute], is_refused: Mask, policy: SharePolicy) -> tuple[Integers, list[str]]:
    """Return of each refused job -1 minus the place of the reason, and the reasons."""
    if not is_refused.any():
        return np.empty(0, np.int64), []
    refused = {name: Attribute(one.codes[is_refused], one.values) for name, one in plain.items()}
    kinds, of_job = attributes_of_kinds(refused, refused)
    reasons: dict[str, int] = {}
    codes = []
    for kind in kinds:
        try:
            read_needs(kind, kind[JOB_PRIORITY], policy.job_defaults)
        except JobRequirementError as error:
            codes.append(-1 - reasons.setdefault(str(error), len(reasons)))
    return np.array(codes, np.int64)[of_job], list(reasons)


def _has_expression(raw: Mapping[str, Attribute], size: int) -> Mask:
    """Return which jobs have an expression among the attributes that are read."""
    found = np.zeros(size, bool)
    for one in raw.values():
        # The last is for jobs without the attribute, whose code is -1.
        found |= np.array([*map(is_expression, one.values), False])[one.codes]
    return found
