"""The needs of many idle jobs, by column: `needs` reads the same from one job after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairq.ad_table import AdTable, Repeated
from fairq.engine.shares.columns import Integers, Mask, TextColumn, coded
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
    priorities, codes = np.unique(np.array(idle.priority, np.int64), return_inverse=True)
    plain[JOB_PRIORITY] = Attribute(codes[of_range], priorities.tolist())
    needs = read_table(plain, policy.job_defaults)
    schedd = TextColumn.of(idle.schedd).take(of_range)
    cluster, whole = np.array(idle.cluster, np.int64)[of_range], np.array(idle.first_proc, np.int64)[of_range]
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
        own: over the pieces: the place of the piece's own values in *owns*; -1: none.
        owns: values that take precedence over those of the shared ad.
    """

    of_range: Integers
    first: Integers
    last: Integers
    own: Integers
    owns: list[Ad]


def _split(idle: IdleRanges) -> _Split:
    first, last = np.array(idle.first_proc, np.int64), np.array(idle.last_proc, np.int64)
    own, owns = np.array(idle.own, np.int64), list(idle.owns)
    reading = [place for place, template in enumerate(idle.templates) if any(map(read_as, template))]
    if not reading:
        return _Split(np.arange(len(first)), first, last, own, owns)
    # The procs of such a range may differ: each is a piece.
    differ = np.isin(np.array(idle.template, np.int64), reading)
    sizes = np.where(differ, last - first + 1, 1)
    of_range = np.repeat(np.arange(len(first)), sizes)
    firsts = first[of_range] + np.arange(len(of_range)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, lasts = own[of_range], np.where(differ[of_range], firsts, last[of_range])
    for piece in np.flatnonzero(differ[of_range]).tolist():
        place = of_range[piece]
        shared = None if own[piece] < 0 else idle.owns[own[piece]]
        own[piece] = len(owns)
        owns.append(overrides(shared, idle.templates[idle.template[place]], int(firsts[piece])))
    return _Split(of_range, firsts, lasts, own, owns)


def _attributes(state: State, idle: IdleRanges, split: _Split) -> dict[str, Attribute]:
    """Return all attributes that are read, of the pieces, by lower-case name."""
    shared = jobs.ads(state, idle.ad_id)
    values: dict[str, _Values] = {}
    of_shared, of_own = _coded(list(shared.values()), values), _coded(split.owns, values)
    places = {number: place for place, number in enumerate(shared)}
    of_ad = np.fromiter(map(places.__getitem__, idle.ad_id), np.int64, len(idle.ad_id))[split.of_range]
    has_own = split.own >= 0
    found = {}
    for name, known in values.items():
        codes = of_shared[name][of_ad] if name in of_shared else np.full(len(of_ad), -1)
        if name in of_own:
            own = np.where(has_own, of_own[name][split.own], -1)
            codes = np.where(own >= 0, own, codes)
        found[name] = Attribute(codes, known.values())
    return found


class _Values:
    """The different values of an attribute."""

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}
        self._others: dict[Any, Any] = {}

    def codes(self, column: Sequence[Any]) -> Integers:
        """Return the places of *column* in the values, and add what is new."""
        if isinstance(column, Repeated):
            return np.repeat(self.codes((column[0],)), len(column))
        keys = column
        if not set(map(type, column)) <= _SAME_IF_EQUAL:
            keys = [value if type(value) in _SAME_IF_EQUAL else (type(value), repr(value)) for value in column]
            self._others.update((key, value) for key, value in zip(keys, column, strict=True) if type(key) is tuple)
        return coded(keys, self._codes)

    def values(self) -> list[Any]:
        """Return all values, in the order of their codes."""
        return [self._others[key] if type(key) is tuple else key for key in self._codes]


def _coded(ads: Sequence[Ad], values: dict[str, _Values]) -> dict[str, Integers]:
    """Return, over *ads*, the codes of each attribute that is read; -1: an ad does not have it."""
    table = AdTable()
    table.put(range(len(ads)), ads)
    found: dict[str, Integers] = {}
    for names, rows, columns in table.parts:
        # Of several spellings in one ad, the last one counts.
        for name, place in {name: place for place, word in enumerate(names) if (name := read_as(word))}.items():
            codes = found.setdefault(name, np.full(len(ads), -1))
            codes[np.fromiter(rows, np.int64, len(rows))] = values.setdefault(name, _Values()).codes(columns[place])
    return found


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
