"""What differs between a value found and the one wanted, in words."""

from __future__ import annotations

import math
from typing import Any


def differences(found: Any, wanted: Any, at: str = "") -> list[str]:
    """Return one line for each part of *wanted* that *found* has not; numbers are compared to nine digits.

    Whole objects are compared: a key that only one of them has is a difference.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        lines = []
        for key in {**wanted, **found}:
            place = f"{at}.{key}" if at else str(key)
            if key not in wanted:
                lines.append(f"{place} is {found[key]!r}, expected none")
            elif key not in found:
                lines.append(f"{place} is missing, expected {wanted[key]!r}")
            else:
                lines.extend(differences(found[key], wanted[key], place))
        return lines
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        return [
            line
            for number, (one, other) in enumerate(zip(found, wanted, strict=True))
            for line in differences(one, other, f"{at}[{number}]")
        ]
    return [] if _is_same(found, wanted) else [f"{at or 'result'} is {found!r}, expected {wanted!r}"]


def _is_same(found: Any, wanted: Any) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, (int, float)) and isinstance(wanted, (int, float)):
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == wanted)
