"""The jobs of a dump in the form of the queue: ranges of identical procs over shared ads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import itemgetter

from msgspec import Struct, field

from fairq.dumps.ads import Soundness, read_ads_together
from fairq.dumps.job_columns import JobsByColumn, JobsOfShape
from fairq.dumps.job_stretches import Stretch, divided, is_flat, with_texts
from fairq.dumps.job_terms import IN_TERMS, OWN, SPELLINGS, TermsReader, schedd_of
from fairq.dumps.kinds import JOB, Sorter
from fairq.dumps.repetition import AdRuns
from fairq.dumps.shapes import AdsByShape, Together, hand_out
from fairq.dumps.source import Source
from fairq.records import Ad, JobRange

_TOGETHER = 3000
"""Jobs to look at by column at a time."""

_COUNTED = "procid"
"""The number in which jobs of a cluster often differ alone."""


class JobDump(Struct):
    """The jobs of a dump.

    Args:
        ranges: the ranges of procs; their ``ad_id`` is an index into *ads*.
        ads: the attributes that the procs of each cluster share.
        clusters: number of clusters.
        left_out: number of jobs left out, by reason.
        schedds: the names of their schedds; an empty one is not told.
    """

    ranges: list[JobRange]
    ads: list[Ad]
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
    reader.read()
    dump = JobDump([], [], reader.left_out)
    dump.schedds = sorted({schedd for schedd, _ in reader.clusters})
    several = len(dump.schedds) > 1
    places: dict[int, int] = {}
    for (schedd, cluster), stretches in sorted(reader.clusters.items(), key=itemgetter(0)):
        shared, parts = divided(source, cluster, stretches)
        place = places.setdefault(id(shared), len(dump.ads))
        if place == len(dump.ads):
            dump.ads.append(shared)
        for stretch, own in parts:
            dump.ranges.append(_range(stretch, cluster, place, schedd if several else "", own))
    dump.clusters = len(reader.clusters)
    return dump


def _range(stretch: Stretch, cluster: int, ad_id: int, schedd: str, own: Ad | None) -> JobRange:
    submitter, owner, status, priority, queue_date, status_date, reason = stretch.terms
    # By place, a range of many is made in half the time.
    return JobRange(
        cluster, stretch.first, stretch.last, ad_id, submitter, owner, status, queue_date, status_date,
        priority, schedd, own, None, reason,
    )  # fmt: skip


class _JobReader:
    """Collects stretches per schedd and cluster."""

    def __init__(self, source: Source, submitter_of: Callable[[Ad], str], now: int) -> None:
        self._source = source
        self._soundness = Soundness(source)
        self._terms = TermsReader(source, submitter_of, now)
        self._columns = JobsByColumn(self._terms, self._soundness)
        self._sorter = Sorter(source, JOB)
        self._has_jobs = False
        self._before: Ad = {}
        """The ad before, without its numbers, and the types of its values."""
        self._kinds: list[type] = []
        self._last: Ad = {}
        """The ad that was last stored by itself."""
        self._stretch: Stretch | None = None
        self._of = ("", 0)
        self.clusters: dict[tuple[str, int], list[Stretch]] = {}
        self.left_out: Counter[str] = Counter()

    def read(self) -> None:
        found = read_ads_together(self._source, OWN, lambda: _TOGETHER, _COUNTED)
        hand_out(found, self._take, self._take_together)
        if not self._has_jobs:
            self._sorter.check()
        self.left_out += self._sorter.left_out

    def _take(self, ad: Ad, number: int) -> None:
        names = SPELLINGS.of(ad)
        if "clusterid" not in names and not self._sorter.wants(ad):
            self._stretch = None
            return
        self._has_jobs = True
        stretch = self._stretch
        schedd = self._schedd(ad, names)
        cluster = self._terms.number_of("ClusterId", ad.pop(names.get("clusterid", ""), None), 1, number)
        proc = self._terms.number_of("ProcId", ad.pop(names.get("procid", ""), None), 0, number)
        # Without their numbers, most jobs of a queue have identical ads.
        if stretch is not None and self._is_as_before(ad):
            self._join(schedd, cluster, proc, number)
            return
        self._before, self._kinds = dict(ad), list(map(type, ad.values()))
        self._stretch = None
        why = self._terms.why_left_out(ad, names, number)
        if why is not None:
            self.left_out[why] += 1
            return
        ad = self._soundness.tidied(ad, number)
        terms = self._terms.terms(ad, names, number)
        for lower in IN_TERMS:
            if lower in names:
                ad.pop(names[lower], None)
        ad = self._last = with_texts(ad, self._last)
        self._begin(Stretch(number, proc, proc, terms, ad), (schedd, cluster))

    def _take_together(self, found: Together, number: int) -> bool:
        """Take many jobs; *number* ads came before them. Return False if they must be looked at one by one."""
        if isinstance(found, AdsByShape):
            return self._take_by_shape(found, number)
        return self._take_runs(found if isinstance(found, AdRuns) else found.runs(_COUNTED), number)

    def _take_by_shape(self, found: AdsByShape, number: int) -> bool:
        parts = [self._columns.of(part, [number + 1 + place for place in places]) for part, places in found.parts()]
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts):
            return False
        for part in whole:
            self._take_part(part)
        self._stretch, self._before = None, {}
        return True

    def _take_runs(self, found: AdRuns, number: int) -> bool:
        numbers = [*accumulate(found.sizes(), initial=number + 1)]
        part = self._columns.of(found.first, numbers[:-1], found.lasts)
        if part is None:
            return False
        self._take_part(part)
        before = self._stretch
        is_joined = before is not None and self._is_as_before(_unnumbered(found.first.at(0)))
        self._before = _unnumbered(found.first.at(-1))
        self._kinds = list(map(type, self._before.values()))
        self._stretch = None
        if part.stretches:
            if before is not None and is_joined:
                _let_share(part, before.rest)
            self._of, (*_, last) = part.stretches[-1]
            if not last.names and last.number + last.last - last.first + 1 == numbers[-1]:
                self._stretch = last
        return True

    def _take_part(self, part: JobsOfShape) -> None:
        self._has_jobs = True
        self.left_out += part.left_out
        for of, stretches in part.stretches:
            self.clusters.setdefault(of, []).extend(stretches)

    def _is_as_before(self, ad: Ad) -> bool:
        """Return whether *ad*, without its numbers, is the ad before."""
        if ad != self._before:
            return False
        these = list(map(type, ad.values()))
        return these == self._kinds and is_flat(these)

    def _join(self, schedd: str, cluster: int, proc: int, number: int) -> None:
        """Take a job like those of the current stretch; it has the *number*-th ad."""
        stretch = self._stretch
        assert stretch is not None
        if proc == stretch.last + 1 and (schedd, cluster) == self._of:
            stretch.last = proc
        else:
            self._begin(Stretch(number, proc, proc, stretch.terms, stretch.rest), (schedd, cluster))

    def _begin(self, stretch: Stretch, of: tuple[str, int]) -> None:
        """Begin a stretch of a cluster at a schedd."""
        self._stretch, self._of = stretch, of
        self.clusters.setdefault(of, []).append(stretch)

    def _schedd(self, ad: Ad, names: dict[str, str]) -> str:
        found = schedd_of(ad.pop(names["globaljobid"], None)) if "globaljobid" in names else None
        if found is not None:
            return found
        name = ad.get(names["scheddname"], "") if "scheddname" in names else ""
        return name if isinstance(name, str) else ""


def _unnumbered(ad: Ad) -> Ad:
    """Return *ad* without what every job has of its own."""
    return {name: value for name, value in ad.items() if name.lower() not in OWN}


def _let_share(part: JobsOfShape, rest: Ad) -> None:
    """Let the first jobs of *part*, whose ads are those of the jobs before them, share their *rest*."""
    first = part.stretches[0][1][0]
    if first.names:
        return
    own = first.rest
    for _, stretches in part.stretches:
        for stretch in stretches:
            if stretch.rest is not own:
                return
            stretch.rest = rest
