"""The texts of many ads, as the state stores them, made by column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite
from types import NoneType
from typing import Any, NamedTuple

import msgspec

from fairq.columns.ads import AdTable, Part, Repeated, is_one_text, is_one_value
from fairq.columns.row_texts import interleaved
from fairq.columns.slots import STRETCH
from fairq.common.records import Ad
from fairq.state.rows import dumps

_PLAIN = {str, int, float, bool, NoneType}
"""Types of values that `_encode` writes as `dumps`, but for odd characters and numbers with exponents."""

_NUMBERS = {int, float}

_LEAST, _MOST = 1e-4, 1e16
"""`dumps` writes a number below or from here on with an exponent."""

_encode = msgspec.json.Encoder().encode
"""Writes plain values in a fifth of the time of `rows.dumps`."""


class PartTexts(NamedTuple):
    """A part of a table of ads, by column: the JSON text of all rows, or what `_encode` writes for each as `dumps`."""

    part: Part
    columns: list[str | Sequence[Any]]

    def objects(self) -> Iterator[str]:
        """Yield the ads as JSON objects, in order of row."""
        names = self.part.names
        if not _is_plain_text("".join(names)):
            for values in zip(*self.part.columns, strict=True):
                yield dumps(dict(zip(names, values, strict=True)))
            return
        literals, columns = ["{"], list[Sequence[str]]()
        for number, (name, column) in enumerate(zip(names, self.columns, strict=True)):
            literals[-1] += f"{',' if number else ''}{dumps(name)}:"
            if isinstance(column, str):
                literals[-1] += column
            else:
                columns.append(_each(column))
                literals.append("")
        literals[-1] += "}"
        yield from islice(interleaved(literals, columns), len(self.part.rows))

    def arrays(self) -> str:
        """Return a JSON array of the columns, each as an array: its values, or the only one if all are the same."""
        return f"[{','.join(map(_array, self.part.columns, self.columns))}]"


def of_ad(ad: Ad) -> str:
    """Return the text of *ad*: the one that `rows.dumps` makes."""
    kinds = set(map(type, ad.values()))
    if kinds <= _PLAIN and _have_no_exponents(_of_kind(float, list(ad.values()), kinds)):
        try:
            text = _encode(ad).decode()
        except UnicodeEncodeError:  # half a character
            return dumps(ad)
        if _is_plain_text(text):
            return text
    return dumps(ad)


def of_ads(ads: Sequence[Ad]) -> list[str]:
    """Return the texts of *ads*: those that `rows.dumps` makes of each, for many ads in half the time."""
    texts: list[str] = []
    for start in range(0, len(ads), STRETCH):
        some = ads[start : start + STRETCH]
        table = AdTable()
        table.put(range(len(some)), some)
        texts += in_order(table.parts, [part.objects() for part in of_table(table)])
    return texts


def of_table(ads: AdTable) -> Iterator[PartTexts]:
    """Yield the texts of the values of each part of *ads*, by column."""
    for part in ads.parts:
        yield PartTexts(part, list(map(_written, part.columns)))


def in_order(parts: Sequence[Part], texts: Sequence[Iterable[str]]) -> list[str]:
    """Return in order of row the *texts* that the ads of each of *parts* have."""
    if len(parts) == 1:
        return list(texts[0])
    ordered = [""] * sum(len(part.rows) for part in parts)
    for part, of_part in zip(parts, texts, strict=True):
        for row, text in zip(part.rows, of_part, strict=True):
            ordered[row] = text
    return ordered


def _array(values: Sequence[Any], column: str | Sequence[Any]) -> str:
    if isinstance(column, str):
        return f"[{column}]" if is_one_value(values) else f"[{','.join([column] * len(values))}]"
    return _encode(column[:1] if is_one_value(values) else column).decode()


def _written(column: Sequence[Any]) -> str | Sequence[Any]:
    """Return the text of a column's values if all are one; else what `_encode` writes as `dumps` writes *column*."""
    # 1, 1.0 and true are equal, and so are 0.0 and -0.0, but their texts differ: a number must be the same object.
    if (
        isinstance(column, Repeated)
        or is_one_text(column)
        or (column[0] is column[-1] and type(column[0]) is not str and len(set(map(id, column))) == 1)
    ):
        return dumps(column[0])
    kinds = set(map(type, column))
    if kinds <= _PLAIN:
        texts: Iterable[str] = _of_kind(str, column, kinds)
        numbers: Iterable[float] = _of_kind(float, column, kinds)
        if _is_plain_text("".join(texts)) and _have_no_exponents(numbers):
            return column
    if kinds <= _NUMBERS:
        return list(map(_raw, dumps(column)[1:-1].split(",")))
    return list(map(_raw, map(dumps, column)))


def _each(column: Sequence[Any]) -> list[str]:
    """Return what `_encode` writes for each value of a column."""
    text = _encode(column).decode()
    kinds = set(map(type, column))
    # In a text, there is a backslash before each quotation mark: so these three characters end one.
    if kinds == {str}:
        return [f'"{inner}"' for inner in text[2:-2].split('","')]
    return text[1:-1].split(",") if kinds <= _NUMBERS else [_encode(value).decode() for value in column]


def _of_kind(kind: type, column: Sequence[Any], kinds: Collection[type]) -> Iterable[Any]:
    """Return the values of this kind in a column of values of *kinds*."""
    if kind not in kinds:
        return ()
    return column if len(kinds) == 1 else [value for value in column if type(value) is kind]


def _is_plain_text(text: str) -> bool:
    """Return whether `_encode` writes *text* as `dumps`: of what is ASCII, that escapes the last character alone."""
    return text.isascii() and "\x7f" not in text


def _have_no_exponents(numbers: Iterable[float]) -> bool:
    """Return whether `_encode` writes *numbers* as `dumps`: 1e-05 and 1e+16 are 0.00001 and 1e16 for it."""
    sizes = list(map(abs, filter(None, numbers)))
    # No sum of numbers of which any is infinite, or none, is finite.
    return not sizes or (isfinite(sum(sizes)) and min(sizes) >= _LEAST and max(sizes) < _MOST)


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())
