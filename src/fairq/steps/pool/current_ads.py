"""The current ads of the slots, as advertised, divided, claimed and drained, and how many slots there are of a kind.

A listing of all slots reads them in pages: the first ones are shown while the others have not been read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from fairq.common.records import Ad, Claim, SlotRecord
from fairq.state import claims, dynamic_slots, history, slots
from fairq.state.connection import State, reading
from fairq.steps.pool.claimed_ads import with_claim, with_draining
from fairq.steps.pool.reservation_clause import reserved_slots, with_reservations

DRAIN_NAMES = ("LastDrainStartTime", "DrainedBy", "DrainReason")
"""The attributes of a drained slot's ad that tell it; names of HTCondor's startd, except the second one."""

_LOOKED_AT = 20
"""Number of changes of a slot among which the last drain is looked for."""


def drain_records(state: State) -> dict[str, Ad]:
    """Return the values of `DRAIN_NAMES` of all drained slots, as far as the history knows them, by name."""
    return {name: record for name in slots.draining_names(state) if (record := _record(state, name))}


def _record(state: State, name: str) -> Ad:
    for entry in reversed(history.load(state, _LOOKED_AT, subject=f"slot {name}")):
        if isinstance(entry.after, dict) and entry.after.get("Draining") is True:
            reason = entry.reason or entry.after.get("Reason")
            values = zip(DRAIN_NAMES, (entry.time, entry.user, reason), strict=True)
            return {attribute: value for attribute, value in values if value is not None}
    return {}


def look(path: Path, names: Sequence[str], now: int) -> list[Ad]:
    """Return the current ads at *now* of the pool's slots (all, or the named ones) in pool order.

    Raises UnknownSlotError.
    """
    with reading(path) as state:
        if not names:
            return list(current_ads(state, now))
        from fairq.steps.pool.slots import named  # a listing of all slots does without

        chosen = {slot.id: slot for name in dict.fromkeys(names) for slot in named(state, name)}
        return part_ads(state, [slot for _, slot in sorted(chosen.items())], now)


def current_ads(state: State, now: int, skip: int = 0) -> Iterator[Ad]:
    """Return the current ads at *now* of all slots in pool order, without the first ones; all is read from *state*."""
    from fairq.steps.pool.current_slots import load_current  # the first page of a listing does without

    held = claims.load_table(state)
    ads = islice(load_current(state, held, now).ads, skip, None)
    drains = drain_records(state)
    return ({**ad, **drains.get(ad["Name"], _NOTHING)} for ad in ads) if drains else ads


def part_ads(state: State, part: Sequence[SlotRecord], now: int) -> list[Ad]:
    """Return the current ads at *now* of a few slots, with the rest of their stored ads and their claims."""
    dynamic = dynamic_slots.families(state, (slot.id for slot in part))
    if dynamic:
        from fairq.steps.pool.dynamic_slots import lay_out

        lay_out(state, part, dynamic)
    held = {claim.slot_id: claim for claim in claims.of_slots(state, (slot.id for slot in part))}
    drains = drain_records(state) if any(slot.draining for slot in part) else {}
    ads = [current_ad(slot, held.get(slot.id), now) | drains.get(slot.name, _NOTHING) for slot in part]
    reserved = reserved_slots(state, now)
    for number, slot in enumerate(part) if reserved else ():
        if (reservations := reserved.get(slot.id)) is not None:
            ads[number] = with_reservations(ads[number], reservations)
    return ads


def current_ad(slot: SlotRecord, claim: Claim | None, now: int) -> Ad:
    """Return the current ad of *slot*: as advertised, with its claim and its draining."""
    ad = slot.ad if claim is None else with_claim(slot.ad, claim, now)
    return with_draining(ad) if slot.draining else ad


_NOTHING: Ad = {}

Kind = tuple[str, ...]
"""Arch, OpSys and State of a slot; empty if its ad has none."""

_KIND = ("Arch", "OpSys", "State")


def look_first(path: Path, limit: int, now: int) -> tuple[list[Ad], Iterator[Ad]]:
    """Return the ads at *now* of the first *limit* slots, in pool order, and the totals of all, counted by column."""
    from fairq.steps.pool.current_slots import load_current

    with reading(path) as state:
        first = part_ads(state, slots.load_first(state, limit), now)
        ads = load_current(state, claims.load_table(state), now).ads
        return first, totals_of(Counter(zip(*(map(str, ads.column(name, "")) for name in _KIND), strict=True)))


def totals(ads: Iterable[Ad]) -> Iterator[Ad]:
    """Return the number of slots by platform and state, then the sum of all (``Platform``: ``Total``)."""
    return totals_of(Counter(map(_kind, ads)))


def _kind(ad: Ad) -> Kind:
    return tuple(str(ad.get(name, "")) for name in _KIND)


def totals_of(counts: Mapping[Kind, int]) -> Iterator[Ad]:
    """Yield the same for the numbers of slots of each kind."""
    by_platform: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for (*platform, state), count in counts.items():
        row = Counter({"Total": count, state.capitalize(): count})
        by_platform.setdefault("/".join(filter(None, platform)), Counter()).update(row)
        every.update(row)
    for platform_name in sorted(by_platform):
        yield {"Platform": platform_name, **by_platform[platform_name]}
    if every:
        yield {"Platform": "Total", **every}


_PAGES = (1024, 4096)
"""Number of slots in the pages that are read singly.

The first page is more than a screenful. While the second one is read, a program such as head has read its lines and
ended.
"""


class SlotPages:
    """One consistent reading of the current ads of all slots, in pool order.

    The state is open, and its writers wait, until all slots are read: at `release`, or when the ads are at an end.
    """

    def __init__(self, state: State, close: Callable[[], None], now: int) -> None:
        """Read from *state* the ads at *now* (seconds since 1970); *close* closes the state."""
        self._state: State | None = state
        self._close = close
        self._now = now
        self._read = 0
        self._last = -1
        self._rest: Iterator[Ad] = iter(())
        self.has_drained = bool(drain_records(state))
        """Whether the ads tell why slots are drained."""
        self._counts: Counter[Kind] = Counter()
        self._widest = {
            "Name": "x" * slots.longest_name(state),
            "State": "Unclaimed",
            "RemoteUser": "x" * claims.longest_submitter(state),
        }
        self._first = self._page(_PAGES[0])
        self.has_gpus = has_gpus(self._first)
        """Whether a slot of the first page has GPUs."""

    def widest(self) -> list[Ad]:
        """Return an ad as wide as any, where a query tells the width."""
        return [self._widest]

    def ads(self) -> Iterator[Ad]:
        """Yield the ads."""
        for ad in self._ads():
            self._counts[_kind(ad)] += 1
            yield ad

    def totals(self) -> Iterator[Ad]:
        """Yield the number of slots by platform and state, of those so far; see `totals`."""
        return totals_of(self._counts)

    def release(self) -> None:
        """Read what has not been read yet, and close the state."""
        if self._state is None:
            return
        self._rest = current_ads(self._state, self._now, skip=self._read)
        self._state = None
        self._close()

    def _ads(self) -> Iterator[Ad]:
        yield from self._first
        for size in _PAGES[1:]:
            yield from self._page(size)
        self.release()
        yield from self._rest

    def _page(self, size: int) -> list[Ad]:
        if self._state is None:
            return []
        page = slots.load_first(self._state, size, self._last)
        ads = part_ads(self._state, page, self._now)
        self._read += len(page)
        self._last = page[-1].id if page else self._last
        if len(page) < size:
            self.release()
        return ads


def has_gpus(ads: Iterable[Ad]) -> bool:
    """Return whether one of the slots has GPUs."""
    return any(ad.get("GPUs") for ad in ads)


@contextmanager
def slot_pages(path: Path, now: int) -> Iterator[SlotPages]:
    """Open the slots of the state at *path*, see `SlotPages`."""
    with ExitStack() as stack:
        state = stack.enter_context(reading(path))
        yield SlotPages(state, stack.close, now)
