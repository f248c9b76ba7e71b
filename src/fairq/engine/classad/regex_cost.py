"""A bound on the number of steps to match a regular expression, computed from the pattern's text."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

_UNBOUNDED: Final = r"[*+]|\{\d*,\d*\}|\{\d+\}"
_RISKY: Final = r"\(\?(?![:imsxU-]*[:)])|\(\*|\\[1-9gkKRXpP]|\(\?[imsxU-]*R|\[\["
"""Look-arounds, back references, recursion, verbs, named classes: no bound is computed for them."""

_LONGEST: Final = 1000


@lru_cache(maxsize=5_000)
def match_steps(pattern: str) -> tuple[float, int]:
    """Return *f* and *p* if matching *pattern* against n characters takes at most about f times n to the *p* steps.

    A repetition may try every length; without ``^`` a match may start at every character; each choice multiplies the
    steps. A repeated group with a repetition or a choice inside takes exponentially many steps: *f* is infinite.
    *f* is infinite also if no bound can be computed.
    """
    if len(pattern) > _LONGEST or re.search(_RISKY, pattern):
        return math.inf, 0
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain).replace("(?:", "(")
    if _repeats_a_group(plain):
        return math.inf, 0
    starts = 0 if plain.startswith("^") and "|" not in plain else 1
    return _choices(plain), starts + len(re.findall(_UNBOUNDED, plain))


def _choices(plain: str) -> float:
    """Return the number of ways through a pattern, without the lengths of its repetitions."""
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
    """Return whether a repeated group has a repetition or a choice inside."""
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
