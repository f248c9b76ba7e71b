"""Ads of a JSON array that have the text of an ad before them, but for some values: they need no parser.

The jobs of a cluster differ in little else than ProcId, the slots of a farm in name, address and sizes. Comparing a
text takes a tenth of the time that a JSON parser takes for it. Which attributes vary is learned from the ads that are
parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from fairq.records import Ad

_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_NAME = re.compile(r'[ \t\r\n]*[{,][ \t\r\n]*"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*')
_decode = json.JSONDecoder().raw_decode

_LONGEST = 1024
"""Most characters of a value that varies."""

_MOST = 8
"""Most patterns at a time: every ad that no pattern fits is compared with all of them."""

_COST = 40
"""A pattern takes as much time to make as this number of ads takes to parse."""


class _Kind(NamedTuple):
    """A kind of value that may vary: the *form* of its text, many of them on *lines*, and how to *read* a text.

    Each form is narrower than JSON's: without escapes, expressions, and numbers that fairq refuses.
    """

    form: re.Pattern[str]
    lines: re.Pattern[str]
    read: Callable[[str], Any] | None

    @classmethod
    def of(cls, form: str, read: Callable[[str], Any] | None) -> _Kind:
        return cls(re.compile(form), re.compile(rf"(?:{form}\n)*+"), read)

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Return the values of *texts* up to the first that is not of this kind."""
        # One match over all lines takes a third of the time of a match for each.
        lines = "\n".join(texts) + "\n"
        end = self.lines.match(lines).end()  # type: ignore[union-attr]  # matches always
        sound = texts if end == len(lines) else texts[: lines.count("\n", 0, end)]
        return list(sound) if self.read is None else list(map(self.read, sound))


_WHOLE = r"-?(?:0|[1-9][0-9]{0,17})"
_EXPONENT = r"[eE][-+]?[0-9]{1,2}"
_KINDS = {
    str: _Kind.of(r'(?!/Expr\()[^"\\\x00-\x1f\x7f-\U0010ffff]*+', None),
    int: _Kind.of(_WHOLE, int),
    float: _Kind.of(rf"{_WHOLE}(?:\.[0-9]{{1,30}}(?:{_EXPONENT})?|{_EXPONENT})", float),
    bool: _Kind.of("true|false", {"true": True, "false": False}.__getitem__),
}


class RepeatedAds(NamedTuple):
    """*size* ads that are like *ad*, but for a column of values of each attribute in *varying*."""

    ad: Mapping[str, Any]
    varying: Mapping[str, list[Any]]
    size: int

    def ads(self) -> Iterator[Ad]:
        """Yield them as ads."""
        for values in zip(*self.varying.values(), strict=True) if self.varying else [()] * self.size:
            yield {**self.ad, **dict(zip(self.varying, values, strict=True))}

    def without_first(self) -> RepeatedAds:
        """Return all but the first."""
        return RepeatedAds(self.ad, {name: column[1:] for name, column in self.varying.items()}, self.size - 1)

    def runs(self, names: Sequence[str]) -> Iterator[RepeatedAds]:
        """Yield them by runs of ads with the same values of *names*, which vary no more."""
        if not names:
            yield self
            return
        left = [(name, column) for name, column in self.varying.items() if name not in names]
        values = list(zip(*(self.varying[name] for name in names), strict=True))
        ends = [place for place in range(1, self.size) if values[place] != values[place - 1]]
        for start, end in pairwise([0, *ends, self.size]):
            ad = {**self.ad, **dict(zip(names, values[start], strict=True))}
            yield RepeatedAds(ad, {name: column[start:end] for name, column in left}, end - start)


class Repetition:
    """Finds repeated ads."""

    def __init__(self, own: Collection[str]) -> None:
        """Expect the attributes *own*, in lower case, to vary; others are found to vary as ads come."""
        self._own = own
        self._shapes: dict[tuple[str, ...], tuple[Ad, frozenset[str]]] = {}
        """By the names of ads: the last of these ads, and the attributes that vary among them."""
        self._patterns: list[_Pattern] = []
        self._credit = _COST * _MOST
        """How many patterns may be made, times their cost: each ad adds one to it, parsed or not."""

    def seen(self, ad: Ad, text: str, start: int, end: int) -> None:
        """Take the *ad* between *start* and *end* of *text* as one that may be repeated."""
        self._credit += 1
        if self._credit < _COST:
            return
        names = tuple(ad)
        known = self._shapes.pop(names, None)
        if known is None:
            varying = frozenset(name for name in names if name.lower() in self._own)
            if len(self._shapes) >= _MOST:
                del self._shapes[next(iter(self._shapes))]
        else:
            last, varying = known
            varying |= {name for name, value in last.items() if value != ad[name]}
        # Whoever receives the ad may change it.
        ad = dict(ad)
        self._shapes[names] = ad, varying
        pattern = _Pattern.of(ad, text[start:end], varying)
        if pattern is not None:
            self._credit -= _COST
            others = [other for other in self._patterns if not pattern.replaces(other)]
            self._patterns = [pattern, *others[: _MOST - 1]]

    def after(self, text: str, at: int) -> tuple[RepeatedAds, int] | None:
        """Return ads in *text* after the one that ends *at* which repeat one seen, and where the last of them ends."""
        for place, pattern in enumerate(self._patterns):
            repeated = pattern.repeated(text, at)
            if repeated is not None:
                self._credit += repeated[0].size
                if place:
                    self._patterns.insert(0, self._patterns.pop(place))
                return repeated
        return None


class _Pattern:
    """The text of an ad, cut where the values of some attributes stand."""

    def __init__(self, ad: Ad, cuts: Sequence[tuple[str, int, int, _Kind]], text: str) -> None:
        self._ad = ad
        self._names = [name for name, _, _, _ in cuts]
        self._kinds = [kind for _, _, _, kind in cuts]
        starts = [start for _, start, _, _ in cuts]
        self._first = text[: starts[0]]
        literals = [text[end:stop] for (_, _, end, _), stop in zip(cuts, [*starts[1:], len(text)], strict=True)]
        self._after = [(literal[0], literal, len(literal)) for literal in literals]

    @classmethod
    def of(cls, ad: Ad, text: str, varying: Collection[str]) -> _Pattern | None:
        """Return the pattern of an *ad* with this *text*; None if nothing in it can vary."""
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
        return cls(ad, cuts, text) if cuts and count == len(ad) else None

    def replaces(self, other: _Pattern) -> bool:
        """Return whether this pattern fits wherever the *other* one does."""
        if self._ad.keys() != other._ad.keys():
            return False
        varying = {*self._names}
        return all(other._ad[name] == value for name, value in self._ad.items() if name not in varying)

    def repeated(self, text: str, at: int) -> tuple[RepeatedAds, int] | None:
        """Return the ads after *at* in *text* that have this pattern, and the end of the last of them; None if none."""
        between = _BETWEEN.match(text, at)
        if between is None:
            return None
        first = between[0] + self._first
        skip = len(first)
        starts, find, after = text.startswith, text.find, self._after
        found: list[str] = []
        ends: list[int] = []
        while starts(first, at):
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
        if not ends:
            return None
        step, last = len(after), len(ends) * len(after)
        columns = [kind.values(found[row:last:step]) for row, kind in enumerate(self._kinds)]
        count = min(map(len, columns))
        if not count:
            return None
        varying = {name: column[:count] for name, column in zip(self._names, columns, strict=True)}
        return RepeatedAds(self._ad, varying, count), ends[count - 1]
