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
        chosen: these attributes, whatever the slots read; empty: those that slots and negotiator expressions read.
        added: further attributes.
        removed: excluded attributes.
        removed_pattern: attributes whose names contain a match are excluded.
    """

    chosen: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    removed_pattern: re.Pattern[str] | None = None

    def as_clusters(self) -> SignificantAttributes:
        """Return rules by which the chosen attributes define clusters, and all attributes read define autoclusters."""
        return replace(self, chosen=frozenset(), added=self.added | self.chosen)

    def of(self, read: frozenset[str]) -> frozenset[str]:
        """Return the attributes that define autoclusters, given those that slots and expressions *read*."""
        if self.chosen:
            return self.chosen | self.added
        pattern = self.removed_pattern
        significant_names = (
            name
            for name in read
            if name == EVERY_ATTRIBUTE or not (name in self.removed or (pattern is not None and pattern.search(name)))
        )
        return frozenset(significant_names) | self.added


PRIORITY_KEYS = ("PreJobPrio1", "PreJobPrio2", "JobPrio", "PostJobPrio1", "PostJobPrio2")

_FURTHER_KEYS = frozenset(name.lower() for name in PRIORITY_KEYS if name != "JobPrio")


def has_priorities(ad: Ad) -> bool:
    """Return whether an ad has priorities, in any spelling, that are not stored in columns of the jobs."""
    return not _FURTHER_KEYS.isdisjoint(name.lower() for name in ad)


_ALWAYS = frozenset({"requirements", "rank", "concurrencylimits"})
"""Always significant (schedd.cpp, MinimalSigAttrs)."""

_COLUMNS = frozenset({"clusterid", "procid", "jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user"})
"""Attributes that a range of jobs stores as columns."""

_EPHEMERAL_PREFIXES = ("submitter", "submittor")
"""Attributes that the negotiator adds to jobs during the cycle; they do not define autoclusters."""


class Names(Struct, frozen=True):
    """Lower-case names of attributes, as a set and in order."""

    all: frozenset[str]
    ordered: tuple[str, ...]


class Autoclusters:
    """Numbers the autoclusters of all submitters, and stores one ad of each.

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
        significant_names = read if significant is None else significant.of(read)
        self._read = _without_ephemeral(_ALWAYS | read)
        self._significant = _without_ephemeral(_ALWAYS | significant_names)
        self.reads_more = not self._read <= self._significant
        """Whether jobs of one autocluster may differ in attributes read: then its first job represents it."""
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self._shared: dict[int, tuple[Ad, Names]] = {}
        self._number_by_ad: dict[int, int] = {}
        self._learned: dict[int, KnownKind] = {}
        self._closures: dict[tuple[object, ...], Names] = {}
        self._reads: dict[str, frozenset[str]] = {}

    def values_of(self, attributes: Collection[str]) -> Callable[[int], object]:
        """Return a function from autocluster to its values of *attributes* (lower-case names that define it)."""
        values_by_autocluster: dict[int, object] = {}

        def values(autocluster: int) -> object:
            if autocluster not in values_by_autocluster:
                kind = self.kinds[autocluster]
                values_by_autocluster[autocluster] = tuple(repr(kind.get(name)) for name in sorted(attributes))
            return values_by_autocluster[autocluster]

        return values

    def shared_ad(self, ad_id: int) -> Ad:
        """Return a shared ad, with names in lower case."""
        return self._names(ad_id)[0]

    def autocluster_of_kind(self, kind: KnownKind | None) -> int:
        """Return the autocluster of the jobs of a known *kind*; -1 if it is None or more attributes matter now."""
        if kind is None or self.reads_more:
            return -1
        names = self._closure(kind.ad)
        if not names.all <= kind.names or names.all & _COLUMNS:
            return -1
        return self._number(kind.ad, names)

    def deciding_names(self, ad: Ad) -> Names | None:
        """Return the names that matter of jobs that have only their shared *ad* (lower-case names) and columns.

        None if the shared ad alone does not decide their autocluster.
        """
        names = self._closure(ad)
        return None if self._columns_matter(names.all) else names

    def autocluster_and_kind(self, ad: Ad, names: Names) -> tuple[int, KnownKind]:
        """Return the autocluster and the kind of jobs with this shared *ad*, of which *names* matter."""
        number = self._number(ad, names)
        kind = self._learned.get(number)
        if kind is None or kind.names != names.all:
            kind = KnownKind(names.all, {name: value for name, value in ad.items() if name in names.all})
            self._learned[number] = kind
        return number, kind

    def single_autocluster(self, jobs: JobRange) -> int | None:
        """Return the autocluster of a range, None if it has several."""
        shared, names = self._names(jobs.ad_id)
        number = self._number_by_ad.get(jobs.ad_id)
        if number is None or jobs.own or jobs.template:
            if self._has_own_attributes(jobs, names.all):
                first_parts = list(islice(self.split(jobs), 2))
                return first_parts[0][0] if len(first_parts) == 1 else None
            if number is None:
                number = self._number_by_ad[jobs.ad_id] = self._number(shared, names)
        return number

    def split(self, jobs: JobRange) -> Iterator[tuple[int, int, int]]:
        """Yield the autoclusters of a range as (number, first proc, last proc); usually there is one."""
        shared, names = self._names(jobs.ad_id)
        all_names = names.all
        if self._has_own_attributes(jobs, all_names):
            template = {name.lower() for name in jobs.template or ()}
            by_proc = EVERY_ATTRIBUTE in all_names or "procid" in all_names or bool(template & all_names)
            yield from self._split_by_own(jobs, shared, by_proc)
            return
        number = self._number_by_ad.get(jobs.ad_id)
        if number is None:
            number = self._number_by_ad[jobs.ad_id] = self._number(shared, names)
        yield number, jobs.first_proc, jobs.last_proc

    def _has_own_attributes(self, jobs: JobRange, names: frozenset[str]) -> bool:
        """Return whether more than the shared ad decides the autocluster of the jobs."""
        if self._columns_matter(names):
            return True
        return any(name.lower() in names for own in (jobs.own, jobs.template) for name in own or ())

    def _columns_matter(self, names: frozenset[str]) -> bool:
        """Return whether jobs with one shared ad and no attributes of their own may be in different autoclusters."""
        return self.reads_more or EVERY_ATTRIBUTE in names or not names.isdisjoint(_COLUMNS)

    def _split_by_own(self, jobs: JobRange, shared: Ad, by_proc: bool) -> Iterator[tuple[int, int, int]]:
        if not by_proc:
            first = _lower(jobs.overrides_for(jobs.first_proc)) | {"procid": jobs.first_proc}
            ad = {**shared, **first, **_lower(jobs.attributes())}
            yield self._number(ad, self._closure(ad)), jobs.first_proc, jobs.last_proc
            return
        for proc in range(jobs.first_proc, jobs.last_proc + 1):
            ad = {**shared, **_lower(jobs.overrides_for(proc)), **_lower(jobs.attributes()), "procid": proc}
            yield self._number(ad, self._closure(ad)), proc, proc

    def _names(self, ad_id: int) -> tuple[Ad, Names]:
        cached = self._shared.get(ad_id)
        if cached is None:
            shared = _lower(self.ads[ad_id])
            cached = self._shared[ad_id] = (shared, self._closure(shared))
        return cached

    def _number(self, ad: Ad, names: Names) -> int:
        signature = tuple([(name, repr(ad[name])) for name in names.ordered if name in ad])
        number = self._numbers.get(signature)
        if number is None:
            number = self._numbers[signature] = len(self.kinds)
            kept_names = names.all | self._names_from(self._read, ad) if self.reads_more else names.all
            keeps_all = EVERY_ATTRIBUTE in kept_names
            self.kinds.append({name: value for name, value in ad.items() if keeps_all or name in kept_names})
            if "concurrencylimits" in self.kinds[number]:
                self.limited.add(number)
        return number

    def _closure(self, ad: Ad) -> Names:
        """Return all names that matter for this job, cached by its expressions, which many jobs share."""
        key = tuple([item for item in ad.items() if is_expression(item[1])])
        cached = self._closures.get(key)
        if cached is not None:
            return cached
        names = self._names_from(self._significant, ad)
        closure = Names(names, tuple(sorted(names)))
        if EVERY_ATTRIBUTE not in names:  # otherwise the names depend on this ad
            self._closures[key] = closure
        return closure

    def _names_from(self, start: frozenset[str], ad: Ad) -> frozenset[str]:
        """Return the names *start* and all names that they read through expressions of the job."""
        names = set(start)
        pending = list(names)
        while pending:
            value = ad.get(pending.pop())
            if is_expression(value):
                read = self._reads.get(value)
                if read is None:
                    expression = expression_of(value)
                    read = self._reads[value] = attributes_read([expression], "my", self._slots)
                new_names = read - names
                names |= new_names
                pending += new_names
        if EVERY_ATTRIBUTE in names:
            names |= ad.keys()
        return _without_ephemeral(names)


def _without_ephemeral(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith(_EPHEMERAL_PREFIXES))


def _lower(ad: Ad) -> Ad:
    return {name.lower(): value for name, value in ad.items()}


_UNKNOWN, _UNSEEN = -1, -2
"""Instead of a kind's autocluster: it has several or the kind is not known; no job of the kind was seen yet."""


class _Layout(Struct):
    """Shared ads with the same attributes in the same order: their *names* in lower case.

    The key of *decisive* is the expressions among an ad's values, with their indices. The value is the indices of the
    attributes that decide the autocluster, and the names that matter; None if the shared ad alone does not decide it.
    """

    names: tuple[str, ...]
    decisive: dict[object, tuple[tuple[int, ...], Names] | None] = field(default_factory=dict)


class KindsInCycle:
    """Finds the autoclusters of jobs of known *kinds*, and numbers those of new kinds in *autoclusters*."""

    def __init__(self, kinds: Kinds, autoclusters: Autoclusters) -> None:
        self._kinds, self._autoclusters = kinds, autoclusters
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._kinds_by_values: dict[tuple[object, ...], tuple[int, KnownKind]] = {}
        # Kinds are numbered from 1. Any other number is clipped to the first or last entry, which is unknown.
        self._numbers = np.array([_UNKNOWN, *[_UNSEEN] * max(kinds.known, default=0), _UNKNOWN], np.int64)

    def autoclusters_of(self, idle: IdleJobs) -> NDArray[np.int64] | None:
        """Return the autocluster of every range; None if a range has several, or priorities beside JobPrio."""
        kinds, autoclusters = self._kinds, self._autoclusters
        column = idle.columns["kind"]
        numbers = self._numbers.take(column, mode="clip")
        smallest = numbers.min(initial=0)
        if smallest == _UNSEEN:
            for kind in distinct(column[numbers == _UNSEEN]).tolist():
                self._numbers[kind] = autoclusters.autocluster_of_kind(kinds.known.get(kind))
            numbers = self._numbers.take(column, mode="clip")
            smallest = numbers.min()
        if smallest >= 0:
            return numbers
        rows = np.flatnonzero(numbers < 0)
        ads, plain = idle.columns["ad_id"][rows].tolist(), idle.is_plain()[rows].tolist()
        for row, ad_id, is_plain in zip(rows.tolist(), ads, plain, strict=True):
            # Most ranges have no attributes of their own.
            number = self._autocluster_of_ad(ad_id) if is_plain else None
            if number is None:
                jobs = idle[row]
                if any(has_priorities(ad or {}) for ad in (autoclusters.shared_ad(ad_id), jobs.own, jobs.template)):
                    return None
                number = autoclusters.single_autocluster(jobs)
            if number is None:
                return None
            numbers[row] = number
        return numbers

    def _autocluster_of_ad(self, ad_id: int) -> int | None:
        """Find the autocluster of jobs whose only attributes are this shared ad, and record their kind.

        None if the ad alone does not decide it, or has priorities beside JobPrio.
        """
        ad = self._autoclusters.ads[ad_id]
        spellings, values = tuple(ad), tuple(ad.values())
        layout = self._layouts.get(spellings)
        if layout is None:
            layout = self._layouts[spellings] = _Layout(tuple(name.lower() for name in spellings))
        # The test of `is_expression`, inlined: calling it for every value of 200,000 ads takes twice as long.
        texts = [(index, value) for index, value in enumerate(values) if isinstance(value, str)]
        expressions = tuple([text for text in texts if text[1].startswith(OPEN)])
        if expressions not in layout.decisive:
            layout.decisive[expressions] = self._decisive_attributes(
                dict(zip(layout.names, values, strict=True)), layout.names
            )
        entry = layout.decisive[expressions]
        if entry is None:
            return None
        indices, names = entry
        key = (layout.names, expressions, *[repr(values[index]) for index in indices])
        kind = self._kinds_by_values.get(key)
        if kind is None:
            shared = dict(zip(layout.names, values, strict=True))
            kind = self._kinds_by_values[key] = self._autoclusters.autocluster_and_kind(shared, names)
        number, self._kinds.learned[ad_id] = kind
        return number

    def _decisive_attributes(self, ad: Ad, names: tuple[str, ...]) -> tuple[tuple[int, ...], Names] | None:
        significant = None if has_priorities(ad) else self._autoclusters.deciding_names(ad)
        if significant is None:
            return None
        return tuple(index for index, name in enumerate(names) if name in significant.all), significant
