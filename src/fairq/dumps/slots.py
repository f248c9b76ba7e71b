"""The slots of a dump, and the jobs that they run according to their ads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from fairq.dumps.ads import Soundness, Spellings, read_ads_together, shown
from fairq.dumps.kinds import SLOT, Sorter
from fairq.dumps.repetition import RepeatedAds
from fairq.dumps.shapes import AdsByShape, Together, hand_out
from fairq.dumps.source import Source
from fairq.errors.pool import DuplicateAdError, InvalidAdError
from fairq.expression_form import is_expression
from fairq.records import Ad
from fairq.slot_table import AlikeSlots, SlotCollector, SlotTable
from fairq.versions import Version, newest

_BUSY = {"claimed", "preempting"}
_JOB_ID = re.compile(r"([0-9]{1,10})\.([0-9]{1,10})")


class SlotDump(Struct):
    """The slots of a dump in its order, the number of ads left out by reason, and the newest CondorVersion.

    *schedds* are the most running jobs of the schedds whose ads are in the dump as well.
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
    reader.read()
    return SlotDump(reader.slots.table(), reader.sorter.left_out, newest(*reader.versions), reader.sorter.schedds)


_OWN = ("name", "machine", "myaddress", "startdipaddr")
"""What every slot or machine has of its own."""


class _SlotReader:
    """Collects the slots of a dump: ads that are alike by column, others one by one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._soundness = Soundness(source)
        self._spellings = Spellings("name", "myaddress", "startdipaddr", "draining", "condorversion", "mytype")
        self._numbers: dict[tuple[str, str], int] = {}
        """The number of the ad of each slot, by name and address."""
        self.sorter = Sorter(source, SLOT)
        self.slots = SlotCollector()
        self.versions: set[str] = set()

    def read(self) -> None:
        found = read_ads_together(self._source, _OWN, lambda: self.slots.room)
        hand_out(found, self._take, self._take_together)
        self.sorter.check()

    def _take(self, found: Ad, number: int) -> None:
        ad = self._soundness.tidied(found, number)
        if not self.sorter.wants(ad):
            return
        names = self._spellings.of(ad)
        name = self._name(ad, names, number)
        self.versions.add(_text(ad, names, "condorversion"))
        address = _text(ad, names, "myaddress") or _text(ad, names, "startdipaddr")
        first = self._numbers.setdefault((name, address), number)
        if first != number:
            raise DuplicateAdError(source=self._source.name, number=number, what=f"slot {name}", first=first)
        draining, ad = _without_draining(ad, names)
        self.slots.add(name, address, ad, draining)

    def _take_together(self, found: Together, number: int) -> bool:
        """Take many ads; *number* ads came before them. Return False if they must be looked at one by one."""
        if isinstance(found, AdsByShape):
            return self._take_parts(found, number)
        return isinstance(found, RepeatedAds) and self._take_alike(found, number)

    def _take_alike(self, found: RepeatedAds, number: int) -> bool:
        ad = self._soundness.tidied(dict(found.ad), number + 1)
        names = self._spellings.of(ad)
        varying = {lower: found.varying[spelled] for lower, spelled in names.items() if spelled in found.varying}
        if "name" not in varying or "draining" in varying or "mytype" in varying:
            return False
        slot_names = varying["name"]
        if not isinstance(slot_names[0], str) or not all(map(str.strip, slot_names)):
            return False
        if self.sorter.tells_schedd(ad):
            return False
        if not self.sorter.would_want(ad):
            self.sorter.wants(ad, found.size)
            return True
        addresses = _addresses(RepeatedAds(ad, found.varying, found.size), names)
        if not self._are_new(slot_names, addresses, number):
            return False
        self.sorter.wants(ad, found.size)
        self.versions.update(_texts(found, names, "condorversion"))
        draining, ad = _without_draining(ad, names)
        self.slots.add_alike(slot_names, addresses, ad, found.varying, draining)
        return True

    def _take_parts(self, found: AdsByShape, number: int) -> bool:
        slot_names, addresses, draining = [""] * found.size, [""] * found.size, [False] * found.size
        versions: set[str] = set()
        parts: list[AlikeSlots] = []
        for part, places in found.parts():
            try:
                ad = self._soundness.tidied(dict(part.ad), number + 1)
                columns = {
                    name: self._soundness.tidied_column(name, column, number + 1)
                    for name, column in part.varying.items()
                }
            except InvalidAdError:
                return False
            names = self._spellings.of(ad)
            if any(names.get(lower) in columns for lower in ("draining", "mytype")) or not self.sorter.would_want(ad):
                return False
            alike = RepeatedAds(ad, columns, part.size)
            of_part = zip(places, _texts(alike, names, "name"), _addresses(alike, names), strict=True)
            for place, name, address in of_part:
                slot_names[place], addresses[place] = name, address
            versions.update(_texts(alike, names, "condorversion"))
            is_draining, ad = _without_draining(ad, names)
            if is_draining:
                for place in places:
                    draining[place] = True
            parts.append(AlikeSlots(ad, columns, places))
        if not all(map(_is_name, slot_names)) or not self._are_new(slot_names, addresses, number):
            return False
        for taken in parts:
            self.sorter.wants(dict(taken.ad), len(taken.places))
        self.versions |= versions
        self.slots.add_by_shape(slot_names, addresses, draining, parts)
        return True

    def _are_new(self, slot_names: Sequence[str], addresses: Sequence[str], number: int) -> bool:
        """Return whether all these slots are different and new, and note them; *number* ads came before them."""
        numbers = range(number + 1, number + len(slot_names) + 1)
        places = dict(zip(zip(slot_names, addresses, strict=True), numbers, strict=True))
        if len(places) < len(slot_names) or not self._numbers.keys().isdisjoint(places):
            return False
        self._numbers |= places
        return True

    def _name(self, ad: Ad, names: dict[str, str], number: int) -> str:
        if "name" not in names:
            raise self._error(number, "it has no Name", "add a Name to every slot ad")
        name = ad[names["name"]]
        if not isinstance(name, str) or not _is_name(name):
            raise self._error(number, f"Name is {shown(name)}", "give the name of a slot")
        return name

    def _error(self, number: int, problem: str, cure: str) -> InvalidAdError:
        return InvalidAdError(source=self._source.name, number=number, problem=problem, cure=cure)


def _is_name(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and not is_expression(text)


def _texts(found: RepeatedAds, names: dict[str, str], lower: str) -> list[str]:
    """Return an attribute of all ads; empty where it is no text."""
    column = found.varying.get(names.get(lower, ""))
    if column is None:
        return [_text(found.ad, names, lower)] * found.size
    return [value if isinstance(value, str) else "" for value in column]


def _addresses(found: RepeatedAds, names: dict[str, str]) -> list[str]:
    addresses = _texts(found, names, "myaddress")
    if all(addresses):
        return addresses
    return [one or other for one, other in zip(addresses, _texts(found, names, "startdipaddr"), strict=True)]


def _without_draining(ad: Ad, names: dict[str, str]) -> tuple[bool, Ad]:
    """Return whether a slot is being drained, and its ad without that."""
    if ad.get(names.get("draining", "")) is not True:
        return False, ad
    return True, {attribute: value for attribute, value in ad.items() if attribute != names["draining"]}


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
    schedd, _, rest = _text(ad, names, "globaljobid").partition("#")
    job = _JOB_ID.fullmatch(_text(ad, names, "jobid") or rest.partition("#")[0])
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
