"""Delivered and entitled shares over time, measured while there is demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.simulation.longrun import long_run_use

HOUR = 3600.0


class Party(NamedTuple):
    """A party entitled to a share: a user, and the accounting *group* whose pie it shares (empty: one pie for all)."""

    name: str
    group: str


class ShareMeter:
    """Integrates the entitlement and the use of each party while it had waiting jobs.

    The entitlement is the long-run fair share of the pool among the parties with demand, capped by each party's demand.
    It follows from the factors, within the quota allocated to the group.

    Args:
        parties: all parties. *factors*: their priority factors.
        total: the slot weight of the pool.
        start: when to begin (seconds since 1970); *window*: seconds of one window of the result.
    """

    def __init__(
        self, parties: Sequence[Party], factors: Sequence[float], total: float, start: int, window: int
    ) -> None:
        size = len(parties)
        self.parties = parties
        self._factors = np.array(factors, np.float64)
        self._total = total
        self._start = start
        self._window = window
        self._now = start
        self.used = np.zeros(size)
        self.waiting = np.zeros(size)
        """Slot weight in use (`used`) and wanted by waiting jobs (`waiting`); the caller updates both."""
        self._used_before = np.zeros(size)
        self._entitled_now = np.zeros(size)
        self._backlogged = np.zeros(size, np.bool_)
        self._ended_early = np.zeros(size)
        self._allocated: Mapping[str, float] = {}
        self._groups: dict[str, NDArray[np.intp]] = {}
        for group in sorted({party.group for party in parties}):
            self._groups[group] = np.array([n for n, party in enumerate(parties) if party.group == group], np.intp)
        self._entitled: list[NDArray[np.float64]] = []
        self._delivered: list[NDArray[np.float64]] = []
        self._busy: list[float] = []

    def allocate(self, allocated: Mapping[str, float]) -> None:
        """Set the slot weight that the last cycle allocated to each group."""
        self._allocated = allocated

    def ended(self, party: int, weight: float, early: int) -> None:
        """Count a job that ended *early* seconds before the next call of `moment`."""
        self.used[party] -= weight
        self._ended_early[party] += weight * early

    def moment(self, now: int) -> None:
        """Integrate up to *now*; the current counts apply from then on."""
        if now > self._now:
            self._integrate(now)
        self._used_before = self.used.copy()
        self._backlogged = self.waiting > 0
        self._entitled_now = self._divide()
        self._ended_early[:] = 0.0
        self._now = now

    def _integrate(self, now: int) -> None:
        span = now - self._now
        used = np.maximum(self._used_before - self._ended_early / span, 0.0)
        begin = self._now
        while begin < now:
            window = (begin - self._start) // self._window
            while len(self._entitled) <= window:
                self._entitled.append(np.zeros(len(self.parties)))
                self._delivered.append(np.zeros(len(self.parties)))
                self._busy.append(0.0)
            end = min(now, self._start + (window + 1) * self._window)
            seconds = end - begin
            self._entitled[window] += np.where(self._backlogged, self._entitled_now, 0.0) * seconds
            self._delivered[window] += np.where(self._backlogged, used, 0.0) * seconds
            self._busy[window] += float(used.sum()) * seconds
            begin = end

    def _divide(self) -> NDArray[np.float64]:
        demand = self.used + self.waiting
        entitled = np.zeros(len(demand))
        grouped = len(self._groups) > 1 or "" not in self._groups
        for group, members in self._groups.items():
            asking = members[demand[members] > 0]
            total = self._allocated.get(group, 0.0) if grouped else self._total
            if len(asking):
                entitled[asking] = long_run_use(total, self._factors[asking], demand[asking])
        return entitled

    def windows(self) -> Iterator[Window]:
        """Yield the figures of every window, in order."""
        for number, (entitled, delivered) in enumerate(zip(self._entitled, self._delivered, strict=True)):
            start = self._start + number * self._window
            length = min(self._window, self._now - start)
            capacity = self._total * length
            yield Window(start, entitled, delivered, self._busy[number] / capacity if capacity else 0.0)

    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the entitlement and the delivered use of each party, in slot-seconds while it had waiting jobs."""
        size = len(self.parties)
        return (
            np.sum([np.zeros(size), *self._entitled], axis=0),
            np.sum([np.zeros(size), *self._delivered], axis=0),
        )


class Window(NamedTuple):
    """One window: its *start*, per party the slot-seconds *entitled* and *delivered*, and the *utilisation*."""

    start: int
    entitled: NDArray[np.float64]
    delivered: NDArray[np.float64]
    utilisation: float


def jain_index(entitled: NDArray[np.float64], delivered: NDArray[np.float64]) -> tuple[float | None, int]:
    """Return Jain's index of delivered over entitled, and the number of parties entitled to at least one slot-hour.

    The index covers these n parties and lies between 1/n and 1. It is 1 if all got the same fraction of their
    entitlement, and None without such parties.
    """
    entitled_parties = entitled >= HOUR
    count = int(np.count_nonzero(entitled_parties))
    if not count:
        return None, 0
    ratio = delivered[entitled_parties] / entitled[entitled_parties]
    squares = float((ratio**2).sum())
    return (float(ratio.sum()) ** 2 / (count * squares) if squares else 1.0), count
