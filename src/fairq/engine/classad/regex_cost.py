"""How many steps matching a regular expression may take: a bound, told from the pattern's text."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

_UNBOUNDED: Final = re.compile(r"[*+]|\{\d*,\d*\}|\{\d+\}")
_RISKY: Final = re.compile(r"\(\?(?![:imsxU-]*[:)])|\(\*|\\[1-9gkKRXpP]|\(\?[imsxU-]*R|\[\[")
"""Look-arounds, back references, recursion, verbs, classes by name: their cost is not told."""

_COUNT_AT_MOST: Final = 1000


@lru_cache(maxsize=5_000)
def steps_power(pattern: str) -> float:
    """Return *p* if matching *pattern* against n characters takes at most about n to the *p* steps, else infinity.

    A repetition may try every length, and without ``^`` every place is a start. A repetition of what repeats, or of
    what offers a choice, takes exponentially many.
    """
    if len(pattern) > _COUNT_AT_MOST or _RISKY.search(pattern):
        return math.inf
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)
    if _repeats_a_group(plain):
        return math.inf
    starts = 0 if plain.startswith("^") and "|" not in plain else 1
    return starts + len(_UNBOUNDED.findall(plain))


def _repeats_a_group(plain: str) -> bool:
    """Tell whether a group that repeats or chooses within itself is repeated."""
    opened: list[int] = []
    for place, character in enumerate(plain):
        if character == "(":
            opened.append(place)
        elif character == ")":
            if not opened:
                return True
            inside = plain[opened.pop() + 1 : place]
            if re.match(r"[*+?{]", plain[place + 1 :]) and re.search(r"[*+?{|]", inside.removeprefix("?:")):
                return True
    return bool(opened)
