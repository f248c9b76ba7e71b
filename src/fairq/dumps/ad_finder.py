"""Finds ads of one text, in which most values vary, by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, repeat, zip_longest

_LONG = 40
"""From so many characters on, of a text between values only the ends stand in the expression."""

_ENDS = 8

_NEAR = 1 << 14
_FAR = 1 << 22
"""Characters to search at a time: few after a search that found ads only at its beginning, more after another."""


class AdFinder:
    """Finds ads that have the same *literals*, and values of certain forms between them."""

    def __init__(self, literals: Sequence[str], forms: Iterable[str]) -> None:
        """Look for ads of *literals*, the first of which includes what stands between two ads, and values of *forms*.

        A form is a regular expression without groups.
        """
        self.literals = literals
        groups = (f"({form})" for form in forms)
        parts = chain.from_iterable(zip_longest(map(_outline, literals), groups, fillvalue=""))
        # What follows the last ad is one match, so that no ad is searched in it.
        self._find = re.compile("".join(parts) + "|(.).*", re.DOTALL).findall
        self._reach = _NEAR

    def ads(self, text: str, at: int) -> tuple[Sequence[Sequence[str]], int] | None:
        """Return the texts of values, by column, of the ads from *at* on, and where the last ad ends; None if none is.

        Call it again for those behind that end.
        """
        found = self._find(text, at, at + self._reach)
        if found and found[-1][-1]:
            del found[-1]
        if not found:
            return None
        columns: Sequence[Sequence[str]] = list(zip(*found, strict=True))[:-1]
        # The expression passes over the inside of long literals. Putting the ads together and comparing all of their
        # text takes less time than matching it character by character.
        together = "".join(chain.from_iterable(self._pieces(columns)))
        end = at + len(together)
        if not text.startswith(together, at):
            size, end = 0, at
            for ad in map("".join, self._pieces(columns)):
                if not text.startswith(ad, end):
                    break
                size += 1
                end += len(ad)
            columns = [column[:size] for column in columns]
        self._reach = min(max(2 * (end - at), _NEAR), _FAR)
        return (columns, end) if end > at else None

    def _pieces(self, columns: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
        """Return the texts of each ad: literals and values in turn."""
        *before, last = self.literals
        return zip(*chain.from_iterable(zip(map(repeat, before), columns, strict=True)), repeat(last), strict=False)


def _outline(literal: str) -> str:
    """Return an expression for texts of the length of *literal* that begin and end like it."""
    if len(literal) < _LONG:
        return re.escape(literal)
    return f"{re.escape(literal[:_ENDS])}.{{{len(literal) - 2 * _ENDS}}}{re.escape(literal[-_ENDS:])}"
