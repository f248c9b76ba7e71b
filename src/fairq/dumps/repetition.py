"""Ads of a JSON array that have the text of an ad before them, but for some values: they need no parser.

The jobs of a cluster differ in little else than ProcId, the slots of a farm in name, address and sizes. Comparing a
text takes a tenth of the time that a JSON parser takes for it. Which attributes vary is learned from the ads that are
parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from fairq.dumps.ad_pattern import AdPattern
from fairq.records import Ad

_MOST = 8
"""Most patterns at a time: every ad that no pattern fits is compared with all of them."""

_COST = 40
"""A pattern takes as much time to make as this number of ads takes to parse."""


class RepeatedAds(NamedTuple):
    """*size* ads that are like *ad*, but for a column of values of each attribute in *varying*."""

    ad: Mapping[str, Any]
    varying: Mapping[str, Sequence[Any]]
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


class Found(NamedTuple):
    """Repeated *ads* in a text, where the last of them ends, and how many line breaks there are up to it."""

    ads: RepeatedAds
    end: int
    breaks: int


class Repetition:
    """Finds repeated ads."""

    def __init__(self, own: Collection[str]) -> None:
        """Expect the attributes *own*, in lower case, to vary; others are found to vary as ads come."""
        self._own = own
        self._shapes: dict[tuple[str, ...], tuple[Ad, frozenset[str]]] = {}
        """By the names of ads: the last of these ads, and the attributes that vary among them."""
        self._patterns: list[AdPattern] = []
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
        pattern = AdPattern.of(ad, text[start:end], varying)
        if pattern is not None:
            self._credit -= _COST
            # One that is in use has learned how many ads it finds.
            pattern = next((other for other in self._patterns if pattern.is_like(other)), pattern)
            others = [other for other in self._patterns if not pattern.replaces(other)]
            self._patterns = [pattern, *others[: _MOST - 1]]

    def after(self, text: str, at: int) -> Found | None:
        """Return ads in *text* after the one that ends *at* which repeat one seen; None if the next one does not."""
        for place, pattern in enumerate(self._patterns):
            found = pattern.repeats(text, at)
            if found is None:
                continue
            self._credit += found.size
            if place:
                self._patterns.insert(0, self._patterns.pop(place))
            steady = {name: column[0] for name, column in found.values.items() if _is_one(column)}
            varying = {name: column for name, column in found.values.items() if name not in steady}
            return Found(RepeatedAds({**pattern.ad, **steady}, varying, found.size), found.end, found.breaks)
        return None


def _is_one(column: Sequence[Any]) -> bool:
    return column.count(column[0]) == len(column)
