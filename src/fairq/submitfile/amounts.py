"""Amounts with units: ``512M``, ``2 GB``, ``1.5T``."""

from __future__ import annotations

import re

_AMOUNT = re.compile(r"(-?\d{1,30}(?:\.\d*)?)\s*(?:([kmgt])b?)?", re.IGNORECASE | re.ASCII)
_BYTES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def amount(text: str, unit: int) -> int | None:
    """Return *text* in units of *unit* bytes, rounded up; a bare number is in that unit already.

    None if *text* is not an amount. Source: ``parse_int64_bytes``.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    whole, _, fraction = found[1].partition(".")
    scale = _BYTES[found[2].lower()] if found[2] else unit
    thousandths = int((fraction + "000")[:3])
    thousandths = int(whole) * 1000 + (-thousandths if whole.startswith("-") else thousandths)
    return -(-(thousandths * scale) // (1000 * unit))
