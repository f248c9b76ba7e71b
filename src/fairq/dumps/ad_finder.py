"""Finds ads of one text, in which most values vary, by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairq.interleaved import interleaved

_LONG = 8
"""From so many characters on, of a text between values only the ends stand in the expression."""

_ENDS = 2

_NEAR = 1 << 14
_FAR = 1 << 22
"""Characters to search at a time: few after a search that found ads only at its beginning, more after another."""

_NUMERALS = list(map(str, range(1000)))
"""Most procs are among these numbers: to write each anew takes as long as to join them."""

_NUMBER = re.compile("-?(?:0|[1-9][0-9]{0,17})")


class FoundAds(NamedTuple):
    """Ads that were found, a row each, or a row for each run of them.

    Args:
        columns: the texts of their values, by column, without the one that is counted.
        firsts: the number that is counted in the first ad of each row; none if none is counted.
        lasts: the same in the last ad of each row.
        size: how many ads there are.
        end: where the last one ends.
    """

    columns: Sequence[Sequence[str]]
    firsts: Sequence[int]
    lasts: Sequence[int]
    size: int
    end: int


class AdFinder:
    """Finds ads that have the same *literals*, and values of certain forms between them."""

    def __init__(self, literals: Sequence[str], forms: Sequence[str], counted: int | None = None) -> None:
        """Look for ads of *literals*, the first of which includes what stands between two ads, and values of *forms*.

        A form is a regular expression without groups. The value at the place *counted* is a whole number: ads in
        succession that differ in it alone, each by one more than the ad before, are a run.
        """
        self.literals = literals
        self._counted = counted
        outlines = list(map(_outline, literals))
        one = _joined(outlines, [f"({form})" for form in forms])
        if counted is not None:
            same = [f"({form})" if at == counted else rf"(?:\{at + 1})" for at, form in enumerate(forms)]
            one += f"(?:{_joined(outlines, same)})*"
        # What follows the last ad is one match, so that no ad is searched in it.
        self._find = re.compile(f"{one}|(.).*", re.DOTALL).findall
        self._reach = _NEAR

    def ads(self, text: str, at: int) -> FoundAds | None:
        """Return the ads from *at* on; None if there is none. Call it again for those behind their end."""
        rows = self._find(text, at, at + self._reach)
        if rows and rows[-1][-1]:
            del rows[-1]
        if not rows:
            return None
        *columns, _ = zip(*rows, strict=True)
        # The expression passes over the inside of long literals. Putting the ads together and comparing all of their
        # text takes less time than matching it character by character.
        if self._counted is None:
            found = self._compared(text, at, columns)
        else:
            *columns, lasts = columns
            found = self._counted_out(text, at, columns, lasts, self._counted)
        self._reach = min(max(2 * (found.end - at), _NEAR), _FAR)
        return found if found.end > at else None

    def _compared(self, text: str, at: int, columns: Sequence[Sequence[str]]) -> FoundAds:
        """Return the ads as far as *text* has all of their text."""
        together = "".join(interleaved(self.literals, columns))
        if text.startswith(together, at):
            return FoundAds(columns, (), (), len(columns[0]), at + len(together))
        size = 0
        for ad in interleaved(self.literals, columns):
            if not text.startswith(ad, at):
                break
            size += 1
            at += len(ad)
        return FoundAds([column[:size] for column in columns], (), (), size, at)

    def _counted_out(
        self, text: str, at: int, columns: Sequence[Sequence[str]], last_texts: Sequence[str], counted: int
    ) -> FoundAds:
        """Return the runs as far as *text* has all of their text."""
        before, after = columns[:counted], columns[counted + 1 :]
        heads = interleaved(self.literals[: counted + 1], before)
        tails = interleaved(self.literals[counted + 1 :], after)
        most = at + self._reach
        rows: list[int] = []
        firsts: list[int] = []
        lasts: list[int] = []
        for row, (head, first_text, last_text, tail) in enumerate(
            zip(heads, columns[counted], last_texts, tails, strict=False)
        ):
            first, last = int(first_text), int(last_text or first_text)
            run = None
            if not last_text:
                run = f"{head}{first_text}{tail}"
            elif first < last and at + (last - first) * (len(head) + len(tail)) <= most:
                are_known = first >= 0 and last < len(_NUMERALS)
                texts = _NUMERALS[first : last + 1] if are_known else map(str, range(first, last + 1))
                run = f"{head}{f'{tail}{head}'.join(texts)}{tail}"
            if run is not None and text.startswith(run, at):
                rows.append(row)
                firsts.append(first)
                lasts.append(last)
                at += len(run)
                continue
            # A number may be missing, or another one come in between.
            start = at
            for number, end in _numbers_between(head, tail, text, at):
                at = end
                if rows and rows[-1] == row and number == lasts[-1] + 1:
                    lasts[-1] = number
                else:
                    rows.append(row)
                    firsts.append(number)
                    lasts.append(number)
            if at == start:
                break
        columns = [*before, *after]
        if rows != [*range(len(columns[0]) if columns else 0)]:
            columns = [[column[row] for row in rows] for column in columns]
        return FoundAds(columns, firsts, lasts, sum(lasts) - sum(firsts) + len(rows), at)


def _numbers_between(head: str, tail: str, text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the number of each ad of *head* and *tail* from *at* on, and where the ad ends."""
    while text.startswith(head, at):
        number = _NUMBER.match(text, at + len(head))
        if number is None or not text.startswith(tail, number.end()):
            return
        at = number.end() + len(tail)
        yield int(number[0]), at


def _joined(literals: Sequence[str], values: Sequence[str]) -> str:
    first, *others = literals
    return first + "".join(f"{value}{literal}" for value, literal in zip(values, others, strict=True))


def _outline(literal: str) -> str:
    """Return an expression for texts of the length of *literal* that begin and end like it."""
    if len(literal) < _LONG:
        return re.escape(literal)
    return f"{re.escape(literal[:_ENDS])}.{{{len(literal) - 2 * _ENDS}}}{re.escape(literal[-_ENDS:])}"
