"""Pictures from block characters, for terminals and pipes: spark lines and bars without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
