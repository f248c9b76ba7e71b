"""The storage of a priority in DIRAC: four decimals in a statement, a 4-byte FLOAT in the table (docs/dirac.md 3.4)."""

from __future__ import annotations

import struct


def as_written(priority: float) -> str:
    """Return the text with which DIRAC sets a queue's priority."""
    return f"{priority:.4f}"


def as_selected(text: str) -> float:
    """Return the result of a query for a priority that was set with *text*: six digits of a 4-byte number."""
    (stored,) = struct.unpack("f", struct.pack("f", float(text)))
    return float(f"{stored:.6g}")
