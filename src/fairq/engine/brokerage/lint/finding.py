"""One likely misconfiguration, as data: the command line has the words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """A likely misconfiguration of a queue.

    Attributes:
        queue: the queue; empty if no queue is concerned.
        field: the field of the queue, or of another record about it.
        kind: a short name that stays the same, for scripts.
        value: the value of the field.
        problem: the exact problem, which selects the words.
        facts: the values that the words contain.
    """

    queue: str
    field: str
    kind: str
    value: str
    problem: str
    facts: Mapping[str, Any]


def finding(queue: str, field: str, kind: str, value: str, problem: str = "", /, **facts: Any) -> Finding:
    """Return a finding; the problem is the kind if a kind has only one problem."""
    return Finding(queue, field, kind, value, problem or kind, facts)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word of *words* that is nearest to *word*, ignoring case and punctuation."""
    plain = {_plain(candidate): candidate for candidate in sorted(words)}
    if _plain(word) in plain:
        return plain[_plain(word)]
    close = get_close_matches(_plain(word), plain, 1, 0.75)
    return plain[close[0]] if close else None


def number(value: float | None) -> str:
    """Return a number as text, without a needless fraction; none for None."""
    return "none" if value is None else f"{value:g}" if value != int(value) else str(int(value))


def _plain(word: str) -> str:
    return "".join(sign for sign in word.lower() if sign.isalnum())
