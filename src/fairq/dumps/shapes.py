"""Ads of a JSON array that have one attribute a line, as HTCondor prints them: many are read together, by column.

Ads with the same names in the same order have the same shape. Lines that are equal in all ads of a shape are read once;
of the others, the values of an attribute are read as one JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from fairq.dumps.repetition import RepeatedAds
from fairq.records import Ad

_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\{[ \t\r]*\n")
_END = "\n}"
_ATTRIBUTE = re.compile(r'[ \t]*"([^"\\]*)": ')

_FEWEST = 100
"""Fewer ads are not worth a look at their shapes."""

_SMALL = 4
"""So few ads of a shape are read one by one: looking at each column takes longer."""

_MOST_KNOWN = 20_000


class Part(NamedTuple):
    """Ads of one shape, and their places among all (ascending)."""

    alike: RepeatedAds
    places: Sequence[int]


class AdsByShape(NamedTuple):
    """*size* ads in succession, sorted by their shapes."""

    parts: list[Part]
    size: int

    def ads(self) -> Iterator[Ad]:
        """Yield them in order."""
        found: list[Ad] = [{}] * self.size
        for alike, places in self.parts:
            for place, ad in zip(places, alike.ads(), strict=True):
                found[place] = ad
        return iter(found)


class FoundByShape(NamedTuple):
    """*ads* in a text, where the last of them ends, and how many line breaks there are up to it."""

    ads: AdsByShape
    end: int
    breaks: int


class Shapes:
    """Finds such ads."""

    def __init__(self) -> None:
        decoder = json.JSONDecoder(parse_constant=_refuse)
        self._decode = decoder.raw_decode
        self._values = decoder.decode
        self._known: dict[str, tuple[str, Any]] = {}
        """Names and values of lines that shapes had in common."""

    def after(self, text: str, at: int) -> FoundByShape | None:
        """Return the ads in *text* after the one that ends *at*, as far as they are sound.

        None if they are too few. What follows must be read otherwise: it may be a damaged ad, or the end of the text.
        """
        between = _BETWEEN.match(text, at)
        if between is None:
            return None
        # No text of JSON has a line break in it, so that only a nested ad can have this inside. It makes the piece
        # before no ad, and ends here what is taken.
        pieces = text[between.end() :].split(_END + between[0])
        del pieces[-1]
        if len(pieces) < _FEWEST:
            return None
        groups: dict[int, list[int]] = {}
        lines = [piece.split("\n") for piece in pieces]
        for place, of_piece in enumerate(lines):
            groups.setdefault(len(of_piece), []).append(place)
        parts = [part for places in groups.values() for part in self._sorted(lines, places)]
        found = sum(len(places) for _, places in parts)
        if found < len(pieces):
            taken = {place for _, places in parts for place in places}
            end = next(place for place in range(len(pieces)) if place not in taken)
            del pieces[end:]
            parts = [_up_to(part, end) for part in parts if part.places[0] < end]
        if not pieces:
            return None
        length = sum(map(len, pieces)) + (len(pieces) - 1) * (len(_END) + len(between[0])) + len(_END)
        breaks = sum(map(len, lines[: len(pieces)])) + len(pieces) * between[0].count("\n")
        return FoundByShape(AdsByShape(parts, len(pieces)), between.end() + length, breaks)

    def _sorted(self, lines: list[list[str]], places: list[int]) -> Iterator[Part]:
        """Yield the ads of *lines* at these *places* by shape, but for those that are no ads."""
        waiting = [places]
        while waiting:
            places = waiting.pop()
            alike = None
            if len(places) > _SMALL:
                columns = list(zip(*[lines[place] for place in places], strict=True))
                values: dict[int, str | None] = {}
                for row, column in enumerate(columns):
                    if column.count(column[0]) < len(column):
                        values[row] = _values(column)
                        shapes = None if values[row] else _names(column, places)
                        if shapes is not None:
                            break
                else:
                    shapes = None
                if shapes is not None:
                    waiting += shapes
                    continue
                alike = self._alike(columns, values)
            if alike is not None:
                yield Part(alike, places)
                continue
            for place in places:
                ad = self._ad(lines[place])
                if ad is not None:
                    yield Part(RepeatedAds(ad, {}, 1), [place])

    def _ad(self, lines: list[str]) -> Ad | None:
        """Return the ad that has just these *lines*, None if there is none."""
        text = "{" + "\n".join(lines) + "\n}"
        try:
            ad, end = self._decode(text)
        except (ValueError, RecursionError):
            return None
        return ad if end == len(text) else None

    def _alike(self, columns: list[tuple[str, ...]], varying: Mapping[int, str | None]) -> RepeatedAds | None:
        """Return the ads with these lines; *varying* has the values of rows that vary. None if there is any doubt."""
        ad: Ad = {}
        last = len(columns) - 1
        size = len(columns[0])
        for row, column in enumerate(columns):
            found = self._attribute(column[0], "" if row == last else ",")
            if found is None:
                return None
            ad[found[0]] = found[1]
        if len(ad) < len(columns):
            return None
        names = list(ad)
        values = {}
        for row, text in varying.items():
            of_row = None if text is None else self._column(text, size, "" if row == last else ",")
            if of_row is None:
                return None
            values[names[row]] = of_row
        return RepeatedAds(ad, values, size)

    def _attribute(self, line: str, end: str) -> tuple[str, Any] | None:
        """Return name and value of a *line* that has one attribute and this *end*; else None."""
        # Only lines with a comma are kept: the last one has none.
        known = self._known.get(line) if end else None
        if known is not None:
            return known
        name = _ATTRIBUTE.match(line)
        if name is None:
            return None
        try:
            value, stop = self._decode(line, name.end())
        except (ValueError, RecursionError):
            return None
        if line[stop:] != end:
            return None
        found = name[1], value
        if end and type(value) not in (list, dict) and len(self._known) < _MOST_KNOWN:
            self._known[line] = found
        return found

    def _column(self, text: str, size: int, end: str) -> list[Any] | None:
        """Return the values on the *size* lines of *text*, each with this *end*; None if any is something else."""
        # Each brings its comma, so that one without is found, and a line break, which no text may hold.
        joined = text if end else text.replace("\n", ",\n")
        if not joined.endswith(end):
            return None
        array = f"[{joined.removesuffix(end)}]"
        try:
            values: list[Any] = self._values(array)
            kinds = set(map(type, values))
            # The brackets of one line might close those of another.
            if dict in kinds or (list in kinds and not _has_flat_lists(array, size)):
                lines = text.split("\n")
                single = [self._decode(line) for line in lines]
                if any(line[stop:] != end for line, (_, stop) in zip(lines, single, strict=True)):
                    return None
                return [value for value, _ in single]
        except (ValueError, RecursionError):
            return None
        return values if len(values) == size else None


def _has_flat_lists(array: str, size: int) -> bool:
    """Return whether each of the *size* lines of *array* has one list, with no other brackets, not even in texts."""
    return (
        array.count("[") == array.count("]") == size + 1
        and array.startswith("[[")
        and array.endswith("]]")
        and array.count("],\n[") == size - 1
    )


def _values(lines: Sequence[str]) -> str | None:
    """Return the values on *lines*, one a line, if all have the same attribute."""
    name = _ATTRIBUTE.match(lines[0])
    # All texts between two that begin alike do so, too.
    if name is None or not (min(lines).startswith(name[0]) and max(lines).startswith(name[0])):
        return None
    start = name.end()
    return "\n".join([line[start:] for line in lines])


def _names(lines: Sequence[str], places: Sequence[int]) -> list[list[int]] | None:
    """Return *places* by the names of the attributes on their *lines*, None if all have one."""
    shapes: dict[str, list[int]] = {}
    for place, line in zip(places, lines, strict=True):
        shapes.setdefault(line.partition('": ')[0], []).append(place)
    return list(shapes.values()) if len(shapes) > 1 else None


def _up_to(part: Part, end: int) -> Part:
    """Return the ads of *part* before the place *end*."""
    places = [place for place in part.places if place < end]
    size = len(places)
    alike = part.alike
    return Part(RepeatedAds(alike.ad, {name: column[:size] for name, column in alike.varying.items()}, size), places)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
