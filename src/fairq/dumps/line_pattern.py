"""The text of an ad that has an attribute a line, as condor_status and condor_q print it, with gaps where values vary.

Most of an ad's text is that of others of its shape. To compare it with them takes a fraction of the time that a parser
takes, which makes an object of every value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from fairq.records import Ad

_NAME = re.compile(r'[ \t]*"[^"\\]*"[ \t]*:[ \t]*')
_BREAK = re.compile(r'\n(?=[ \t]*"[^"\\]*"[ \t]*:)')


def items_of(text: str) -> list[str] | None:
    """Return the text of each attribute of an ad, without the line breaks between them.

    A list or a nested ad may have several lines. None if the first line is not that of an attribute.
    """
    items = _BREAK.split(text)
    return items if _NAME.match(items[0]) else None


class LinePattern:
    """The text of an *ad*, cut where the values of some attributes stand."""

    def __init__(self, ad: Ad, items: Sequence[str], varying: Collection[int], former: LinePattern | None) -> None:
        """Take the `items_of` an *ad*, and the places of those that vary: none of them has several lines.

        This pattern takes the place of a *former* one in which fewer vary.
        """
        self.ad = ad
        self.items = items
        self.varying = sorted(varying)
        self.former = former
        self.places: list[int] = []
        """The places of the ads that were found, and the texts of their values."""
        self.rows: list[tuple[str, ...]] = []
        self.breaks = sum(item.count("\n") for item in items) + len(items) - 1
        outline: list[str] = []
        literals: list[str] = []
        literal, before = "", ""
        for place, item in enumerate(items):
            if place in varying:
                literal += before + prefix(item)
                # An ad of another shape mostly has another character here, or ends too early.
                outline.append(f".{{{len(literal) - 1}}}{re.escape(literal[-1])}([^\\n]*+)")
                literals.append(literal)
                literal = ""
            else:
                literal += before + item
            before = "\n"
        outline.append(f".{{{len(literal)}}}\\Z")
        literals.append(literal)
        self._match = re.compile("".join(outline), re.DOTALL).match
        self._pieces = [""] * (2 * len(literals) - 1)
        """The literals, and room for values between them."""
        self._pieces[::2] = literals

    def take(self, text: str, start: int, end: int, place: int) -> bool:
        """Take the ad from *start* to *end* of *text*, the *place*-th of many, if it is like this one."""
        found = self._match(text, start, end)
        if found is None:
            return False
        values = found.groups()
        # The expression passes over what is between the values: that is compared as a whole.
        self._pieces[1::2] = values
        if not text.startswith("".join(self._pieces), start):
            return False
        self.places.append(place)
        self.rows.append(values)
        return True

    def columns(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the texts of the values that vary among the ads taken, with the places of their attributes."""
        segments = [segment for segment in self._segments() if segment.rows]
        of_segments = [dict(zip(segment.varying, zip(*segment.rows, strict=True), strict=True)) for segment in segments]
        order = self._order(segments)
        for place in self.varying:
            if len(segments) == 1:
                yield place, of_segments[0][place]
                continue
            column: list[str] = []
            for segment, values in zip(segments, of_segments, strict=True):
                # What did not vary then is the text in the pattern.
                item = segment.items[place]
                column += values.get(place) or [item[len(prefix(item)) :]] * len(segment.rows)
            yield place, [column[at] for at in order]

    @property
    def has_ads(self) -> bool:
        """Whether any ad was taken."""
        return any(segment.places for segment in self._segments())

    def all_places(self) -> list[int]:
        """Return the places of the ads taken, in the order of `columns`."""
        return sorted(place for segment in self._segments() for place in segment.places)

    def clear(self) -> None:
        """Forget the ads taken."""
        self.former = None
        self.places, self.rows = [], []

    def _segments(self) -> Iterator[LinePattern]:
        segment: LinePattern | None = self
        while segment is not None:
            yield segment
            segment = segment.former

    @staticmethod
    def _order(segments: Sequence[LinePattern]) -> list[int]:
        places = [place for segment in segments for place in segment.places]
        return sorted(range(len(places)), key=places.__getitem__)


def prefix(item: str) -> str:
    """Return what is before the value of an attribute: its name, quotes and colon."""
    found = _NAME.match(item)
    assert found is not None
    return found[0]
