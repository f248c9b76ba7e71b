"""How many steps matching a regular expression may take: a bound, told from the pattern's text."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

_UNBOUNDED: Final = re.compile(r"[*+]|\{\d*,\d*\}|\{\d+\}")
_RISKY: Final = re.compile(r"\(\?(?![:imsxU-]*[:)])|\(\*|\\[1-9gkKRXpP]|\(\?[imsxU-]*R|\[\[")
"""Look-arounds, back references, recursion, verbs, classes by name: their cost is not told."""

_LONGEST: Final = 1000


@lru_cache(maxsize=5_000)
def match_steps(pattern: str) -> tuple[float, int]:
    """Return *f* and *p* if matching *pattern* against n characters takes at most about f times n to the *p* steps.

    A repetition may try every length, and without ``^`` every place is a start; each choice multiplies. A repetition
    of what repeats, or of what offers a choice, takes exponentially many: *f* is infinite, as where it cannot be told.
    """
    if len(pattern) > _LONGEST or _RISKY.search(pattern):
        return math.inf, 0
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain).replace("(?:", "(")
    if _repeats_a_group(plain):
        return math.inf, 0
    starts = 0 if plain.startswith("^") and "|" not in plain else 1
    return _choices(plain), starts + len(_UNBOUNDED.findall(plain))


def _choices(plain: str) -> float:
    """Return how many ways there are through a pattern beside the lengths of its repetitions."""
    ways = 2.0 ** plain.count("?")
    alternatives = [1]
    for character in plain:
        if character == "(":
            alternatives.append(1)
        elif character == "|":
            alternatives[-1] += 1
        elif character == ")":
            ways *= alternatives.pop()
    return ways * alternatives[0]


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
            if re.match(r"[*+?{]", plain[place + 1 :]) and re.search(r"[*+?{|]", inside):
                return True
    return bool(opened)
