"""The texts of many ads, as the state stores them, made by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from fairq.ad_table import AdTable, Part, Repeated, is_one_text, is_one_value
from fairq.records import Ad
from fairq.slot_table import STRETCH
from fairq.state.rows import dumps

_PLAIN = {int, float, bool}
"""Kinds of values whose texts have no comma."""


class PartTexts(NamedTuple):
    """A part of a table of ads as JSON texts, by column: one text for all rows, or one for each."""

    part: Part
    columns: list[str | list[str]]

    def objects(self) -> Iterator[str]:
        """Yield the ads as JSON objects, in order of row."""
        size = len(self.part.rows)
        pieces: list[Iterable[str]] = []
        literal = "{"
        for place, (name, column) in enumerate(zip(self.part.names, self.columns, strict=True)):
            literal += f"{',' if place else ''}{dumps(name)}:"
            if isinstance(column, str):
                literal += column
            else:
                pieces += repeat(literal, size), column
                literal = ""
        return map("".join, zip(*pieces, repeat(literal + "}", size), strict=True))

    def shape(self) -> str:
        """Return a JSON array: the attributes that `own_values` has, and an ad with null in place of their values."""
        own = set(self._own())
        names = dumps([self.part.names[place] for place in sorted(own)])
        common = (
            f"{dumps(name)}:{'null' if place in own else text}"
            for place, (name, text) in enumerate(zip(self.part.names, self.columns, strict=True))
        )
        return f"[{names},{{{','.join(common)}}}]"

    def own_values(self, number: int) -> Iterator[str]:
        """Yield, for each ad in order of row, a JSON array of *number* and the values that are not in the shape."""
        size = len(self.part.rows)
        pieces: list[Iterable[str]] = [repeat(f"[{number}", size)]
        for place in self._own():
            column = self.columns[place]
            pieces += repeat(","), repeat(column) if isinstance(column, str) else column
        return map("".join, zip(*pieces, repeat("]"), strict=False))

    def _own(self) -> list[int]:
        """Return the places of columns with different values, or with values that an ad may not share."""
        return [
            place
            for place, (column, values) in enumerate(zip(self.columns, self.part.columns, strict=True))
            if not isinstance(column, str) or isinstance(values[0], (dict, list))
        ]

    def arrays(self) -> str:
        """Return a JSON array of the columns, each as an array: its values, or the only one if all are the same."""
        return f"[{','.join(map(self._array, self.part.columns, self.columns))}]"

    def _array(self, column: Sequence[Any], found: str | list[str]) -> str:
        if is_one_value(column):
            return f"[{found if isinstance(found, str) else found[0]}]"
        return f"[{','.join(repeat(found, len(column)) if isinstance(found, str) else found)}]"


def of_ads(ads: Sequence[Ad]) -> list[str]:
    """Return the texts of *ads*: those that `rows.dumps` makes of each, for many ads in half the time."""
    found: list[str] = []
    for start in range(0, len(ads), STRETCH):
        some = ads[start : start + STRETCH]
        table = AdTable()
        table.put(range(len(some)), some)
        parts = of_table(table)
        found += in_order(parts, [part.objects() for part in parts])
    return found


def of_table(ads: AdTable) -> list[PartTexts]:
    """Return the texts of the values of *ads*, by column."""
    return [PartTexts(part, list(map(_values, part.columns))) for part in ads.parts]


def in_order(parts: Sequence[PartTexts], texts: Sequence[Iterable[str]]) -> list[str]:
    """Return in order of row the *texts* that the ads of each of *parts* have."""
    if len(parts) == 1:
        return list(texts[0])
    found = [""] * sum(len(part.part.rows) for part in parts)
    for part, of_part in zip(parts, texts, strict=True):
        for row, text in zip(part.part.rows, of_part, strict=True):
            found[row] = text
    return found


def _values(column: Sequence[Any]) -> str | list[str]:
    """Return the JSON texts of a column's values; a single text if all values are one."""
    # 1, 1.0 and true are equal, and so are 0.0 and -0.0, but their texts differ: a number must be the same object.
    if (
        isinstance(column, Repeated)
        or is_one_text(column)
        or (type(column[0]) is not str and len(set(map(id, column))) == 1)
    ):
        return dumps(column[0])
    kinds = set(map(type, column))
    if kinds == {str}:
        return list(map(encode_basestring_ascii, column))
    if kinds == {int}:
        return list(map(repr, column))
    return dumps(column)[1:-1].split(",") if kinds <= _PLAIN else list(map(dumps, column))
