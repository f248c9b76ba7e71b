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
from fairq.engine.shares.needs import PRIORITY, Priorities, kinds_of, read_needs, read_priorities
from fairq.engine.shares.queues import RequirementTable
from fairq.state import idle_jobs, jobs, queue_needs, rows
from fairq.state.connection import State
from fairq.steps.taskqueues.job_requirements import IDENTITY, identity_of, plain_value, read_as
from fairq.steps.taskqueues.policy import SharePolicy

_OWNER = "owner"
"""The owner of a job, as an attribute beside those of its ad."""

_FORM = 3
"""Increase it with each change of how the needs of jobs are read."""

_AT_ONCE = 500
"""So many ads are read together."""

RangeKey = tuple[int, str, int]
"""The cluster, the schedd and the first proc of a range of jobs."""


class NumberedQueue(NamedTuple):
    """A queue that has a number: the number of its requirements, and its part (`formation.FormedQueues`)."""

    asked: int
    part: int
    number: int


class Numbers(Table[NumberedQueue], frozen=True):
    """Numbers of queues."""

    record = NumberedQueue

    asked: Integers
    part: Integers
    number: Integers


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

    def range_keys(self) -> list[RangeKey]:
        """Return the range of each job."""
        return list(zip(self.cluster.tolist(), self.schedd.tolist(), self.whole.tolist(), strict=True))

    def in_order(self) -> WaitingJobs:
        """Return the same jobs in their order."""
        names = self.schedd.values
        rank = np.argsort(sorted(range(len(names)), key=names.__getitem__))
        return self.take(np.lexsort((self.first, rank[self.schedd.codes], self.cluster)))


class AdNeed(NamedTuple):
    """What jobs of an *owner* need that have nothing beside a shared ad but priorities: requirements by number.

    *priorities* are those in the ad, as JSON.
    """

    ad_id: int
    owner: str
    asked: int
    priorities: str | None


def policy_key(policy: SharePolicy) -> str:
    """Return all that the needs of a job depend on besides the job."""
    return repr((_FORM, __version__, policy.job_defaults))


def read_waiting(
    state: State, policy: SharePolicy, known: RequirementTable, numbers: Numbers
) -> tuple[WaitingJobs, RequirementTable, list[AdNeed]]:
    """Return the idle jobs with their needs, their requirements (the *known* ones first), and what was read of ads.

    The ads of jobs are not read where it is stored which of the queues with *numbers* they belong to.
    """
    idle = idle_jobs.load_needs(state)
    asked = _asked(idle, numbers) if queue_needs.policy(state) == policy_key(policy) else np.full(len(idle), -1)
    asked[_needs_more(idle)] = -1
    is_known = asked >= 0
    fresh, known, learned = _read(state, idle.take(~is_known), policy, known)
    waiting = _of_known(idle.take(is_known), asked[is_known], policy)
    return waiting.joined(fresh).in_order() if len(fresh) else waiting, known, learned


def _asked(idle: IdleJobs, numbers: Numbers) -> Integers:
    """Return the number of the requirements of each range's queue; -1: its queue is not known."""
    order = np.argsort(numbers.number)
    ordered, queue = numbers.number[order], idle.columns[QUEUE]
    if not len(ordered):
        return np.full(len(queue), -1)
    place = np.minimum(np.searchsorted(ordered, queue), len(ordered) - 1)
    return np.where(ordered[place] == queue, numbers.asked[order][place], -1)


def _needs_more(idle: IdleJobs) -> Mask:
    """Return which ranges have attributes beside their shared ads that decide more than priorities."""
    found = np.zeros(len(idle), bool)
    for name in ("own", "template"):
        column = _texts(idle, name)
        decides = [any(read_as(word) not in ("", *PRIORITY) for word in ad) for ad in rows.loads_all(column.values)]
        found |= np.array([*decides, False])[column.codes]
    return found | _differ(idle)


def _differ(idle: IdleJobs) -> Mask:
    """Return the ranges whose procs may differ in what they need."""
    template = _texts(idle, "template")
    reads = [any(map(read_as, ad)) for ad in rows.loads_all(template.values)]
    return np.array([*reads, False])[template.codes]


def _texts(idle: IdleJobs, name: str) -> Column:
    """Return a column of texts; the code -1 is for none."""
    found = Column(idle.columns[name], list(idle.texts)).compact()
    is_first_none = found.values[:1] == [None]
    return Column(found.codes - is_first_none, found.values[is_first_none:])


def _of_known(idle: IdleJobs, asked: Integers, policy: SharePolicy) -> WaitingJobs:
    """Return jobs whose requirements are known."""
    own, shared = _texts(idle, "own"), _texts(idle, PRIORITIES)
    ads = [rows.loads_all(shared.values), rows.loads_all(own.values)]
    of_own = np.where(own.codes < 0, -1, own.codes + len(shared.values))
    given, _ = _overlaid(ads, len(shared.values) + len(own.values), shared.codes, of_own)
    job_priority = Column.of(idle.columns["priority"].tolist())
    priorities = read_priorities(_plain(given, PRIORITY), job_priority, policy.job_defaults)
    whole = _Pieces(np.arange(len(idle)), idle.columns["first_proc"], idle.columns["last_proc"], own.codes, [])
    return _waiting(idle, whole, asked, priorities)


def _waiting(idle: IdleJobs, pieces: _Pieces, asked: Integers, priorities: Priorities) -> WaitingJobs:
    refusal = priorities.refusal
    return WaitingJobs(
        idle.columns["cluster"][pieces.of_range],
        _texts(idle, "schedd").take(pieces.of_range),
        idle.columns["first_proc"][pieces.of_range],
        pieces.first,
        pieces.last,
        priorities.user,
        priorities.real,
        np.where(refusal.codes < 0, asked, -1),
        Column(refusal.codes + 1, ["", *map(str, refusal.values)]),
    )


def _read(
    state: State, idle: IdleJobs, policy: SharePolicy, known: RequirementTable
) -> tuple[WaitingJobs, RequirementTable, list[AdNeed]]:
    """Read the needs of jobs from their ads."""
    own = _texts(idle, "own")
    pieces = _split(idle, own)
    raw, of_ads = _attributes(state, idle, own.values, pieces)
    priority = Column.of(idle.columns["priority"].tolist()).take(pieces.of_range)
    needs = read_needs(_plain(raw, NEEDS), priority, policy.job_defaults)
    is_placed = needs.priorities.refusal.codes < 0
    owner = _texts(idle, "owner").take(pieces.of_range)
    requirements = needs.requirements(*_identities(raw, owner))
    asked = np.full(len(is_placed), -1)
    different, asked[is_placed] = known.with_all(requirements.take(np.flatnonzero(is_placed)))
    has_expression = np.zeros(len(asked), bool)
    for name, one in raw.items():
        if name not in PRIORITY:
            # The last is for jobs without the attribute, whose code is -1.
            has_expression |= np.array([*map(is_expression, one.values), False])[one.codes]
    lasting = np.flatnonzero(is_placed & ~has_expression & ~_needs_more(idle)[pieces.of_range])
    ad_id = Column.of(idle.columns["ad_id"].tolist()).take(pieces.of_range)
    once = lasting[distinct_rows((ad_id.take(lasting), owner.take(lasting)), len(lasting))[0]]
    learned = map(
        AdNeed, ad_id.take(once).tolist(), owner.take(once).tolist(), asked[once].tolist(), _written(of_ads, once)
    )
    return _waiting(idle, pieces, asked, needs.priorities), different, list(learned)


def _written(of_ads: Mapping[str, Column], pieces: Integers) -> list[str | None]:
    """Return the priorities in the ads of some pieces, as JSON."""
    kinds, found = kinds_of({name: one.take(pieces) for name, one in of_ads.items()}, PRIORITY, len(pieces))
    texts = [rows.dumps(kind) if kind else None for kind in found]
    return [texts[kind] for kind in kinds.tolist()]


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


def _split(idle: IdleJobs, owns: Column) -> _Pieces:
    first, last, own, differ = idle.columns["first_proc"], idle.columns["last_proc"], owns.codes, _differ(idle)
    if not differ.any():
        return _Pieces(np.arange(len(first)), first, last, own, [])
    # The procs of such a range may differ: each is a piece.
    sizes = np.where(differ, last - first + 1, 1)
    of_range = np.repeat(np.arange(len(first)), sizes)
    firsts = first[of_range] + np.arange(len(of_range)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own, lasts = own[of_range], np.where(differ[of_range], firsts, last[of_range])
    template = _texts(idle, "template")
    every, templates = rows.loads_all(owns.values), rows.loads_all(template.values)
    more: list[Ad] = []
    for piece in np.flatnonzero(differ[of_range]).tolist():
        shared = None if own[piece] < 0 else every[own[piece]]
        own[piece] = len(every) + len(more)
        more.append(overrides(shared, templates[template.codes[of_range[piece]]], int(firsts[piece])))
    return _Pieces(of_range, firsts, lasts, own, more)


def _attributes(
    state: State, idle: IdleJobs, owns: Sequence[str], pieces: _Pieces
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the attributes that are read, by lower-case name, and those of the shared ads alone.

    The code -1 is for pieces without the attribute.
    """
    numbers, of_ad = np.unique(idle.columns["ad_id"], return_inverse=True)
    size = len(numbers) + len(owns) + len(pieces.more)
    # Who needs a part of each ad keeps no more.
    own_ads = (rows.loads_all(owns[start : start + _AT_ONCE]) for start in range(0, len(owns), _AT_ONCE))
    ads = chain(jobs.ads_in_turn(state, numbers.tolist()), own_ads, [pieces.more])
    return _overlaid(ads, size, of_ad[pieces.of_range], np.where(pieces.own < 0, -1, pieces.own + len(numbers)))


def _overlaid(
    batches: Iterable[Sequence[Ad]], size: int, shared: Integers, own: Integers
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the attributes that are read in *size* ads: over the jobs, and of those the ones in shared ads alone.

    *shared* and *own* are the places of the ads of each job, -1 for none; its own one takes precedence.
    """
    columns = _columns(batches, size)
    of_ads = {name: column.take(shared) for name, column in columns.items()}
    return {
        name: Column(np.where(column.codes[own] < 0, of_ads[name].codes, column.codes[own]), column.values)
        for name, column in columns.items()
    }, of_ads


def _plain(raw: Mapping[str, Column], names: Collection[str]) -> dict[str, Column]:
    """Return the attributes called *names* with plain values."""
    return {name: Column(one.codes, list(map(plain_value, one.values))) for name, one in raw.items() if name in names}


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
        for names, places, columns in table.parts:
            # Of several spellings in one ad, the last one counts.
            for name, place in {name: place for place, word in enumerate(names) if (name := read_as(word))}.items():
                of_name = known.setdefault(name, {})
                keys = [value if type(value) is str else (type(value), repr(value)) for value in columns[place]]
                new = {key: value for key, value in zip(keys, columns[place], strict=True) if key not in of_name}
                of_name.update(zip(new, range(len(of_name), len(of_name) + len(new)), strict=True))
                values.setdefault(name, []).extend(new.values())
                of_all = codes.setdefault(name, np.full(size + 1, -1))
                of_all[np.asarray(places)] = [of_name[key] for key in keys]
    return {name: Column(codes[name], values[name]) for name in codes}


def _identities(raw: Mapping[str, Column], owner: Column) -> tuple[Column, Column]:
    """Return the owners and the groups of the jobs."""
    of_job, kinds = kinds_of({**raw, _OWNER: owner}, (*IDENTITY, _OWNER), len(owner))
    found = Column(of_job, [identity_of(kind, kind[_OWNER]) for kind in kinds])
    return found.changed(lambda identity: identity[0]), found.changed(lambda identity: identity[1])
