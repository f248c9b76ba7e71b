"""The jobs of a dump in the form of the queue: ranges of identical procs over shared ads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.dumps.ads import Soundness, Spellings, read_ads_together, same, shown, whole
from fairq.dumps.kinds import JOB, Sorter
from fairq.dumps.repetition import RepeatedAds
from fairq.dumps.shapes import AdsByShape
from fairq.dumps.source import Source
from fairq.errors.base import InvalidNameError
from fairq.errors.pool import DuplicateAdError, InvalidAdError
from fairq.expression_form import is_expression
from fairq.records import Ad, JobRange, JobStatus

LARGEST_ID = 2**31 - 1
"""HTCondor's cluster and proc numbers have 32 bits."""

_STATUS = {
    1: JobStatus.IDLE,
    2: JobStatus.RUNNING,
    5: JobStatus.HELD,
    6: JobStatus.RUNNING,  # transferring its output: the slot is still its own
    7: JobStatus.RUNNING,  # suspended: likewise
}
_ENDED = {3, 4}
_UNMATCHED_UNIVERSES = {7: "scheduler universe", 9: "grid universe", 12: "local universe"}

_WANTED = (
    "clusterid", "procid", "jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user",
    "globaljobid", "scheddname", "jobuniverse", "wantmatching", "holdreason", "accountinggroup", "niceuser",
)  # fmt: skip
_OWN = ("clusterid", "procid", "globaljobid")
"""What every job has of its own."""

_IN_COLUMNS = ("jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user")


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


class _Columns(NamedTuple):
    submitter: str
    owner: str
    status: int
    priority: int
    queue_date: int
    status_date: int
    reason: str | None


class _Stretch(Struct):
    """Adjacent ads of the dump, from the *number*-th on, with identical and consecutive procs."""

    number: int
    first: int
    last: int
    columns: _Columns
    rest: Ad


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
    columns: _Columns | None = None
    fields: dict[str, Any] = {}
    for (schedd, cluster), stretches in sorted(reader.clusters.items(), key=itemgetter(0)):
        shared, parts = _divided(source, cluster, stretches)
        place = places.setdefault(id(shared), len(dump.ads))
        if place == len(dump.ads):
            dump.ads.append(shared)
        for stretch, own in parts:
            if stretch.columns is not columns:
                columns, fields = stretch.columns, stretch.columns._asdict()
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
        self._submitter_of = submitter_of
        self._now = now
        self._soundness = Soundness(source)
        self._spellings = Spellings(*_WANTED)
        self._sorter = Sorter(source, JOB)
        self._has_jobs = False
        self._before: Ad = {}
        """The ad before, without its numbers, and the types of its values."""
        self._kinds: list[type] = []
        self._last: Ad = {}
        """The ad that was last stored by itself."""
        self._submitters: dict[tuple[Any, ...], str] = {}
        self._stretch: _Stretch | None = None
        self._of = ("", 0)
        self.clusters: dict[tuple[str, int], list[_Stretch]] = {}
        self.left_out: Counter[str] = Counter()

    def read(self) -> None:
        number = 0
        for found in read_ads_together(self._source, _OWN):
            if isinstance(found, RepeatedAds):
                self._take_alike(found, number)
                number += found.size
                continue
            for ad in found.ads if isinstance(found, AdsByShape) else [found]:
                number += 1
                self._take(ad, number)
        if not self._has_jobs:
            self._sorter.check()
        self.left_out += self._sorter.left_out

    def _take(self, ad: Ad, number: int) -> None:
        names = self._spellings.of(ad)
        if "clusterid" not in names and not self._sorter.wants(ad):
            self._stretch = None
            return
        self._has_jobs = True
        stretch = self._stretch
        schedd = self._schedd(ad, names)
        cluster = self._id("ClusterId", ad.pop(names.get("clusterid", ""), None), 1, number)
        proc = self._id("ProcId", ad.pop(names.get("procid", ""), None), 0, number)
        # Without their numbers, most jobs of a queue have identical ads.
        if stretch is not None and ad == self._before:
            these = list(map(type, ad.values()))
            if these == self._kinds and _flat(these):
                self._join(schedd, cluster, proc, proc, number)
                return
        self._before, self._kinds = dict(ad), list(map(type, ad.values()))
        self._stretch = None
        if self._leave_out(ad, names, number):
            return
        ad = self._soundness.tidied(ad, number)
        columns = self._columns(ad, names, number)
        for lower in _IN_COLUMNS:
            if lower in names:
                ad.pop(names[lower], None)
        ad = self._last = _with_texts(ad, self._last)
        self._begin(_Stretch(number, proc, proc, columns, ad), (schedd, cluster))

    def _take_alike(self, found: RepeatedAds, number: int) -> None:
        """Take jobs whose ads are alike; *number* ads came before them."""
        telling = [name for name in found.varying if name.lower() in _WANTED and name.lower() not in _OWN]
        others = [name for name in found.varying if name.lower() not in _WANTED]
        for part in found.runs(telling):
            for place, run in enumerate(part.runs(others)):
                before = self._stretch
                if place and before is not None:
                    # The columns are those of the run before. No proc follows the one before the first.
                    changed = {name: run.ad[name] for name in others if name in before.rest}
                    self._before = {}
                    self._stretch = _Stretch(0, 0, -2, before.columns, {**before.rest, **changed})
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
        names = self._spellings.of(found.ad)
        ad = dict(found.ad)
        clusters, procs, ids = (found.varying.get(names.get(lower, "")) for lower in _OWN)
        if ids is not None:
            ad[names["globaljobid"]] = None
        schedd = self._schedd(ad, names)
        if clusters is None:
            clusters = [ad[names["clusterid"]]] * found.size
        if procs is None:
            procs = [ad[names["procid"]]] * found.size
        cluster = self._id("ClusterId", clusters[0], 1, number + 1)
        first = self._id("ProcId", procs[0], 0, number + 1)
        last = first + found.size - 1
        consecutive = last <= LARGEST_ID and procs == [*range(first, last + 1)]
        if consecutive and ids is None and clusters.count(cluster) == found.size:
            self._join(schedd, cluster, first, last, number + 1)
            return
        for at, (cluster, proc, job_id) in enumerate(zip(clusters, procs, ids or [None] * found.size, strict=True), 1):
            self._id("ClusterId", cluster, 1, number + at)
            self._id("ProcId", proc, 0, number + at)
            named = self._schedd_of(job_id)
            self._join(schedd if named is None else named, cluster, proc, proc, number + at)

    def _join(self, schedd: str, cluster: int, first: int, last: int, number: int) -> None:
        """Take consecutive procs like those of the current stretch; the first has the *number*-th ad."""
        stretch = self._stretch
        assert stretch is not None
        if first == stretch.last + 1 and (schedd, cluster) == self._of:
            stretch.last = last
        else:
            self._begin(_Stretch(number, first, last, stretch.columns, stretch.rest), (schedd, cluster))

    def _begin(self, stretch: _Stretch, of: tuple[str, int]) -> None:
        """Begin a stretch of a cluster at a schedd."""
        self._stretch, self._of = stretch, of
        self.clusters.setdefault(of, []).append(stretch)

    def _schedd(self, ad: Ad, names: dict[str, str]) -> str:
        found = self._schedd_of(ad.pop(names["globaljobid"], None)) if "globaljobid" in names else None
        if found is not None:
            return found
        name = ad.get(names["scheddname"], "") if "scheddname" in names else ""
        return name if isinstance(name, str) else ""

    @staticmethod
    def _schedd_of(job_id: Any) -> str | None:
        """The schedd in a GlobalJobId, None if it names none."""
        return job_id.partition("#")[0] if isinstance(job_id, str) and "#" in job_id else None

    def _id(self, name: str, value: Any, lowest: int, number: int) -> int:
        if value is None:
            raise self._error(number, f"it has no {name}", "every job ad needs ClusterId and ProcId")
        if not whole(value, lowest, LARGEST_ID):
            expected = f"it is a whole number from {lowest} to {LARGEST_ID}"
            raise self._error(number, f"{name} is {shown(value)}", expected)
        return int(value)

    def _leave_out(self, ad: Ad, names: dict[str, str], number: int) -> bool:
        status = ad.get(names.get("jobstatus", ""), 1)
        if type(status) is not int or not (status in _STATUS or status in _ENDED):
            known = "HTCondor's are 1 (idle) to 7 (suspended)"
            raise self._error(number, f"JobStatus is {shown(status)}", known)
        if status in _ENDED:
            self.left_out["already ended"] += 1
            return True
        universe = ad.get(names.get("jobuniverse", ""))
        why = _UNMATCHED_UNIVERSES.get(universe) if type(universe) is int else None
        if why is None or (universe == 9 and ad.get(names.get("wantmatching", "")) is True):
            return False
        self.left_out[why] += 1
        return True

    def _columns(self, ad: Ad, names: dict[str, str], number: int) -> _Columns:
        def number_of(lower: str, default: int, lowest: int) -> int:
            value = ad.get(names[lower], default) if lower in names else default
            if not whole(value, lowest):
                raise self._error(number, f"{names[lower]} is {shown(value)}", f"it is a whole number from {lowest} on")
            return int(value)

        status = _STATUS[ad.get(names.get("jobstatus", ""), 1)]
        queued = number_of("qdate", self._now, 0)
        submitter = self._submitter(ad, names, number)
        reason = None
        if status is JobStatus.HELD and isinstance(ad.get(names.get("holdreason", "")), str):
            reason = ad.pop(names["holdreason"])
        return _Columns(
            submitter=submitter,
            owner=self._owner(ad, names) or submitter.rpartition("@")[0],
            status=int(status),
            priority=number_of("jobprio", 0, -(2**31)),
            queue_date=queued,
            status_date=number_of("enteredcurrentstatus", queued, 0),
            reason=reason,
        )

    @staticmethod
    def _owner(ad: Ad, names: dict[str, str]) -> str:
        owner = ad.get(names.get("owner", ""))
        if isinstance(owner, str) and owner and not is_expression(owner):
            return owner
        user = ad.get(names.get("user", ""))
        return user.rpartition("@")[0] or user if isinstance(user, str) else ""

    def _submitter(self, ad: Ad, names: dict[str, str], number: int) -> str:
        identity = (
            ad.get(names.get("accountinggroup", "")),
            ad.get(names.get("owner", "")),
            ad.get(names.get("user", "")),
            ad.get(names.get("niceuser", "")),
        )
        try:
            name = self._submitters.get(identity)
        except TypeError:
            raise self._error(number, "its owner is not a text", "AccountingGroup, Owner and User are texts") from None
        if name is None:
            try:
                name = self._submitters[identity] = self._submitter_of(ad)
            except InvalidNameError as failure:
                raise self._error(number, str(failure), "correct the ad") from None
        return name

    def _error(self, number: int, problem: str, cure: str) -> InvalidAdError:
        return InvalidAdError(source=self._source.name, number=number, problem=problem, cure=cure)


def _divided(source: Source, cluster: int, stretches: list[_Stretch]) -> tuple[Ad, list[tuple[_Stretch, Ad | None]]]:
    """Return the attributes that all *stretches* of a cluster share, and each with its own; equal ones are joined."""
    if len(stretches) == 1:
        return stretches[0].rest, [(stretches[0], None)]
    stretches.sort(key=lambda stretch: stretch.first)
    for one, next_one in pairwise(stretches):
        if next_one.first <= one.last:
            numbers = one.number + next_one.first - one.first, next_one.number
            raise DuplicateAdError(
                source=source.name,
                what=f"job {cluster}.{next_one.first}",
                number=max(numbers),
                first=min(numbers),
            )
    joined: list[_Stretch] = []
    for stretch in stretches:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.last + 1 == stretch.first
            and before.columns == stretch.columns
            and same(before.rest, stretch.rest)
        ):
            before.last = stretch.last
        else:
            joined.append(stretch)
    shared = dict(joined[0].rest)
    for stretch in joined:
        rest = stretch.rest
        if _has(rest, shared):
            continue
        different = [name for name in shared if name not in rest or not same(shared[name], rest[name])]
        for name in different:
            del shared[name]
    return shared, [
        (stretch, {name: value for name, value in stretch.rest.items() if name not in shared} or None)
        for stretch in joined
    ]


def _with_texts(ad: Ad, other: Ad) -> Ad:
    """Return *ad* with the texts of the *other* one where they are equal: they need memory once."""
    known = other.get
    return {
        name: before if type(value) is str and (before := known(name)) == value else value for name, value in ad.items()
    }


def _has(ad: Ad, shared: Ad) -> bool:
    """Say whether *ad* has all of *shared*, if that can be told in a tenth of the time that looking at each takes."""
    values, wanted = list(map(ad.get, shared)), list(shared.values())
    kinds = list(map(type, wanted))
    return values == wanted and list(map(type, values)) == kinds and _flat(kinds)


def _flat(kinds: list[type]) -> bool:
    return list not in kinds and dict not in kinds
