"""Shorten user's texts in messages: enough to recognise them, never a screenful."""

from __future__ import annotations

import re

QUOTED_AT_MOST = 200
"""Maximum number of characters of one value in a message."""

_SENTENCE_AT_MOST = 1000
_GAP = "..."

_LONG = (
    rf"(?<!\w)'[^']{{{QUOTED_AT_MOST - 1},}}'(?!\w)"
    rf'|(?<!\w)"[^"]{{{QUOTED_AT_MOST - 1},}}"(?!\w)'
    rf"|\S{{{QUOTED_AT_MOST + 1},}}"
)
"""A value inside a sentence that is too long: in quotes, or without blanks."""


def shortened(text: str, limit: int = QUOTED_AT_MOST) -> str:
    """Return *text* with at most *limit* characters: the middle is left out, because the ends identify a text best."""
    if len(text) <= limit:
        return text
    end = (limit - len(_GAP)) // 3
    return text[: limit - len(_GAP) - end] + _GAP + text[-end:]


def shortened_sentence(text: str) -> str:
    """Return *text*, a sentence that may quote values, with each long value shortened."""
    if len(text) <= QUOTED_AT_MOST:
        return text
    return shortened(re.sub(_LONG, lambda match: shortened(match[0]), text), _SENTENCE_AT_MOST)
