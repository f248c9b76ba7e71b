"""Suggest the known word that is most like a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the word of *words* that is most like *word*, ignoring case, or None.

    *cutoff* is the least likeness of a suggested word, from 0 to 1 (`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in words}
    close = get_close_matches(word.lower(), by_lower, 1, cutoff)
    return by_lower[close[0]] if close else None
