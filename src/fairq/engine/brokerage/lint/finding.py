"""One thing that hardly anybody wants."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple


class Finding(NamedTuple):
    """What is odd about a queue, and how to mend it.

    Args:
        queue: the queue; empty if it is about none.
        field: the field of the queue, or of what is told of it.
        kind: a short name that stays the same, for scripts.
        value: what stands there.
        meaning: what it means now, to the brokerage.
        cure: what to write instead, or to look at.
    """

    queue: str
    field: str
    kind: str
    value: str
    meaning: str
    cure: str


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of *known* that *word* was probably meant to be, whatever its case and signs."""
    plain = {_plain(one): one for one in sorted(known)}
    if _plain(word) in plain:
        return plain[_plain(word)]
    close = get_close_matches(_plain(word), plain, 1, 0.75)
    return plain[close[0]] if close else None


def perhaps(word: str, known: Iterable[str]) -> str:
    """Return the advice to write the nearest of *known*, or any of them."""
    known = list(known)
    close = nearest(word, known)
    return f"write {close}" if close else f"write {', '.join(known[:-1])} or {known[-1]}"


def number(value: float | None) -> str:
    """Return a number as people write it."""
    return "none" if value is None else f"{value:g}" if value != int(value) else str(int(value))


def _plain(word: str) -> str:
    return "".join(sign for sign in word.lower() if sign.isalnum())
