"""Bars in table cells for a fraction of a total, in eighths of a cell if the terminal shows them, else in ASCII."""

from __future__ import annotations

import math
import os
from typing import TextIO

WIDTH = 8
"""Width of a bar in cells, without its number."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"


def draws_blocks(stream: TextIO) -> bool:
    """Return whether *stream* is a terminal that shows block characters; the Linux console shows only some."""
    try:
        (_EIGHTHS + _FULL).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "linux")


def bar(amount: float, total: float, *, blocks: bool) -> str:
    """Return a bar of *amount* of *total* followed by its percentage; a ``+`` if the amount is larger than the total.

    If *total* is 0, there is no percentage: the bar is empty, or ``+`` if something is used anyway.
    """
    ratio = amount / total if total > 0 else math.inf if amount > 0 else 0.0
    mark = "+" if ratio > 1 + 1e-9 else " "
    drawn = _blocks(min(ratio, 1.0)) if blocks else _ascii(min(ratio, 1.0))
    number = f"{min(ratio, 99.99):.0%}" if total > 0 else "-"
    return f"{drawn}{mark}{number:>4}"


def _blocks(ratio: float) -> str:
    eighths = round(ratio * WIDTH * 8)
    if ratio > 0:
        eighths = max(1, eighths)  # show a small part as one eighth
    full, remainder = divmod(eighths, 8)
    return (_FULL * full + (_EIGHTHS[remainder] if remainder else "")).ljust(WIDTH)


def _ascii(ratio: float) -> str:
    full = round(ratio * WIDTH)
    return ("#" * (max(1, full) if ratio > 0 else full)).ljust(WIDTH, ".")
