"""Units of the sizes and times that tasks state (docs/panda.md, Queues and Estimates; PanDA JediTaskSpec)."""

from __future__ import annotations

MIB = 2**20
GIB = 2**30
_BYTES = {"kB": 2**10, "MB": MIB, "GB": GIB}

_HS06 = "HS06sPerEvent"
_HS06_UNITS = {_HS06, f"{_HS06}Fixed", f"m{_HS06}", f"m{_HS06}Fixed"}


def work_bytes(count: float | None, unit: str | None, margin: float) -> float:
    """Return the bytes of working space of a job: 0 if none is stated, otherwise *margin* MiB are added."""
    return 0 if count is None else count * _BYTES.get(unit or "", 1) + margin * MIB


def output_bytes(count: float | None, unit: str | None) -> float:
    """Return the bytes of output per MiB of input or per event; a missing or negative number is 0."""
    if count is None or count < 0:
        return 0
    return count * _BYTES.get((unit or "")[:2], 1)


def is_per_event(unit: str | None) -> bool:
    """Return whether output grows with events and not with the size of the input."""
    return "PerEvent" in (unit or "")


def is_hs06(unit: str | None) -> bool:
    """Return whether a CPU time is in HS06 seconds an event."""
    return unit in _HS06_UNITS


def cpu_time_per_event(cpu_time: float | None, unit: str | None) -> float | None:
    """Return HS06 seconds per event; None if the task does not state its CPU time in them."""
    if not is_hs06(unit) or cpu_time is None:
        return None
    return cpu_time / 1000 if unit is not None and unit.startswith("m") else cpu_time
