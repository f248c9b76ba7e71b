"""Ads of a JSON array with the text of the ad before them, but for some numbers and texts: they need no parser.

The jobs of a cluster differ in little else than ProcId. To compare a text takes a tenth of the time that a JSON parser
takes for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from fairq.records import Ad

_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})"
_TEXT = r'"[^"\\\x00-\x1f\x7f-\U0010ffff]*"'
_KINDS = {int: re.compile(_NUMBER), str: re.compile(_TEXT)}
_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")

_UNLIKELY = 20
"""After so many ads in a row that did not repeat the one before, only one in so many is looked at."""


class RepeatedAds(Struct, frozen=True):
    """Ads that repeat the *ad* before them, but for the *values* of the attributes *names*, one tuple for each ad."""

    ad: Mapping[str, Any]
    names: tuple[str, ...]
    values: list[tuple[Any, ...]]

    def ads(self) -> Iterator[Ad]:
        """Yield them as ads."""
        for values in self.values:
            yield {**self.ad, **dict(zip(self.names, values, strict=True))}


class Repetition:
    """Finds repeated ads. *varying* are the attributes, in lower case, whose values may differ."""

    def __init__(self, varying: Collection[str]) -> None:
        self._varying = varying
        self._pattern: _Pattern | None = None
        self._missed = 0

    def seen(self, ad: Ad, text: str, start: int, end: int) -> None:
        """Take the *ad* between *start* and *end* of *text* as the one that may be repeated."""
        if not self._varying:
            return
        self._missed += 1
        self._pattern = None
        if self._missed < _UNLIKELY or not self._missed % _UNLIKELY:
            self._pattern = _Pattern.of(ad, text[start:end], self._varying)

    def after(self, text: str, at: int) -> tuple[RepeatedAds, int] | None:
        """Return the ads in *text* after the one that ends *at* which repeat it, and where the last of them ends."""
        if self._pattern is None:
            return None
        found, end = self._pattern.repeated(text, at)
        if not found:
            return None
        self._missed = 0
        return RepeatedAds(self._pattern.ad, self._pattern.names, found), end


class _Pattern:
    """The text of an ad, cut where the values of some attributes stand."""

    def __init__(self, ad: Ad, cuts: list[tuple[int, int, str]], text: str) -> None:
        self.ad = dict(ad)
        self.names = tuple(name for _, _, name in cuts)
        starts = [0, *(end for _, end, _ in cuts)]
        self._literals = [text[start : cut[0]] for start, cut in zip(starts, cuts, strict=False)]
        self._last = text[starts[-1] :]
        self._kinds = [_KINDS[type(ad[name])] for name in self.names]
        self._readers = [int if type(ad[name]) is int else json.loads for name in self.names]

    @classmethod
    def of(cls, ad: Ad, text: str, varying: Collection[str]) -> _Pattern | None:
        """Return the pattern of an *ad* with this *text*; None if the places of the values are not certain."""
        # Inside an ad in the ad, a name could stand for something else.
        if "{" in text[1:]:
            return None
        cuts: list[tuple[int, int, str]] = []
        for name, value in ad.items():
            if name.lower() not in varying:
                continue
            kind = _KINDS.get(type(value))
            found = [] if kind is None else [*re.finditer(rf'"{re.escape(name)}"\s*:\s*({kind.pattern})', text)]
            if len(found) != 1 or json.loads(found[0][1]) != value:
                return None
            cuts.append((*found[0].span(1), name))
        return cls(ad, sorted(cuts), text) if cuts else None

    def repeated(self, text: str, at: int) -> tuple[list[tuple[Any, ...]], int]:
        """Return the values of all ads after *at* in *text* that repeat this one, and the end of the last of them."""
        found: list[tuple[Any, ...]] = []
        starts, between = text.startswith, _BETWEEN.match
        parts = list(zip(self._literals, self._kinds, self._readers, strict=True))
        last, size = self._last, len(self._last)
        while (gap := between(text, at)) is not None:
            place = gap.end()
            values = []
            for literal, kind, read in parts:
                if not starts(literal, place):
                    return found, at
                value = kind.match(text, place + len(literal))
                if value is None:
                    return found, at
                values.append(read(value[0]))
                place = value.end()
            if not starts(last, place):
                return found, at
            at = place + size
            found.append(tuple(values))
        return found, at
