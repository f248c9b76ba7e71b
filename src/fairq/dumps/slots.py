"""The slots of a dump, and the jobs that they run according to their ads."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct, field

from fairq.dumps.ads import Soundness, Spellings, read_ads, shown
from fairq.dumps.kinds import SLOT, Sorter
from fairq.dumps.source import Source
from fairq.errors.pool import DuplicateAdError, InvalidAdError
from fairq.records import Ad, SlotRecord
from fairq.versions import Version, newest

_IN_USE = {"claimed", "preempting"}
_JOB_ID = re.compile(r"([0-9]{1,10})\.([0-9]{1,10})")


class SlotDump(Struct):
    """The slots of a dump in its order, the number of ads left out by reason, and the newest CondorVersion."""

    slots: list[SlotRecord]
    left_out: Counter[str] = field(default_factory=Counter)
    version: Version | None = None


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
    dump = SlotDump([])
    soundness = Soundness(source)
    sorter = Sorter(source, SLOT)
    spellings = Spellings("name", "myaddress", "startdipaddr", "draining", "condorversion")
    versions: set[str] = set()
    numbers: dict[tuple[str, str], int] = {}
    for number, found in enumerate(read_ads(source), 1):
        ad = soundness.tidied(found, number)
        if not sorter.wants(ad):
            continue
        names = spellings.of(ad)
        name = _name(source, ad, names, number)
        versions.add(_text(ad, names, "condorversion"))
        address = _text(ad, names, "myaddress") or _text(ad, names, "startdipaddr")
        first = numbers.setdefault((name, address), number)
        if first != number:
            raise DuplicateAdError(source=source.name, number=number, what=f"slot {name}", first=first)
        draining = ad.get(names.get("draining", "")) is True
        if draining:
            ad = {attribute: value for attribute, value in ad.items() if attribute != names["draining"]}
        dump.slots.append(SlotRecord(len(dump.slots) + 1, name, ad, address, draining))
    sorter.check()
    dump.left_out += sorter.left_out
    dump.version = newest(*versions)
    return dump


def _name(source: Source, ad: Ad, names: dict[str, str], number: int) -> str:
    if "name" not in names:
        raise InvalidAdError(
            source=source.name, number=number, problem="it has no Name", cure="add a Name to every slot ad"
        )
    name = ad[names["name"]]
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or name.startswith("/Expr("):
        raise InvalidAdError(
            source=source.name, number=number, problem=f"Name is {shown(name)}", cure="give the name of a slot"
        )
    return name


def _text(ad: Ad, names: dict[str, str], lower: str) -> str:
    value = ad.get(names.get(lower, ""))
    return value if isinstance(value, str) else ""


_STARTS = ("jobstart", "enteredcurrentactivity", "enteredcurrentstate")
_LIMITS = ("matchedconcurrencylimits", "concurrencylimits")
_GROUPS = ("remotenegotiatinggroup", "remoteautoregroup")
_USE = Spellings("state", "jobid", "globaljobid", *_STARTS, "currentrank", *_LIMITS, *_GROUPS)


def use_of(ad: Ad) -> Use | None:
    """Return the job that the slot *ad* runs; None if it runs none or does not name it."""
    names = _USE.of(ad)
    if _text(ad, names, "state").lower() not in _IN_USE:
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
