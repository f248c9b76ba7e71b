"""The kind of an ad of a dump: its MyType or, without one, the kind that its attributes identify."""

from __future__ import annotations

from collections import Counter

from fairq.common.records import Ad
from fairq.errors.pool import WrongDumpError
from fairq.formats.ad_parts import AdPart, MixedPartError
from fairq.formats.ads import Spellings, read_ads
from fairq.formats.source import Source

SLOT = "Machine"
JOB = "Job"
ACCOUNTING = "Accounting"
SCHEDD = "Scheduler"

_SCHEDD_NAMES = {"scheduler": "name", "submitter": "scheddname"}
"""Kinds of ads, in lower case, with MaxJobsRunning of a schedd, and the attribute with the schedd's name."""

_SYNONYMS = {"slot": SLOT}
"""Kinds by their other names, in lower case."""

_IDENTIFYING: tuple[tuple[str, frozenset[str]], ...] = (
    (JOB, frozenset({"clusterid", "procid"})),
    ("Submitter", frozenset({"idlejobs", "runningjobs"})),
    (ACCOUNTING, frozenset({"priority", "priorityfactor"})),
    ("Scheduler", frozenset({"totalidlejobs", "totalrunningjobs"})),
    ("Negotiator", frozenset({"lastnegotiationcycletime0"})),
)
"""Attributes, in lower case, that identify the kind of an ad without MyType."""

_CURES = {
    SLOT: "give what 'condor_status -sort no -json' prints",
    JOB: "give what 'condor_q -global -allusers -json' prints",
    ACCOUNTING: "give what 'condor_userprio -long -allusers' prints",
    SCHEDD: "give what 'condor_status -schedd -json' prints",
}
_WORDS = {SLOT: "slot", JOB: "job", ACCOUNTING: "accounting", SCHEDD: "schedd"}


def _kind_by_names(names: frozenset[str]) -> str | None:
    if ("name1" in names or "numsubmittors" in names) and "name" not in names:
        return ACCOUNTING
    # A slot ad has attributes of its job, and may have any attribute that the site defines.
    if "slotid" in names or {"state", "activity"} <= names:
        return SLOT
    return next((kind for kind, attributes in _IDENTIFYING if attributes <= names), None)


class Sorter:
    """Takes the ads of one kind out of a dump and counts the others."""

    def __init__(self, source: Source, kind: str) -> None:
        """Select from *source* the ads of this *kind*; an ad of unknown kind counts as one."""
        self._name = source.name
        self._kind_wanted = kind
        self._count = 0
        self._others: Counter[str] = Counter()
        self._spellings = Spellings("mytype", "name", "scheddname", "maxjobsrunning")
        self.schedds: dict[str, int] = {}
        """MaxJobsRunning of each schedd, from any ad of the dump."""
        self._kinds: dict[tuple[str, ...], str | None] = {}

    @property
    def left_out(self) -> Counter[str]:
        """Number of ads of another kind, by their description in a message."""
        return Counter({f"ad of type {kind}": count for kind, count in self._others.items()})

    def wants(self, ad: Ad) -> bool:
        """Return whether *ad* is of the kind wanted, and count it."""
        kind = self._kind(ad)
        name = _SCHEDD_NAMES.get((kind or "").lower())
        if name is not None:
            self._record_schedd(ad, name)
        if self._is_wanted(kind):
            self._count += 1
            return True
        self._others[kind or ""] += 1
        return False

    def would_want(self, part: AdPart) -> bool:
        """Return whether the ads of *part* are of the kind wanted, without counting them; raises MixedPartError."""
        if self._spellings.of(part.ad).get("mytype") in part.varying:
            raise MixedPartError
        return self._is_wanted(self._kind(part.ad))

    def count(self, part: AdPart) -> None:
        """Count the ads of *part*, which have one kind."""
        kind = self._kind(part.ad)
        if (kind or "").lower() in _SCHEDD_NAMES:
            for single in part.singly():
                self.wants(single.ad)
        elif self._is_wanted(kind):
            self._count += len(part.numbers)
        else:
            self._others[kind or ""] += len(part.numbers)

    def _record_schedd(self, ad: Ad, lower: str) -> None:
        names = self._spellings.of(ad)
        name, most = ad.get(names.get(lower, "")), ad.get(names.get("maxjobsrunning", ""))
        if isinstance(name, str) and type(most) is int and most >= 0:
            self.schedds[name] = most

    def _is_wanted(self, kind: str | None) -> bool:
        return kind is None or kind.lower() == self._kind_wanted.lower()

    def _kind(self, ad: Ad) -> str | None:
        """Return the MyType of *ad*, else the kind that its attributes identify; None if they identify none."""
        kind = ad.get(self._spellings.of(ad).get("mytype", ""))
        if isinstance(kind, str) and kind:
            return _SYNONYMS.get(kind.lower(), kind)
        names = tuple(ad)
        if names not in self._kinds:
            self._kinds[names] = _kind_by_names(frozenset(name.lower() for name in names))
        return self._kinds[names]

    def check(self) -> None:
        """Raise WrongDumpError if there are ads, but none of the kind wanted."""
        if self._count or not self._others:
            return
        (kind, count) = self._others.most_common(1)[0]
        raise WrongDumpError(
            source=self._name,
            wanted=_WORDS[self._kind_wanted],
            found=f"{count} of type {kind}" + (" and others" if len(self._others) > 1 else ""),
            cure=_CURES[self._kind_wanted],
        )


def read_schedds(source: Source) -> dict[str, int]:
    """Return MaxJobsRunning of each schedd of *source* by name, from Scheduler or Submitter ads.

    Raises UnreadableDumpError, InvalidDumpError or WrongDumpError.
    """
    sorter = Sorter(source, SCHEDD)
    for ad in read_ads(source):
        sorter.wants(ad)
    if not sorter.schedds:
        sorter.check()
    return sorter.schedds
