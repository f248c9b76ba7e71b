"""The jobs of a dump in the form of the queue: ranges of identical procs over shared ads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, pairwise
from operator import itemgetter, ne, sub
from typing import Any

from msgspec import Struct, field

from fairq.common.records import Ad, JobRange
from fairq.formats.ad_parts import AdPart, read_batches
from fairq.formats.ads import Soundness, read_lists
from fairq.formats.job_stretches import AlikeAds, SharedAds, Stretch, divided
from fairq.formats.job_terms import (
    LARGEST_ID,
    OF_OFFER,
    OF_TERMS,
    ONLY_IN_TERMS,
    OWN_NAMES,
    SPELLINGS,
    Terms,
    TermsReader,
    schedd_of,
)
from fairq.formats.kinds import JOB, Sorter
from fairq.formats.source import Source

_EXACT = {str, int, bool}
"""Types whose equal values are written in the same way."""


class JobDump(Struct):
    """The jobs of a dump.

    Args:
        ranges: the ranges of procs; their ``ad_id`` is an index into *ads*.
        ads: the attributes that the procs of each cluster share.
        clusters: number of clusters.
        left_out: number of jobs left out, by reason.
        schedds: the names of their schedds; empty if unknown.
    """

    ranges: list[JobRange]
    ads: Sequence[Ad]
    left_out: Counter[str] = field(default_factory=Counter)
    clusters: int = 0
    schedds: Sequence[str] = ()

    @property
    def count(self) -> int:
        """The number of jobs."""
        return sum(map(len, self.ranges))


def read_jobs(source: Source, submitter_of: Callable[[Ad], str], now: int) -> JobDump:
    """Return the jobs that *source* holds; *submitter_of* returns the submitter to charge for a job ad.

    A job without a date is queued *now*. Completed jobs are left out, and jobs that no schedd offers to a negotiator.
    Jobs keep the name of their schedd, from GlobalJobId or ScheddName, only if the dump holds several schedds.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError, DuplicateAdError or WrongDumpError.
    """
    reader = _JobReader(source, submitter_of, now)
    read_batches(read_lists(source), reader.take)
    if not reader.clusters and not reader.left_out:
        reader.sorter.check()
    ads = SharedAds()
    dump = JobDump([], ads, reader.left_out + reader.sorter.left_out, len(reader.clusters))
    dump.schedds = sorted({schedd for schedd, _ in reader.clusters})
    several = len(dump.schedds) > 1
    for (schedd, cluster), stretches in sorted(reader.clusters.items(), key=itemgetter(0)):
        shared, values, parts = divided(source, cluster, stretches)
        row = ads.put(shared, values)
        for stretch, own in parts:
            dump.ranges.append(_range(stretch, cluster, row, schedd if several else "", own))
    return dump


def _range(stretch: Stretch, cluster: int, ad_id: int, schedd: str, own: Ad | None) -> JobRange:
    submitter, owner, status, priority, queue_date, status_date, reason = stretch.terms
    # Positional arguments take half the time, which counts for many ranges.
    return JobRange(
        cluster, stretch.first, stretch.last, ad_id, submitter, owner, status, queue_date, status_date,
        priority, schedd, own, None, reason,
    )  # fmt: skip


class _Jobs(Struct):
    """Jobs of a dump: their stretches, each with its schedd and cluster, and how many are left out, by reason."""

    stretches: list[tuple[tuple[str, int], Stretch]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class _JobReader:
    """Collects the stretches of each cluster, which has a schedd and a number."""

    def __init__(self, source: Source, submitter_of: Callable[[Ad], str], now: int) -> None:
        self._soundness = Soundness(source)
        self._terms = TermsReader(source, submitter_of, now)
        self.sorter = Sorter(source, JOB)
        self.clusters: dict[tuple[str, int], list[Stretch]] = {}
        self.left_out: Counter[str] = Counter()

    def take(self, parts: Sequence[AdPart]) -> None:
        """Add ads of the dump; raises MixedPartError, or InvalidAdError for a bad one."""
        read_parts = [(part, self._read(part)) for part in parts]
        for part, jobs in read_parts:
            if jobs is None:
                self.sorter.count(part)
                continue
            self.left_out += jobs.left_out
            for key, stretch in jobs.stretches:
                self.clusters.setdefault(key, []).append(stretch)

    def _read(self, part: AdPart) -> _Jobs | None:
        """Return the jobs of *part*; None if its ads are of another kind."""
        names = SPELLINGS.of(part.ad)
        if "clusterid" not in names and not self.sorter.would_want(part):
            return None
        clusters = self._numbers(part, names, "ClusterId", 1)
        procs = self._numbers(part, names, "ProcId", 0)
        schedds = _schedds(part, names)
        part = part.without({names[lower] for lower in OWN_NAMES if lower in names})
        rows = range(len(part.numbers))
        starts = _stretch_starts(
            len(rows),
            [clusters, schedds, list(map(sub, procs, rows)), list(map(sub, part.numbers, rows))],
            part.varying.values(),
        )
        jobs, offered = _Jobs(), []
        of_offer = _lowered(part, names, OF_OFFER)
        for start, end in pairwise([*starts, len(rows)]):
            reason = self._terms.why_left_out(of_offer.at(start), part.numbers[start])
            if reason is None:
                offered.append((start, end))
            else:
                jobs.left_out[reason] += end - start
        if offered:
            part = self._soundness.tidied_part(part)
        of_terms = _lowered(part, names, OF_TERMS)
        ads = _Ads(part, names)
        for start, end in offered:
            terms = self._terms.terms(of_terms.at(start), names, part.numbers[start])
            alike, values = ads.at(start, terms)
            stretch = Stretch(part.numbers[start], procs[start], procs[end - 1], terms, alike, values)
            jobs.stretches.append(((schedds[start], clusters[start]), stretch))
        return jobs

    def _numbers(self, part: AdPart, names: Mapping[str, str], name: str, lowest: int) -> Sequence[int]:
        column = part.column(names.get(name.lower()))
        if set(map(type, column)) == {int} and min(column) >= lowest and max(column) <= LARGEST_ID:
            return column
        return [
            self._terms.number_of(name, value, lowest, number)
            for value, number in zip(column, part.numbers, strict=True)
        ]


class _Ads:
    """The attributes of jobs that are not in their terms."""

    def __init__(self, part: AdPart, names: Mapping[str, str]) -> None:
        self._part = part
        self._names = names
        self._by_reason: dict[bool, tuple[AlikeAds, Sequence[tuple[Any, ...]]]] = {}
        """By whether the hold reason is in the terms: the ads without the terms, and the varying values of each."""

    def at(self, row: int, terms: Terms) -> tuple[AlikeAds, tuple[Any, ...]]:
        has_reason = terms.reason is not None
        if has_reason not in self._by_reason:
            removed = (*ONLY_IN_TERMS, "holdreason") if has_reason else ONLY_IN_TERMS
            part = self._part.without({self._names[lower] for lower in removed if lower in self._names})
            rows = list(zip(*part.varying.values(), strict=True)) or [()] * len(part.numbers)
            self._by_reason[has_reason] = AlikeAds(part.ad, tuple(part.varying)), rows
        ads, values = self._by_reason[has_reason]
        return ads, values[row]


def _lowered(part: AdPart, names: Mapping[str, str], lower_names: Iterable[str]) -> AdPart:
    """Return *part* with only the attributes *lower_names*, under these names."""
    ad = {lower: part.ad[names[lower]] for lower in lower_names if lower in names}
    varying = {lower: part.varying[names[lower]] for lower in ad if names[lower] in part.varying}
    return AdPart(ad, varying, part.numbers)


def _schedds(part: AdPart, names: Mapping[str, str]) -> Sequence[str]:
    from_names = [name if isinstance(name, str) else "" for name in part.column(names.get("scheddname"))]
    if "globaljobid" not in names:
        return from_names
    from_ids = map(schedd_of, part.column(names["globaljobid"]))
    return [name if schedd is None else schedd for schedd, name in zip(from_ids, from_names, strict=True)]


def _stretch_starts(size: int, numbered: Sequence[Sequence[Any]], columns: Iterable[Sequence[Any]]) -> Sequence[int]:
    """Return row 0 and each row where a column differs from the row before; *numbered* columns are compared as is."""
    if size == 1:
        return [0]
    starts = {0}
    for column in (*numbered, *map(_as_written, columns)):
        starts.update(compress(range(1, size), map(ne, column[1:], column)))
    return sorted(starts)


def _as_written(column: Sequence[Any]) -> Sequence[Any]:
    """Return a column in which values are equal only if they are written in the same way."""
    kinds = set(map(type, column))
    return column if len(kinds) == 1 and kinds <= _EXACT else list(map(repr, column))
