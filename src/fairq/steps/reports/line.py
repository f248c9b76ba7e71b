"""One line of a report: sums, and what follows from them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, fields

_MEDIAN, _HIGH = 0.5, 0.95


@dataclass(slots=True)
class Line:
    """The sums of one user, group, slot or stretch of time, named by *keys*; *start_time* is that of the stretch.

    *jobs* ended, *failed* of them with another code than 0 or by a signal, *removed* were removed. *runs* took
    *slot_seconds*, *weighted_seconds* in slot weight. *charged_seconds* is what the accountant charged in slot weight;
    *edited_seconds* what edits, and *imported_seconds* what imports added to that. While there was demand,
    *entitled_seconds* in slot weight were due, and *delivered_seconds* were charged. *cpu_seconds* were computed in
    *core_seconds* of requested cores by *measured* jobs.
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
        """Whether nothing was done by it, or for it."""
        return not any(getattr(self, name) for name in _SUMS)

    @property
    def cpu_efficiency(self) -> float | None:
        """The share of the requested cores' time that was computed in; None if nothing was measured."""
        return self.cpu_seconds / self.core_seconds if self.core_seconds else None

    @property
    def met(self) -> float | None:
        """The share of its entitlement that was delivered while there was demand; None if it had no right to any."""
        return self.delivered_seconds / self.entitled_seconds if self.entitled_seconds else None

    def wait_quantiles(self) -> tuple[float, float] | tuple[None, None]:
        """Return median and 95 % quantile of the seconds that jobs waited; None without jobs that ran."""
        if not self.waits:
            return None, None
        ordered = sorted(self.waits)
        return _quantile(ordered, _MEDIAN), _quantile(ordered, _HIGH)


_SUMS = tuple(field.name for field in fields(Line) if field.name not in ("keys", "start_time", "waits"))


def _quantile(ordered: list[int], share: float) -> float:
    """Return a quantile of ordered numbers, interpolated linearly."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
