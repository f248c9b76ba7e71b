"""Marks on numbers, such as slots that are taken: one byte for each number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FEW, _FIRST = 8, 256
"""So many numbers are looked at one by one, so many at once after them; then four times as many, and so on."""


def first_unmarked(marks: bytearray, order: NDArray[np.signedinteger], start: int) -> int:
    """Return the first position from *start* on whose number has no mark; the length of *order* if all have one."""
    size = len(order)
    # A call of NumPy costs as much as a look at several numbers, and mostly the answer is near.
    for at in range(start, min(start + _FEW, size)):
        if not marks[order[at]]:
            return at
    start, chunk = start + _FEW, _FIRST
    view: NDArray[np.uint8] = np.frombuffer(marks, np.uint8)
    while start < size:
        # A search in bytes is faster than a comparison of the array and a search in its result.
        found: int = view[order[start : start + chunk]].tobytes().find(0)
        if found >= 0:
            return start + found
        start += chunk
        chunk *= 4
    return size
