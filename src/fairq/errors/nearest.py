"""Suggesting the known word that is most like a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the one of *known* that is most like *word*, whatever their case, or None.

    *least* is the likeness from which on a word is suggested, from 0 to 1 (`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches

    by_lower = {one.lower(): one for one in known}
    close = get_close_matches(word.lower(), by_lower, 1, least)
    return by_lower[close[0]] if close else None
