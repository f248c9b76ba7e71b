"""The slots of a dump, and the jobs that they run according to their ads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from fairq.columns.slots import AlikeSlots, SlotCollector, SlotTable
from fairq.common.expression_form import is_expression
from fairq.common.records import Ad
from fairq.common.versions import Version, newest
from fairq.errors.pool import DuplicateAdError
from fairq.formats.ad_parts import AdPart, MixedPartError, read_batches
from fairq.formats.ads import Soundness, Spellings, read_lists, shown
from fairq.formats.kinds import SLOT, Sorter
from fairq.formats.source import Source

_BUSY = {"claimed", "preempting"}
_JOB_ID = re.compile(r"([0-9]{1,10})\.([0-9]{1,10})")


class SlotDump(Struct):
    """The slots of a dump in its order, the number of ads left out by reason, and the newest CondorVersion.

    *schedds* has MaxJobsRunning of the schedds whose ads are also in the dump.
    """

    slots: SlotTable
    left_out: Counter[str] = field(default_factory=Counter)
    version: Version | None = None
    schedds: dict[str, int] = field(default_factory=dict)


class Use(Struct, frozen=True):
    """The job of a claimed slot, from the slot's ad; unknown: *schedd* is empty, numbers are 0, others None."""

    schedd: str
    cluster: int
    proc: int
    start_time: int
    current_rank: float
    concurrency_limits: str | None
    negotiating_group: str | None
    autoregroup: bool | None


def read_slots(source: Source) -> SlotDump:
    """Return the slots that *source* holds, with ids from 1 in the dump's order.

    Ads of other daemons are left out. A slot with ``Draining`` true becomes a draining slot.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError, DuplicateAdError or WrongDumpError.
    """
    reader = _SlotReader(source)
    read_batches(read_lists(source), reader.take)
    reader.sorter.check()
    return SlotDump(reader.slots.table(), reader.sorter.left_out, newest(*reader.versions), reader.sorter.schedds)


class _SlotReader:
    """Collects the slots of a dump."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._soundness = Soundness(source)
        self._spellings = Spellings("name", "myaddress", "startdipaddr", "draining", "condorversion")
        self._numbers: dict[tuple[str, str], int] = {}
        """The number of the ad of each slot, by name and address."""
        self.sorter = Sorter(source, SLOT)
        self.slots = SlotCollector()
        self.versions: set[str] = set()

    def take(self, parts: Sequence[AdPart]) -> None:
        """Add ads of the dump; raises MixedPartError, or InvalidAdError or DuplicateAdError for a bad one."""
        numbers: dict[tuple[str, str], int] = {}
        slots: list[tuple[int, str, str, bool]] = []
        ads: list[AdPart] = []
        versions: set[str] = set()
        parts = list(map(self._soundness.tidied_part, parts))
        for part in parts:
            if not self.sorter.would_want(part):
                continue
            names = self._spellings.of(part.ad)
            draining = names.get("draining")
            if draining in part.varying:
                raise MixedPartError
            is_draining = draining is not None and part.ad[draining] is True
            for number, name, address in zip(
                part.numbers, self._names(part, names), _addresses(part, names), strict=True
            ):
                first = self._numbers.get((name, address)) or numbers.setdefault((name, address), number)
                if first != number:
                    description = f"slot {name}"
                    raise DuplicateAdError(source=self._source.name, number=number, what=description, first=first)
                slots.append((number, name, address, is_draining))
            versions.update(_texts(part, names, "condorversion"))
            ads.append(part.without({draining}) if draining is not None and is_draining else part)
        # Only now: a mixed or damaged part raises before, and must leave nothing changed.
        self._numbers |= numbers
        self.versions |= versions
        for part in parts:
            self.sorter.count(part)
        if slots:
            slots.sort()
            rows = {number: row for row, (number, _, _, _) in enumerate(slots)}
            alike = [AlikeSlots(part.ad, part.varying, [rows[number] for number in part.numbers]) for part in ads]
            _, all_names, all_addresses, are_draining = zip(*slots, strict=True)
            self.slots.add_by_shape(all_names, all_addresses, are_draining, alike)

    def _names(self, part: AdPart, names: dict[str, str]) -> Sequence[str]:
        """Return the name of each slot; raises InvalidAdError if one is missing."""
        if "name" not in names:
            raise self._source.ad_error(part.numbers[0], "it has no Name", "add a Name to every slot ad")
        column = part.column(names["name"])
        for number, name in zip(part.numbers, column, strict=True):
            if not isinstance(name, str) or not name.strip() or not name.isprintable() or is_expression(name):
                raise self._source.ad_error(number, f"Name is {shown(name)}", "give the name of a slot")
        return column


def _texts(part: AdPart, names: dict[str, str], lower: str) -> list[str]:
    """Return an attribute of all ads; empty where it is no text."""
    return [value if isinstance(value, str) else "" for value in part.column(names.get(lower))]


def _addresses(part: AdPart, names: dict[str, str]) -> list[str]:
    addresses = _texts(part, names, "myaddress")
    if all(addresses):
        return addresses
    return [
        address or fallback for address, fallback in zip(addresses, _texts(part, names, "startdipaddr"), strict=True)
    ]


def _text(ad: Mapping[str, Any], names: dict[str, str], lower: str) -> str:
    value = ad.get(names.get(lower, ""))
    return value if isinstance(value, str) else ""


_STARTS = ("jobstart", "enteredcurrentactivity", "enteredcurrentstate")
_LIMITS = ("matchedconcurrencylimits", "concurrencylimits")
_GROUPS = ("remotenegotiatinggroup", "remoteautoregroup")
IN_USE = ("state", "jobid", "globaljobid", *_STARTS, "currentrank", *_LIMITS, *_GROUPS)
"""The attributes, in lower case, that `use_of` reads."""
_USE = Spellings(*IN_USE)


def use_of(ad: Ad) -> Use | None:
    """Return the job that the slot *ad* runs; None if it runs none or does not name it."""
    names = _USE.of(ad)
    if _text(ad, names, "state").lower() not in _BUSY:
        return None
    schedd, _, job_part = _text(ad, names, "globaljobid").partition("#")
    job = _JOB_ID.fullmatch(_text(ad, names, "jobid") or job_part.partition("#")[0])
    if job is None:
        return None
    starts = (ad.get(names.get(lower, "")) for lower in _STARTS)
    rank = ad.get(names.get("currentrank", ""), 0.0)
    autoregroup = ad.get(names.get("remoteautoregroup", ""))
    return Use(
        schedd=schedd,
        cluster=int(job[1]),
        proc=int(job[2]),
        start_time=next((start for start in starts if type(start) is int and start >= 0), 0),
        current_rank=float(rank) if type(rank) in (int, float) else 0.0,
        concurrency_limits=_text(ad, names, "matchedconcurrencylimits")
        or _text(ad, names, "concurrencylimits")
        or None,
        negotiating_group=_text(ad, names, "remotenegotiatinggroup") or None,
        autoregroup=autoregroup if isinstance(autoregroup, bool) else None,
    )
