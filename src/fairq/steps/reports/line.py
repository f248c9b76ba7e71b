"""One line of a report: sums, and figures computed from them."""

from __future__ import annotations

from array import array

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

_MEDIAN, _HIGH = 0.5, 0.95


class Line(Struct):
    """The sums of one user, group, slot or period, named by *keys*; *start_time* is the start of the period.

    *jobs* ended; *failed* of them exited with a code other than 0 or by a signal, *removed* were removed. *runs* took
    *slot_seconds*, or *weighted_seconds* by slot weight. The accountant charged *charged_seconds* by slot weight; edits
    added *edited_seconds*, imports *imported_seconds*. While there was demand, the entitlement was *entitled_seconds*
    and the charge *delivered_seconds*, both by slot weight; that was for *wanting_seconds*. Preempted runs had taken
    *lost_seconds* by slot weight. *borrowed_seconds* by slot weight were above the quotas of groups. *measured* jobs
    used *cpu_seconds* of CPU time within *core_seconds* of requested cores.
    """

    keys: tuple[str, ...]
    start_time: int | None = None
    jobs: int = 0
    failed: int = 0
    removed: int = 0
    runs: int = 0
    slot_seconds: float = 0.0
    weighted_seconds: float = 0.0
    charged_seconds: float = 0.0
    edited_seconds: float = 0.0
    imported_seconds: float = 0.0
    entitled_seconds: float = 0.0
    delivered_seconds: float = 0.0
    wanting_seconds: float = 0.0
    lost_seconds: float = 0.0
    borrowed_seconds: float = 0.0
    measured: int = 0
    cpu_seconds: float = 0.0
    core_seconds: float = 0.0
    waits: array[int] = field(default_factory=lambda: array("q"))

    def add(self, other: Line) -> None:
        """Add the sums of another line."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.waits.extend(other.waits)

    @property
    def is_empty(self) -> bool:
        """Whether all sums are 0."""
        return not any(getattr(self, name) for name in _SUMS)

    @property
    def cpu_efficiency(self) -> float | None:
        """CPU time divided by the time of the requested cores; None if nothing was measured."""
        return self.cpu_seconds / self.core_seconds if self.core_seconds else None

    @property
    def met(self) -> float | None:
        """The delivered fraction of the entitlement while there was demand; None without an entitlement."""
        return self.delivered_seconds / self.entitled_seconds if self.entitled_seconds else None

    def wait_quantiles(self) -> tuple[float, float] | tuple[None, None]:
        """Return the median and the 95 % quantile of the jobs' wait in seconds; None if no job ran."""
        if not self.waits:
            return None, None
        ordered = np.sort(np.frombuffer(self.waits, np.int64))
        return _quantile(ordered, _MEDIAN), _quantile(ordered, _HIGH)


_SUMS = tuple(name for name in Line.__struct_fields__ if name not in ("keys", "start_time", "waits"))


def _quantile(ordered: NDArray[np.int64], share: float) -> float:
    """Return the quantile *share* (0 to 1) of ordered numbers, interpolated linearly."""
    position = share * (len(ordered) - 1)
    lower = int(position)
    upper = min(lower + 1, len(ordered) - 1)
    return float(ordered[lower] + (position - lower) * (ordered[upper] - ordered[lower]))
