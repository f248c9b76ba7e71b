"""Ads of a JSON array that have the text of an ad before them, but for some values: they need no parser.

The jobs of a cluster differ in little else than ProcId, the slots of a farm in name, address and sizes. Comparing a
text takes a tenth of the time that a JSON parser takes for it. Which attributes vary is learned from the ads that are
parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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

    def at(self, row: int) -> Ad:
        """Return one of them."""
        return {**self.ad, **{name: column[row] for name, column in self.varying.items()}}

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of an attribute, None where there is none."""
        return self.varying[name] if name in self.varying else [self.ad.get(name)] * self.size

    def runs(self, lower: str) -> AdRuns:
        """Return them by runs in which the attribute *lower* is counted: one run, or each ad by itself."""
        counted = next((name for name in self.ad if name.lower() == lower), "")
        numbers = self.column(counted)
        first = numbers[0]
        if set(self.varying) == {counted} and type(first) is int and numbers == [*range(first, first + self.size)]:
            return AdRuns(RepeatedAds(self.at(0), {}, 1), counted, [numbers[-1]], self.size)
        return AdRuns(self, counted, numbers, self.size)


class AdRuns(NamedTuple):
    """Runs of ads that differ in one number alone, which goes up by one from ad to ad.

    Args:
        first: the first ad of each run.
        counted: the name of the attribute with this number; the other attributes are those of the first ad.
        lasts: its value in the last ad of each run.
        size: the number of ads.
    """

    first: RepeatedAds
    counted: str
    lasts: Sequence[Any]
    size: int

    def ads(self) -> Iterator[Ad]:
        """Yield them as ads."""
        for ad, last in zip(self.first.ads(), self.lasts, strict=True):
            if len(self.lasts) == self.size:
                yield ad
                continue
            for number in range(ad[self.counted], last + 1):
                yield {**ad, self.counted: number}

    def sizes(self) -> Sequence[int]:
        """Return the number of ads of each run."""
        if len(self.lasts) == self.size:
            return [1] * self.size
        firsts = self.first.column(self.counted)
        return [last - first + 1 for first, last in zip(firsts, self.lasts, strict=True)]


class Found(NamedTuple):
    """Repeated *ads* in a text, where the last of them ends, and how many line breaks there are up to it."""

    ads: RepeatedAds | AdRuns
    end: int
    breaks: int


class Repetition:
    """Finds repeated ads."""

    def __init__(self, own: Collection[str], counted: str | None) -> None:
        """Expect the attributes *own*, in lower case, to vary; others are found to vary as ads come.

        *counted*, one of them, is a number that mostly goes up by one from ad to ad.
        """
        self._own = own
        self._counted = counted
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
        pattern = AdPattern.of(ad, text[start:end], varying, self._counted)
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
            ad = {**pattern.ad, **steady}
            if found.lasts is None or pattern.counted is None:
                return Found(RepeatedAds(ad, varying, found.size), found.end, found.breaks)
            runs = RepeatedAds(ad, varying, len(found.lasts))
            return Found(AdRuns(runs, pattern.counted, found.lasts, found.size), found.end, found.breaks)
        return None


def _is_one(column: Sequence[Any]) -> bool:
    return column.count(column[0]) == len(column)
