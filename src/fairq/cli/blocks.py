"""Pictures from block characters, or from ASCII: spark lines, and bars without colour."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TextIO

from fairq.cli.output.text import cut, filled

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LETTERS = " .:-=+*#@"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LABEL = 24


def spark(values: Sequence[float | None], largest: float, *, plain: bool, log_from: float | None = None) -> str:
    """Return one character per value: blank for 0, a low to a full block up to *largest*, · for unknown.

    With *log_from*, the scale is logarithmic, and the lowest block is that value.
    """
    levels, unknown = (_LETTERS, "?") if plain else (_BLOCKS, "·")
    text = ""
    for value in values:
        if value is None:
            text += unknown
        elif value <= 0 or largest <= 0:
            text += levels[0]
        elif log_from is not None:
            text += levels[1 + max(0, min(7, round(7 * math.log(value / log_from, largest / log_from))))]
        else:
            text += levels[max(1, min(8, round(8 * value / largest)))]
    return text


def bar(share: float, cells: int, *, plain: bool) -> str:
    """Return a bar of *share* (0 to 1) of a given number of cells."""
    eighths = round(8 * cells * max(0.0, min(share, 1.0)))
    if plain:
        return "#" * round(eighths / 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def label(text: str, cells: int = _LABEL, *, plain: bool = False) -> str:
    """Return *text* in a given number of cells, cut in the middle if too long."""
    return filled(cut(text, cells, ".." if plain else "…"), cells)


WIDTH = 8
"""Width of a bar with a percentage in cells, without the number."""


def draws_blocks(stream: TextIO) -> bool:
    """Return whether *stream* is a terminal that shows block characters; the Linux console shows only some."""
    try:
        _EIGHTHS.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "linux")


def bar_with_percentage(amount: float, total: float, *, blocks: bool) -> str:
    """Return a bar of *amount* of *total* followed by its percentage; a ``+`` if the amount is larger than the total.

    If *total* is 0, there is no percentage: the bar is empty, or ``+`` if something is used anyway.
    """
    ratio = amount / total if total > 0 else math.inf if amount > 0 else 0.0
    mark = "+" if ratio > 1 + 1e-9 else " "
    drawn = (_in_eighths if blocks else _ascii)(min(ratio, 1.0))
    number = f"{min(ratio, 99.99):.0%}" if total > 0 else "-"
    return f"{drawn}{mark}{number:>4}"


def _in_eighths(ratio: float) -> str:
    eighth = 1 / (8 * WIDTH)  # a small part is shown as one eighth
    return bar(max(ratio, eighth) if ratio > 0 else 0.0, WIDTH, plain=False).ljust(WIDTH)


def _ascii(ratio: float) -> str:
    full = round(ratio * WIDTH)
    return ("#" * (max(1, full) if ratio > 0 else full)).ljust(WIDTH, ".")
