"""Ads that have an attribute a line, put into columns by their shapes without a parser for what they have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from fairq.ad_table import is_one_text
from fairq.dumps.line_pattern import LinePattern, items_of, prefix
from fairq.dumps.repetition import RepeatedAds
from fairq.dumps.shapes import AdsByShape, FoundByShape, Part, is_one, parts_of
from fairq.records import Ad

_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\{\n")

_LEARN = 200
"""So many ads that no pattern fits are looked at for what varies among them."""

_FEWEST = 8
"""So many of them must have a shape for which a pattern is made."""

_VAIN = 4
"""After so many vain tries more than others, no more are made."""

_MOST = 1000
"""Most patterns: what has more shapes than that is parsed."""


class _OtherFormError(Exception):
    """Values are not written one a line."""


class LineShapes:
    """Finds ads by the shapes that ads before them have."""

    def __init__(self) -> None:
        self._by_breaks: dict[int, list[LinePattern]] = {}
        """The patterns by the number of line breaks in their ads."""
        self._by_names: dict[tuple[str, ...], LinePattern | None] = {}
        """By the names of the attributes; None if their values have several lines."""
        self._apart: list[tuple[int, Ad]] = []
        self._unlike: list[tuple[int, int, int]] = []
        """The places of ads that no pattern fits, and from where to where they are."""
        self._vain = 0

    @property
    def has_learnt(self) -> bool:
        """Whether there are any shapes yet."""
        return bool(self._by_names)

    @property
    def is_in_vain(self) -> bool:
        """Whether the ads of this dump are better read otherwise."""
        return self._vain > _VAIN

    def after(self, text: str, at: int, most: int) -> FoundByShape | None:
        """Return at most so many ads in *text* after the one that ends *at*, as far as the text has whole ones.

        None if there is none, or if any must be read otherwise.
        """
        between = _BETWEEN.match(text, at)
        if between is None or self.is_in_vain:
            return None
        separator = f"\n}}{between[0]}"
        skip, find, count = len(separator), text.find, text.count
        breaks = 0
        of_breaks = self._by_breaks
        start, place = between.end(), 0
        while place < most and (end := find(separator, start)) >= 0:
            lines = count("\n", start, end)
            breaks += lines
            for pattern in of_breaks.get(lines, ()):
                if pattern.take(text, start, end, place):
                    break
            else:
                self._unlike.append((place, start, end))
                if len(self._unlike) == _LEARN and not self._learn(text):
                    self._give_up()
                    return None
            start = end + skip
            place += 1
        if not place:
            return None
        parts = self._parts() if self._learn(text) else None
        if parts is None:
            self._give_up()
            return None
        end = start - len(between[0])
        self._clear()
        self._vain = max(0, self._vain - 1)
        # There is a line break before the last bracket of each ad, and those between two ads.
        breaks += place + place * between[0].count("\n")
        return FoundByShape(AdsByShape.of_parts(parts, place), end, breaks)

    def _give_up(self) -> None:
        self._vain += 1
        self._clear()

    def _clear(self) -> None:
        for pattern in self._by_names.values():
            if pattern is not None:
                pattern.clear()
        self._apart, self._unlike = [], []

    def _learn(self, text: str) -> bool:
        """Look at the ads that no pattern fits; return whether they are sound."""
        unlike, self._unlike = self._unlike, []
        if not unlike:
            return True
        try:
            # One by one: what is between two ads may belong to the list of ads that an ad has inside.
            ads = [_decode_ad(f"{{{text[start:end]}}}") for _, start, end in unlike]
        except (msgspec.DecodeError, RecursionError):
            return False
        shapes: dict[tuple[str, ...], list[int]] = {}
        for at, ad in enumerate(ads):
            shapes.setdefault(tuple(ad), []).append(at)
        for names, members in shapes.items():
            known = self._by_names.get(names, self)
            if known is None or (known is self and (len(members) < _FEWEST or len(self._by_names) >= _MOST)):
                left = members
            else:
                left = self._widened(names, [(ads[at], *unlike[at]) for at in members], text, members)
            self._apart += [(unlike[at][0], ads[at]) for at in left]
        return True

    def _widened(
        self, names: tuple[str, ...], found: Sequence[tuple[Ad, int, int, int]], text: str, members: list[int]
    ) -> list[int]:
        """Make a pattern that fits ads of these *names*, too; return those of the *members* which it does not fit."""
        known = self._by_names.get(names)
        items = [items_of(text[start:end]) for _, _, start, end in found]
        first = items[0] if known is None else known.items
        if first is None or len(first) != len(names):
            self._by_names[names] = None
            return members
        prefixes = list(map(prefix, first))
        alike = [
            of_ad
            for of_ad in items
            if of_ad is not None and len(of_ad) == len(prefixes) and all(map(str.startswith, of_ad, prefixes))
        ]
        columns = zip(first, *alike, strict=True)
        varying = {place for place, column in enumerate(columns) if column.count(column[0]) < len(column)}
        if known is not None and varying.issubset(known.varying):
            return members
        varying.update(known.varying if known is not None else ())
        if any("\n" in of_ad[place] for of_ad in (first, *alike) for place in varying):
            if known is None:
                self._by_names[names] = None
            return members
        pattern = LinePattern(found[0][0] if known is None else known.ad, first, varying, known)
        of_breaks = self._by_breaks.setdefault(pattern.breaks, [])
        if known in of_breaks:
            of_breaks.remove(known)
        of_breaks.append(pattern)
        self._by_names[names] = pattern
        return [
            at
            for at, (_, place, start, end) in zip(members, found, strict=True)
            if not pattern.take(text, start, end, place)
        ]

    def _parts(self) -> list[Part] | None:
        """Return all ads by shape; None if values are not written one a line."""
        parts = parts_of([ad for _, ad in self._apart], [place for place, _ in self._apart])
        found = [pattern for pattern in self._by_names.values() if pattern is not None and pattern.has_ads]
        try:
            parts += [_part(pattern) for pattern in found]
        except _OtherFormError:
            return None
        return sorted(parts, key=lambda part: part.places[0])


def _part(pattern: LinePattern) -> Part:
    names = list(pattern.ad)
    ad = dict(pattern.ad)
    places = pattern.all_places()
    varying: dict[str, Sequence[Any]] = {}
    for place, of_pattern in pattern.columns():
        name = names[place]
        texts = of_pattern if place < len(names) - 1 else [f"{text}," for text in of_pattern]
        if is_one_text(texts):
            (ad[name],) = _read(texts[:1])
            continue
        values = tuple(_read(texts))
        ad[name] = values[0]
        if not is_one(values):
            varying[name] = values
    return Part(RepeatedAds(ad, varying, len(places)), places)


def _read(texts: Sequence[str]) -> list[Any]:
    """Return the values of *texts*.

    Raises _OtherFormError if not each of them is one value with a comma behind it.
    """
    lines = "\n".join(texts)
    if lines[-1:] != "," or lines.count(",\n") < len(texts) - 1:
        raise _OtherFormError
    lines = f"[{lines[:-1]}]"
    try:
        values = _decode(lines)
    except (msgspec.DecodeError, RecursionError):
        raise _OtherFormError from None
    if len(values) != len(texts):
        raise _OtherFormError
    kinds = set(map(type, values))
    if (list in kinds or dict in kinds) and len(texts) > 1:
        # A value may go on in the next line: then it is none by itself.
        values = [value for text in texts for value in _read([text])]
    return values


_decode = msgspec.json.Decoder(list[Any]).decode
_decode_ad = msgspec.json.Decoder(dict[str, Any]).decode
