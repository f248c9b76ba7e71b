"""Autoclusters: jobs that are equal in every attribute that matters for matching."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.columns.idle_jobs import IdleJobs, Kinds, KnownKind
from fairq.common.expression_form import OPEN, is_expression
from fairq.common.records import Ad, JobRange
from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    attributes_read,
    expression_of,
    parse,
)
from fairq.engine.distinct import distinct


class SignificantAttributes(Struct, frozen=True):
    """Attribute names, in lower case.

    Args:
        chosen: the attributes, whatever the slots read; empty: those that slots and negotiator expressions read.
        added: further attributes.
        removed: excluded attributes.
        removed_pattern: attributes whose names contain a match are excluded.
    """

    chosen: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    removed_pattern: re.Pattern[str] | None = None

    def as_clusters(self) -> SignificantAttributes:
        """The same, with the chosen attributes defining clusters, and all attributes read defining autoclusters."""
        return replace(self, chosen=frozenset(), added=self.added | self.chosen)

    def of(self, read: frozenset[str]) -> frozenset[str]:
        """The attributes that define autoclusters if slots and expressions *read* these."""
        if self.chosen:
            return self.chosen | self.added
        pattern = self.removed_pattern
        kept = (
            name
            for name in read
            if name == EVERY_ATTRIBUTE or not (name in self.removed or (pattern is not None and pattern.search(name)))
        )
        return frozenset(kept) | self.added


PRIORITY_KEYS = ("PreJobPrio1", "PreJobPrio2", "JobPrio", "PostJobPrio1", "PostJobPrio2")

_FURTHER_KEYS = frozenset(name.lower() for name in PRIORITY_KEYS if name != "JobPrio")


def has_priorities(ad: Ad) -> bool:
    """Whether an ad holds priorities that no column of its jobs has, in any spelling."""
    return not _FURTHER_KEYS.isdisjoint(name.lower() for name in ad)


_ALWAYS = frozenset({"requirements", "rank", "concurrencylimits"})
"""Always significant (schedd.cpp, MinimalSigAttrs)."""

_COLUMNS = frozenset({"clusterid", "procid", "jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user"})
"""Attributes that a range of jobs stores as columns."""

_EPHEMERAL_PREFIXES = ("submitter", "submittor")
"""Attributes that the negotiator adds to jobs during the cycle; they do not define autoclusters."""


class Names(Struct, frozen=True):
    """Names of attributes, lower case: all of them, and in order."""

    all: frozenset[str]
    ordered: tuple[str, ...]


class Autoclusters:
    """Numbers the autoclusters over all submitters, and keeps one ad of each.

    Two jobs are in one autocluster if they agree in every attribute that the slots, the negotiator's expressions or
    their own Requirements and Rank read, directly or through other attributes (matchmaker.cpp,
    compute_significant_attrs; autocluster.cpp, getClusterid), unless *significant* says otherwise; then the first job
    represents its autocluster. *job_expressions* are evaluated on the job's side.
    """

    def __init__(
        self,
        ads: Mapping[int, Ad],
        slots: AdColumns,
        negotiator_expressions: Iterable[Expression],
        job_expressions: Iterable[Expression] = (),
        significant: SignificantAttributes | None = None,
    ) -> None:
        self.kinds: list[Ad] = []
        self.limited: set[int] = set()
        """The autoclusters of jobs with ConcurrencyLimits."""
        self.ads = ads
        self._slots = slots
        read = slots.external_references()
        read |= attributes_read([parse("Requirements"), parse("Rank"), *negotiator_expressions], "target", slots)
        read |= attributes_read(job_expressions, "my", slots)
        apart = read if significant is None else significant.of(read)
        self._read = _without_ephemeral(_ALWAYS | read)
        self._significant = _without_ephemeral(_ALWAYS | apart)
        self.reads_more = not self._read <= self._significant
        """Whether jobs of one autocluster may differ in what matters: the first one stands for all."""
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self._shared: dict[int, tuple[Ad, Names]] = {}
        self._plain: dict[int, int] = {}
        self._learned: dict[int, KnownKind] = {}
        self._closures: dict[tuple[object, ...], Names] = {}
        self._reads: dict[str, frozenset[str]] = {}

    def alike_in(self, attributes: Collection[str]) -> Callable[[int], object]:
        """Return by autocluster the *attributes* (lower-case names) of its jobs, which then define autoclusters."""
        known: dict[int, object] = {}

        def values(autocluster: int) -> object:
            if autocluster not in known:
                kind = self.kinds[autocluster]
                known[autocluster] = tuple(repr(kind.get(name)) for name in sorted(attributes))
            return known[autocluster]

        return values

    def shared_ad(self, ad_id: int) -> Ad:
        """Return a shared ad, with names in lower case."""
        return self._names(ad_id)[0]

    def of_kind(self, known: KnownKind | None) -> int:
        """Return the autocluster of the jobs of a known kind; -1 if it is not known, or more matters now than then."""
        if known is None or self.reads_more:
            return -1
        names = self._closure(known.ad)
        if not names.all <= known.names or names.all & _COLUMNS:
            return -1
        return self._number(known.ad, names)

    def names_of(self, ad: Ad) -> Names | None:
        """Return what matters of jobs that have nothing beside their shared *ad* (names in lower case) and columns.

        None: that does not tell their autocluster.
        """
        names = self._closure(ad)
        return None if self._columns_matter(names.all) else names

    def of_ad(self, ad: Ad, names: Names) -> tuple[int, KnownKind]:
        """Return the autocluster of jobs with this shared *ad*, of which *names* matter, and their kind."""
        number = self._number(ad, names)
        kind = self._learned.get(number)
        if kind is None or kind.names != names.all:
            kind = KnownKind(names.all, {name: value for name, value in ad.items() if name in names.all})
            self._learned[number] = kind
        return number, kind

    def only_one(self, jobs: JobRange) -> int | None:
        """Return the autocluster of a range; None if there are more."""
        shared, known = self._names(jobs.ad_id)
        number = self._plain.get(jobs.ad_id)
        if number is None or jobs.own or jobs.template:
            if self._is_apart(jobs, known.all):
                some = list(islice(self.split(jobs), 2))
                return some[0][0] if len(some) == 1 else None
            if number is None:
                number = self._plain[jobs.ad_id] = self._number(shared, known)
        return number

    def split(self, jobs: JobRange) -> Iterator[tuple[int, int, int]]:
        """Yield the autoclusters of a range as (number, first proc, last proc); mostly it is just one."""
        shared, known = self._names(jobs.ad_id)
        names = known.all
        if self._is_apart(jobs, names):
            template = {name.lower() for name in jobs.template or ()}
            by_proc = EVERY_ATTRIBUTE in names or "procid" in names or bool(template & names)
            yield from self._split_apart(jobs, shared, by_proc)
            return
        number = self._plain.get(jobs.ad_id)
        if number is None:
            number = self._plain[jobs.ad_id] = self._number(shared, known)
        yield number, jobs.first_proc, jobs.last_proc

    def _is_apart(self, jobs: JobRange, names: frozenset[str]) -> bool:
        """Whether more than the shared ad of the jobs matters."""
        if self._columns_matter(names):
            return True
        return any(name.lower() in names for own in (jobs.own, jobs.template) for name in own or ())

    def _columns_matter(self, names: frozenset[str]) -> bool:
        """Whether jobs may differ in what matters although they share an ad and have nothing of their own."""
        return self.reads_more or EVERY_ATTRIBUTE in names or not names.isdisjoint(_COLUMNS)

    def _split_apart(self, jobs: JobRange, shared: Ad, by_proc: bool) -> Iterator[tuple[int, int, int]]:
        if not by_proc:
            first = _lower(jobs.overrides_for(jobs.first_proc)) | {"procid": jobs.first_proc}
            ad = {**shared, **first, **_lower(jobs.attributes())}
            yield self._number(ad, self._closure(ad)), jobs.first_proc, jobs.last_proc
            return
        for proc in range(jobs.first_proc, jobs.last_proc + 1):
            ad = {**shared, **_lower(jobs.overrides_for(proc)), **_lower(jobs.attributes()), "procid": proc}
            yield self._number(ad, self._closure(ad)), proc, proc

    def _names(self, ad_id: int) -> tuple[Ad, Names]:
        known = self._shared.get(ad_id)
        if known is None:
            shared = _lower(self.ads[ad_id])
            known = self._shared[ad_id] = (shared, self._closure(shared))
        return known

    def _number(self, ad: Ad, names: Names) -> int:
        signature = tuple([(name, repr(ad[name])) for name in names.ordered if name in ad])
        number = self._numbers.get(signature)
        if number is None:
            number = self._numbers[signature] = len(self.kinds)
            wanted = names.all | self._names_from(self._read, ad) if self.reads_more else names.all
            everything = EVERY_ATTRIBUTE in wanted
            self.kinds.append({name: value for name, value in ad.items() if everything or name in wanted})
            if "concurrencylimits" in self.kinds[number]:
                self.limited.add(number)
        return number

    def _closure(self, ad: Ad) -> Names:
        """All names that matter for this job; they depend only on its expressions, which many jobs share."""
        key = tuple([item for item in ad.items() if is_expression(item[1])])
        known = self._closures.get(key)
        if known is not None:
            return known
        names = self._names_from(self._significant, ad)
        found = Names(names, tuple(sorted(names)))
        if EVERY_ATTRIBUTE not in names:  # else they are also all that this one ad has
            self._closures[key] = found
        return found

    def _names_from(self, start: frozenset[str], ad: Ad) -> frozenset[str]:
        """The names *start* and all names that they read, through the expressions of the job."""
        names = set(start)
        todo = list(names)
        while todo:
            value = ad.get(todo.pop())
            if is_expression(value):
                read = self._reads.get(value)
                if read is None:
                    expression = expression_of(value)
                    read = self._reads[value] = attributes_read([expression], "my", self._slots)
                new = read - names
                names |= new
                todo += new
        if EVERY_ATTRIBUTE in names:
            names |= ad.keys()
        return _without_ephemeral(names)


def _without_ephemeral(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith(_EPHEMERAL_PREFIXES))


def _lower(ad: Ad) -> Ad:
    return {name.lower(): value for name, value in ad.items()}


_NONE, _NEW = -1, -2
"""In the place of a kind's autocluster: not just one, or the kind is not known; or no job of the kind was seen yet."""


class _Layout(Struct):
    """Shared ads with the same attributes in the same order: their *names* in lower case.

    *told* has, by the expressions among the values and their places, which places tell the autocluster of jobs with
    nothing of their own, and the names that matter; None: the shared ad does not tell it.
    """

    names: tuple[str, ...]
    told: dict[object, tuple[tuple[int, ...], Names] | None] = field(default_factory=dict)


class KindsInCycle:
    """Finds the autoclusters of jobs of known *kinds*, and numbers the *autoclusters* of new ones as they come."""

    def __init__(self, kinds: Kinds, autoclusters: Autoclusters) -> None:
        self._kinds, self._autoclusters = kinds, autoclusters
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._by_values: dict[tuple[object, ...], tuple[int, KnownKind]] = {}
        # Kinds are numbered from 1 on. Any other number finds the first place or the last one: it is not known.
        self._numbers = np.array([_NONE, *[_NEW] * max(kinds.known, default=0), _NONE], np.int64)

    def autoclusters_of(self, idle: IdleJobs) -> NDArray[np.int64] | None:
        """Return the autocluster of every range; None if a range has not just one, or a priority of its own."""
        kinds, autoclusters = self._kinds, self._autoclusters
        column = idle.columns["kind"]
        numbers = self._numbers.take(column, mode="clip")
        least = numbers.min(initial=0)
        if least == _NEW:
            for kind in distinct(column[numbers == _NEW]).tolist():
                self._numbers[kind] = autoclusters.of_kind(kinds.known.get(kind))
            numbers = self._numbers.take(column, mode="clip")
            least = numbers.min()
        if least >= 0:
            return numbers
        rows = np.flatnonzero(numbers < 0)
        ads, plain = idle.columns["ad_id"][rows].tolist(), idle.is_plain()[rows].tolist()
        for row, ad_id, is_plain in zip(rows.tolist(), ads, plain, strict=True):
            # Most ranges have nothing of their own.
            number = self._of_shared(ad_id) if is_plain else None
            if number is None:
                jobs = idle[row]
                if has_priorities(autoclusters.shared_ad(ad_id)) or (jobs.own and has_priorities(jobs.own)):
                    return None
                number = autoclusters.only_one(jobs)
            if number is None:
                return None
            numbers[row] = number
        return numbers

    def _of_shared(self, ad_id: int) -> int | None:
        """Find the autocluster of jobs with nothing beside this shared ad, and learn their kind.

        None: the ad does not tell it, or it has priorities beside JobPrio.
        """
        ad = self._autoclusters.ads[ad_id]
        written, values = tuple(ad), tuple(ad.values())
        layout = self._layouts.get(written)
        if layout is None:
            layout = self._layouts[written] = _Layout(tuple(name.lower() for name in written))
        # As `is_expression` tells it: to call it for every value of 200,000 ads takes twice as long.
        texts = [(place, value) for place, value in enumerate(values) if isinstance(value, str)]
        expressions = tuple([one for one in texts if one[1].startswith(OPEN)])
        if expressions not in layout.told:
            layout.told[expressions] = self._tells(dict(zip(layout.names, values, strict=True)), layout.names)
        told = layout.told[expressions]
        if told is None:
            return None
        places, names = told
        key = (layout.names, expressions, *[repr(values[place]) for place in places])
        found = self._by_values.get(key)
        if found is None:
            shared = dict(zip(layout.names, values, strict=True))
            found = self._by_values[key] = self._autoclusters.of_ad(shared, names)
        number, self._kinds.learned[ad_id] = found
        return number

    def _tells(self, ad: Ad, names: tuple[str, ...]) -> tuple[tuple[int, ...], Names] | None:
        matter = None if has_priorities(ad) else self._autoclusters.names_of(ad)
        if matter is None:
            return None
        return tuple(place for place, name in enumerate(names) if name in matter.all), matter
