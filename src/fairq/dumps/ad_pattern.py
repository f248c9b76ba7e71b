"""The text of an ad with gaps where values vary, which finds the ads that repeat it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat
from sys import maxsize
from typing import Any, NamedTuple

from fairq.dumps.ad_finder import AdFinder
from fairq.records import Ad

_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_NAME = re.compile(r'[ \t\r\n]*[{,][ \t\r\n]*"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*')
_decode = json.JSONDecoder().raw_decode

_LONGEST = 1024
"""Most characters of a value that varies."""

_SOME = 100
"""So many values show whether they repeat."""

_WORTHWHILE = 2000
"""A pattern that found so many ads, with most values new, is worth an expression.

That takes as long to make as to find these ads. Where few values are new, comparing what is between them is faster.
"""

_FEWEST = 16
"""So many ads are cut at once at first, and twice as many each time that all of them were found."""

_LONG_RUN = 50
"""After a run of so many ads that differ in some values only, others may vary in the next run."""


class _Kind(NamedTuple):
    """A kind of value that may vary: the *form* of its text, many of them on *lines*, and how to *read* a text.

    Each form is narrower than JSON's: without escapes, expressions, and numbers that fairq refuses; without the
    negative zero, which is equal to zero, too.
    """

    form: re.Pattern[str]
    lines: re.Pattern[str]
    read: Callable[[str], Any]

    @classmethod
    def of(cls, form: str, read: Callable[[str], Any]) -> _Kind:
        return cls(re.compile(form), re.compile(rf"(?:{form}\n)*+"), read)

    def read_all(self, texts: Sequence[str]) -> list[Any]:
        """Return the values of *texts* of this kind; equal texts get the same object."""
        if _repeat(texts):
            known = {text: self.read(text) for text in set(texts)}
            return list(map(known.__getitem__, texts))
        return list(texts if self.read is str else map(self.read, texts))

    def values(self, texts: list[str]) -> list[Any]:
        """Return the values of *texts* up to the first that is not of this kind."""
        if _repeat(texts) and all(map(self.form.fullmatch, set(texts))):
            return self.read_all(texts)
        # One match over all lines takes a third of the time of a match for each.
        lines = "\n".join(texts) + "\n"
        if lines.count("\n") > len(texts):
            # No value has a line break: what has one is something else, as in an ad with another order.
            return self.values(texts[: next(at for at, text in enumerate(texts) if "\n" in text)])
        end = self.lines.match(lines).end()  # type: ignore[union-attr]  # matches always
        return list(map(self.read, texts if end == len(lines) else texts[: lines.count("\n", 0, end)]))


def _repeat(texts: Sequence[str]) -> bool:
    some = texts[:_SOME]
    return 2 * len(set(some)) <= len(some)


_WHOLE = r"-?(?:0|[1-9][0-9]{0,17})"
_EXPONENT = r"[eE][-+]?[0-9]{1,2}"
_KINDS = {
    str: _Kind.of(r"(?!/Expr\()[ !#-\[\]-~]*+", str),
    int: _Kind.of(_WHOLE, int),
    float: _Kind.of(rf"(?!-0(?:\.0+)?(?![0-9.])){_WHOLE}(?:\.[0-9]{{1,30}}(?:{_EXPONENT})?|{_EXPONENT})", float),
    bool: _Kind.of("true|false", {"true": True, "false": False}.__getitem__),
}


class Repeats(NamedTuple):
    """What repeats a pattern.

    Args:
        values: the values that vary, for each ad or, if one is counted, for the first ad of each run.
        lasts: the number that is counted in the last ad of each run; None if none is.
        size: the number of ads.
        end: where the last ad ends.
        breaks: the number of all line breaks.
    """

    values: Mapping[str, list[Any]]
    lasts: Sequence[int] | None
    size: int
    end: int
    breaks: int


class AdPattern:
    """The text of an *ad*, cut where the values of some attributes stand."""

    def __init__(self, ad: Ad, cuts: Sequence[tuple[str, int, int, _Kind]], text: str, counted: str | None) -> None:
        self.ad = ad
        self._names = [name for name, _, _, _ in cuts]
        self._kinds = [kind for _, _, _, kind in cuts]
        self.counted = next((name for name, _, _, kind in cuts if name.lower() == counted and kind.read is int), None)
        """The name of the number that is counted; None if none is."""
        ends = [0, *(end for _, _, end, _ in cuts)]
        starts = [*(start for _, start, _, _ in cuts), len(text)]
        self._literals = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self._most = _FEWEST
        """How many ads are cut at once: what is cut behind a value of another kind must be cut again."""
        self._finder: AdFinder | None = None
        self._found = 0
        """How many more ads had half of these values different from the ad before than had not.

        If one is counted, how many ads it was.
        """

    @classmethod
    def of(cls, ad: Ad, text: str, varying: Collection[str], counted: str | None = None) -> AdPattern | None:
        """Return the pattern of an *ad* with this *text*; None if nothing in it can vary.

        *counted* is the name, in lower case, of a number that mostly goes up by one from ad to ad.
        """
        cuts: list[tuple[str, int, int, _Kind]] = []
        end, count = 0, 0
        while (name := _NAME.match(text, end)) is not None:
            start = name.end()
            value, end = _decode(text, start)
            count += 1
            kind = _KINDS.get(type(value)) if name[1] in varying else None
            if kind is not None:
                # A text varies between its quotes.
                inner = (start + 1, end - 1) if type(value) is str else (start, end)
                if kind.form.fullmatch(text, *inner):
                    cuts.append((name[1], *inner, kind))
        # Of an attribute given twice, the last value counts: the pattern would have to know which one that is.
        return cls(ad, cuts, text, counted) if cuts and count == len(ad) else None

    def replaces(self, other: AdPattern) -> bool:
        """Return whether this pattern fits wherever the *other* one does."""
        if self.ad.keys() != other.ad.keys():
            return False
        varying = {*self._names}
        return all(other.ad[name] == value for name, value in self.ad.items() if name not in varying)

    def is_like(self, other: AdPattern) -> bool:
        """Return whether this pattern finds what the *other* one finds."""
        return self._literals == other._literals and self._names == other._names and self._kinds == other._kinds

    def repeats(self, text: str, at: int) -> Repeats | None:
        """Return what follows *at* in *text* and repeats this ad, None if nothing does."""
        between = _BETWEEN.match(text, at)
        if between is None:
            return None
        if self._found > _WORTHWHILE:
            return self._matched(text, at, between[0])
        literals = [between[0] + self._literals[0], *self._literals[1:]]
        columns: list[list[str]] = [[] for _ in self._kinds]
        ends: list[int] = []
        varying: set[int] = set()
        run = maxsize
        while True:
            pair, places = _cut(text, at, literals, 2)
            if run < _LONG_RUN:
                # What ended the run before varies, too.
                varying.update(at for at, texts in enumerate(pair) if texts and texts[0] != columns[at][-1])
            else:
                varying.clear()
            for column, texts in zip(columns, pair, strict=True):
                column.extend(texts)
            ends += places
            if len(places) < 2 or len(ends) >= self._most:
                break
            # What is the same in two ads in succession is likely the same in those that follow: it needs no cut.
            varying.update(at for at, texts in enumerate(pair) if texts[0] != texts[1])
            steady = {place: texts[1] for place, texts in enumerate(pair) if place not in varying}
            more, places = _cut(text, ends[-1], _joined(literals, steady), self._most - len(ends))
            new = sum(texts[-1] != texts[-2] for texts in more if len(texts) > 1)
            pays = self.counted is not None or 2 * new > len(columns)
            self._found = max(0, self._found + (len(places) if pays else -len(places)))
            varied = iter(more)
            for place, column in enumerate(columns):
                column.extend(repeat(steady[place], len(places)) if place in steady else next(varied))
            ends += places
            at, run = ends[-1], len(places)
        if not ends:
            return None
        values = [kind.values(column) for kind, column in zip(self._kinds, columns, strict=True)]
        size = min(map(len, values))
        if size < len(ends):
            self._most = max(2 * size, _FEWEST)
        elif size >= self._most:
            self._most *= 2
        if not size:
            return None
        found = {name: column[:size] for name, column in zip(self._names, values, strict=True)}
        return Repeats(found, None, size, ends[size - 1], size * _breaks(literals))

    def _matched(self, text: str, at: int, between: str) -> Repeats | None:
        """Return the same by a regular expression: faster, where much varies, or where the ads of a run are alike."""
        literals = [between + self._literals[0], *self._literals[1:]]
        if self._finder is None or self._finder.literals != literals:
            place = None if self.counted is None else self._names.index(self.counted)
            self._finder = AdFinder(literals, [kind.form.pattern for kind in self._kinds], place)
        found = self._finder.ads(text, at)
        if found is None:
            return None
        texts = iter(found.columns)
        values: dict[str, list[Any]] = {}
        for name, kind in zip(self._names, self._kinds, strict=True):
            if name == self.counted:
                values[name] = [*found.firsts]
            else:
                values[name] = kind.read_all(next(texts))
        lasts = None if self.counted is None else found.lasts
        return Repeats(values, lasts, found.size, found.end, found.size * _breaks(literals))


def _cut(text: str, at: int, literals: Sequence[str], most: int) -> tuple[list[list[str]], list[int]]:
    """Return the columns of what stands between *literals* in the ads at *at* in *text*, and where these ads end."""
    first, *others = literals
    skip = len(first)
    after = [(literal[0], literal, len(literal)) for literal in others]
    starts, find = text.startswith, text.find
    found: list[str] = []
    ends: list[int] = []
    for _ in range(most):
        if not starts(first, at):
            break
        place = at + skip
        for closing, literal, size in after:
            end = find(closing, place, place + _LONGEST)
            if end < 0 or not starts(literal, end):
                break
            found.append(text[place:end])
            place = end + size
        else:
            ends.append(place)
            at = place
            continue
        break
    step = len(after)
    return [found[row : len(ends) * step : step] for row in range(step)], ends


def _breaks(literals: Sequence[str]) -> int:
    """Return the number of line breaks in an ad; values have none."""
    return sum(literal.count("\n") for literal in literals)


def _joined(literals: Sequence[str], steady: Mapping[int, str]) -> list[str]:
    """Return *literals* with the *steady* texts between them, by place."""
    joined = [literals[0]]
    for place, literal in enumerate(literals[1:]):
        if place in steady:
            joined[-1] += steady[place] + literal
        else:
            joined.append(literal)
    return joined
