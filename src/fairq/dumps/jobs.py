"""The jobs of a dump in the form of the queue: ranges of identical procs over shared ads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from fairq.dumps.ads import Soundness, read_ads_together
from fairq.dumps.job_columns import JobsByColumn
from fairq.dumps.job_stretches import Stretch, divided, is_flat, with_texts
from fairq.dumps.job_terms import IN_TERMS, LARGEST_ID, OWN, SPELLINGS, TELLING, Terms, TermsReader, schedd_of
from fairq.dumps.kinds import JOB, Sorter
from fairq.dumps.repetition import RepeatedAds
from fairq.dumps.shapes import AdsByShape, hand_out
from fairq.dumps.source import Source
from fairq.records import Ad, JobRange

_TOGETHER = 3000
"""Jobs to look at by column at a time."""

_TELLING = {"scheddname", *TELLING}
"""What tells more of a job than the rest of its ad: its schedd and its terms."""


class JobDump(Struct):
    """The jobs of a dump.

    Args:
        ranges: the ranges of procs; their ``ad_id`` is an index into *ads*.
        ads: the attributes that the procs of each cluster share.
        clusters: number of clusters.
        left_out: number of jobs left out, by reason.
    """

    ranges: list[JobRange]
    ads: list[Ad]
    left_out: Counter[str] = field(default_factory=Counter)
    clusters: int = 0

    @property
    def count(self) -> int:
        """The number of jobs."""
        return sum(map(len, self.ranges))


def read_jobs(source: Source, submitter_of: Callable[[Ad], str], now: int) -> JobDump:
    """Return the jobs that *source* holds; *submitter_of* returns the submitter to charge for a job ad.

    A job without a date is queued *now*. Completed jobs are left out, and jobs that no negotiator matches (grid
    without WantMatching, scheduler and local universe). Jobs keep the name of their schedd, from GlobalJobId or
    ScheddName, only if the dump holds several schedds.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError, DuplicateAdError or WrongDumpError.
    """
    reader = _JobReader(source, submitter_of, now)
    reader.read()
    dump = JobDump([], [], reader.left_out)
    several = len({schedd for schedd, _ in reader.clusters}) > 1
    places: dict[int, int] = {}
    terms: Terms | None = None
    fields: dict[str, Any] = {}
    for (schedd, cluster), stretches in sorted(reader.clusters.items(), key=itemgetter(0)):
        shared, parts = divided(source, cluster, stretches)
        place = places.setdefault(id(shared), len(dump.ads))
        if place == len(dump.ads):
            dump.ads.append(shared)
        for stretch, own in parts:
            if stretch.terms is not terms:
                terms, fields = stretch.terms, stretch.terms._asdict()
            dump.ranges.append(
                JobRange(
                    cluster=cluster,
                    first_proc=stretch.first,
                    last_proc=stretch.last,
                    ad_id=place,
                    schedd=schedd if several else "",
                    own=own,
                    **fields,
                )
            )
    dump.clusters = len(reader.clusters)
    return dump


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
        found = read_ads_together(self._source, OWN, lambda: _TOGETHER)
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
        if stretch is not None and ad == self._before:
            these = list(map(type, ad.values()))
            if these == self._kinds and is_flat(these):
                self._join(schedd, cluster, proc, proc, number)
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

    def _take_together(self, found: RepeatedAds | AdsByShape, number: int) -> bool:
        """Take many jobs; *number* ads came before them. Return False if they must be looked at one by one."""
        if isinstance(found, AdsByShape):
            return self._take_by_shape(found, number)
        own = [name.lower() for name in found.varying if name.lower() in OWN]
        if len(set(own)) < len(own):
            return False  # of two spellings, the later one counts
        self._take_alike(found, number)
        return True

    def _take_by_shape(self, found: AdsByShape, number: int) -> bool:
        parts = [self._columns.of(part, [number + 1 + place for place in places]) for part, places in found.parts()]
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts):
            return False
        self._has_jobs = True
        for part in whole:
            self.left_out += part.left_out
            for of, stretches in part.stretches:
                self.clusters.setdefault(of, []).extend(stretches)
        self._stretch, self._before = None, {}
        return True

    def _take_alike(self, found: RepeatedAds, number: int) -> None:
        """Take jobs whose ads are alike; *number* ads came before them."""
        telling = [name for name in found.varying if name.lower() in _TELLING]
        others = [name for name in found.varying if name.lower() not in _TELLING and name.lower() not in OWN]
        for part in found.runs(telling):
            for place, run in enumerate(part.runs(others)):
                before = self._stretch
                if place and before is not None:
                    # The terms are those of the run before. No proc follows the one before the first.
                    changed = {name: run.ad[name] for name in others if name in before.rest}
                    self._before = {}
                    self._stretch = Stretch(0, 0, -2, before.terms, {**before.rest, **changed})
                    self._repeat(run, number)
                else:
                    ads = enumerate(run.ads(), number + 1)
                    at, ad = next(ads)
                    self._take(ad, at)
                    if self._stretch is not None:
                        self._repeat(run.without_first(), at)
                    else:
                        for at, ad in ads:
                            self._take(ad, at)
                number += run.size

    def _repeat(self, found: RepeatedAds, number: int) -> None:
        """Take jobs like those of the current stretch; *number* ads came before them."""
        if not found.size:
            return
        names = SPELLINGS.of(found.ad)
        ad = dict(found.ad)
        clusters, procs, ids = (found.varying.get(names.get(lower, "")) for lower in OWN)
        if ids is not None:
            ad[names["globaljobid"]] = None
        schedd = self._schedd(ad, names)
        if clusters is None:
            clusters = [ad[names["clusterid"]]] * found.size
        if procs is None:
            procs = [ad[names["procid"]]] * found.size
        cluster = self._terms.number_of("ClusterId", clusters[0], 1, number + 1)
        first = self._terms.number_of("ProcId", procs[0], 0, number + 1)
        last = first + found.size - 1
        consecutive = last <= LARGEST_ID and procs == [*range(first, last + 1)]
        if consecutive and ids is None and clusters.count(cluster) == found.size:
            self._join(schedd, cluster, first, last, number + 1)
            return
        for at, (cluster, proc, job_id) in enumerate(zip(clusters, procs, ids or [None] * found.size, strict=True), 1):
            self._terms.number_of("ClusterId", cluster, 1, number + at)
            self._terms.number_of("ProcId", proc, 0, number + at)
            named = schedd_of(job_id)
            self._join(schedd if named is None else named, cluster, proc, proc, number + at)

    def _join(self, schedd: str, cluster: int, first: int, last: int, number: int) -> None:
        """Take consecutive procs like those of the current stretch; the first has the *number*-th ad."""
        stretch = self._stretch
        assert stretch is not None
        if first == stretch.last + 1 and (schedd, cluster) == self._of:
            stretch.last = last
        else:
            self._begin(Stretch(number, first, last, stretch.terms, stretch.rest), (schedd, cluster))

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
