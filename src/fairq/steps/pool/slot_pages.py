"""All slots of the pool in pages: the first ones are shown while the others have not been read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fairq.common.records import Ad
from fairq.state import claims, slots
from fairq.state.connection import State, reading
from fairq.steps.pool.current_ads import kind_of, part_ads, standing_ads, totals_of
from fairq.steps.pool.drain_record import drain_records

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
        self._counts: Counter[tuple[tuple[Any, ...], Any]] = Counter()
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
            self._counts[kind_of(ad)] += 1
            yield ad

    def totals(self) -> Iterator[Ad]:
        """Yield the number of slots by platform and state, of those so far; see `fairq.steps.pool.slots.totals`."""
        return totals_of(self._counts)

    def release(self) -> None:
        """Read what has not been read yet, and close the state."""
        if self._state is None:
            return
        self._rest = standing_ads(self._state, self._now, skip=self._read)
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
