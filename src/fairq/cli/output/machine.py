"""JSON, NDJSON, CSV and TSV: complete values at full precision, never rounded, cut or wrapped.

JSON has no infinity or NaN: they are written as the strings ``Infinity``, ``-Infinity`` and ``NaN``. No format outputs
terminal control characters: JSON and TSV write them as escapes that their readers undo. CSV has no escapes: a control
character becomes escape text, newline and tab stay inside their quotes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct
from msgspec.structs import asdict

from fairq.cli.output.text import escape
from fairq.cli.output.view import Record


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not value:
        return 0.0  # no sign
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _json_escaped(character: str) -> str:
    if character.isprintable():
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


_AT_ONCE = 1000
"""Number of items of an array that are encoded together."""


class Encoder:
    """Writes values as JSON text that *stream* can carry."""

    def __init__(self, stream: TextIO) -> None:
        # A stream that is not UTF-8 would write some letters as escapes that are not JSON.
        ascii_only = (stream.encoding or "ascii").lower().replace("-", "") != "utf8"
        # One encoder for all values: `json.dumps` makes a new one each time, which costs as much as a short record.
        self._encode = json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=False, default=_plain).encode
        self._encode_apart = json.JSONEncoder(
            ensure_ascii=ascii_only, allow_nan=False, default=_plain, separators=(",\n", ": ")
        ).encode

    def text(self, value: Any) -> str:
        """Return *value* as JSON on one line."""
        try:
            text = self._encode(value)
        except ValueError:
            text = self._encode(_finite(value))
        if "-0.0" in text:
            text = self._encode(_finite(value))
        # Every unprintable character here is part of a string: JSON's own punctuation is printable.
        return text if text.isprintable() else "".join(map(_json_escaped, text))

    def array(self, values: Iterable[Any]) -> Iterator[str]:
        """Yield the pieces of an array, each item on its own line."""
        before, iterator = "[\n", iter(values)
        while batch := list(islice(iterator, _AT_ONCE)):
            yield before + (self._lines(batch) or ",\n".join(map(self.text, batch)))
            before = ",\n"
        yield "[]" if before == "[\n" else "\n]"

    def _lines(self, values: list[Any]) -> str | None:
        """Return items of an array, each on its own line, in a third of the time; None if this is impossible."""
        if not all(issubclass(kind, Mapping) for kind in set(map(type, values))):
            return None
        try:
            # Strings in JSON contain no literal newline or NUL: all newlines are separators here.
            text = self._encode_apart(values)[1:-1].replace("},\n{", "}\0{")
        except ValueError:
            return None
        if text.count("\0") != len(values) - 1 or "-0.0" in text:  # some item holds an array of objects, or such a zero
            return None
        text = text.replace(",\n", ", ")
        return text.replace("\0", ",\n") if text.replace("\0", "").isprintable() else None

    def document(self, members: Mapping[str, Any]) -> Iterator[str]:
        """Yield the pieces of an object, each member on its own line, a long array's items likewise."""
        before = "{\n"
        for name, value in members.items():
            yield f"{before}{self.text(name)}: "
            if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
                yield from self.array(value)
            else:
                yield self.text(value)
            before = ",\n"
        yield "{}" if before == "{\n" else "\n}"


def write_json(value: Any, stream: TextIO | None = None) -> None:
    """Write *value* as one JSON document: objects and arrays get a line per member."""
    stream = stream or sys.stdout
    encoder = Encoder(stream)
    if isinstance(value, Mapping):
        stream.writelines(encoder.document(value))
    elif isinstance(value, str) or not isinstance(value, Iterable):
        stream.write(encoder.text(value))
    else:
        stream.writelines(encoder.array(value))
    stream.write("\n")


def write_ndjson(records: Iterable[Record], stream: TextIO) -> None:
    """Write one JSON object per line."""
    encoder = Encoder(stream)
    stream.writelines(f"{encoder.text(record)}\n" for record in records)


def _cell(value: Any, escaped: Callable[[str], str]) -> str:
    kind = type(value)
    if kind is str:
        return escaped(value)
    if value is None:
        return ""
    if kind is int or kind is float:
        return str(value or kind())  # no sign of a zero
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, dict)):
        return escaped(json.dumps(_finite(value), ensure_ascii=False, default=_plain))
    return escaped(str(value))


_LAYOUTS = 1000
"""Number of different lists of attributes that are remembered."""


def _rows(records: Iterable[Record], fields: Sequence[str], escaped: Callable[[str], str]) -> Iterator[list[str]]:
    """Yield the cells of each record; the attributes are looked up in any case."""
    lowered_fields = [field.lower() for field in fields]
    layouts: dict[tuple[str, ...], list[str | None]] = {}
    for record in records:
        # Records of one kind have few different lists of attributes: each list is searched once.
        names = tuple(record)
        layout = layouts.get(names)
        if layout is None:
            lowered = {name.lower(): name for name in names}
            if len(layouts) >= _LAYOUTS:
                layouts.clear()
            layout = layouts[names] = [lowered.get(name) for name in lowered_fields]
        yield [_cell(None if name is None else record[name], escaped) for name in layout]


def write_csv(records: Iterable[Record], fields: Sequence[str], header: bool, stream: TextIO) -> None:
    """Write comma-separated values as RFC 4180 quotes them; lines end in a bare newline.

    Control characters other than newline and tab are written as escapes; a backslash in the value is not doubled.
    """
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    if header:
        writer.writerow([escape(field) for field in fields])
    writer.writerows(_rows(records, fields, partial(escape, keep="\n\t")))


def write_tsv(records: Iterable[Record], fields: Sequence[str], header: bool, stream: TextIO) -> None:
    """Write tab-separated values; a backslash is doubled, and control characters are written as escapes."""
    if header:
        stream.write("\t".join(map(_tsv, fields)) + "\n")
    stream.writelines("\t".join(row) + "\n" for row in _rows(records, fields, _tsv))


def _tsv(cell: str) -> str:
    return escape(cell.replace("\\", "\\\\"))
