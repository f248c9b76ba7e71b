"""Read a table of records: JSON (a list of objects, an object of objects by name, one object) or CSV with a header."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairq.errors.pool import InvalidDumpError
from fairq.formats.source import Source

Numbered = Iterator[tuple[str, Any]]
"""Records, each with its position (``record 3``, ``line 7``); an entry that is not an object is not a record."""

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')

NAME = ""
"""The field of a record that holds its name in an object of objects."""


class Repeated(dict[str, Any]):
    """A JSON object with repeated names: it holds the first member of each name, *repeated* the others."""

    def __init__(self, first: Mapping[str, Any], repeated: list[tuple[str, Any]]) -> None:
        super().__init__(first)
        self.repeated = repeated


class SeparatedRows:
    """The rows of a text, including blank ones; tabs separate values if the headings have more tabs than commas.

    MySQL prints a missing value of TSV as NULL: it is empty here. Iteration raises csv.Error.
    """

    def __init__(self, text: str) -> None:
        headings = text.lstrip().partition("\n")[0]
        self._tabs = headings.count("\t") > headings.count(",")
        self._reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if self._tabs else ",", strict=True)

    @property
    def line(self) -> int:
        """The number of the last line of the row read last."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        for row in self._reader:
            yield ["" if cell == "NULL" else cell for cell in row] if self._tabs else row


class Table(Struct, frozen=True):
    """The content of a file: the *document* of JSON, or the text of *csv*; *source* is its name for messages."""

    source: str
    document: Any = None
    csv: str | None = None


def parse_table(source: Source) -> Table:
    """Return the content of *source*; its first character decides between JSON and CSV.

    Raises InvalidDumpError if it is neither, UnreadableDumpError if it cannot be read.
    """
    try:
        text = source.read_all()
    except InvalidDumpError as error:
        raise InvalidDumpError(**{**error.fields, "cure": "give JSON or CSV in UTF-8"}) from None
    if not text.strip():
        raise InvalidDumpError.at_line(source.name, 1, "it is empty", "give JSON or CSV")
    if text.lstrip()[0] in "[{":
        return Table(source.name, _json(source.name, text))
    return Table(source.name, csv=text)


def records_of(table: Table, columns: Container[str]) -> Numbered:
    """Yield the records of *table*; the headings of CSV must include one of *columns*, in lower case.

    Raises InvalidDumpError.
    """
    if table.csv is not None:
        return _csv_records(table.source, table.csv, columns)
    document = table.document
    if isinstance(document, dict):
        if any(isinstance(value, dict) for value in document.values()) and not any(
            key.lower() in columns for key in document
        ):
            return named(document)
        return iter([("record 1", document)])
    return numbered(document)


def is_plain(record: Any) -> bool:
    """Return whether a record is an object without repeated names; callers pass others on, to be refused."""
    return isinstance(record, dict) and not isinstance(record, Repeated)


def named(document: Mapping[str, Any]) -> Numbered:
    """Yield position and value of each member of an object of objects, also of members with a repeated name."""
    repeated = document.repeated if isinstance(document, Repeated) else []
    return ((f"record {name!r}", {NAME: name, **record} if is_plain(record) else record)
            for name, record in (*document.items(), *repeated))  # fmt: skip


def numbered(document: Sequence[Any]) -> Numbered:
    """Yield position and value of each entry of a list."""
    return ((f"record {number}", record) for number, record in enumerate(document, 1))


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_not_a_number, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        cure = "give a JSON list of objects, or CSV with a line of headings"
        problem = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InvalidDumpError.at_line(name, error.lineno, problem, cure) from None
    except (ValueError, RecursionError) as error:
        raise InvalidDumpError(
            source=name, where=_where(text, error), problem=f"not JSON: {error}", cure="write the file again"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    first_members = dict(reversed(pairs))
    if len(first_members) == len(pairs):
        return dict(pairs)
    seen_names: set[str] = set()
    repeated: list[tuple[str, Any]] = []
    for name, value in pairs:
        if name in seen_names:
            repeated.append((name, value))
        seen_names.add(name)
    return Repeated(first_members, repeated)


class _NotANumberError(ValueError):
    """A word, such as NaN, that Python's JSON takes for a number."""

    def __init__(self, word: str) -> None:
        super().__init__(f"{word} is not a number of JSON")
        self.word = word


def _not_a_number(word: str) -> Any:
    raise _NotANumberError(word)


def _where(text: str, error: Exception) -> str:
    """Return where the *error* is in JSON, as far as known."""
    if not isinstance(error, _NotANumberError):
        return "somewhere"
    preceding = _TEXT.sub("", text).partition(error.word)[0]
    return f"line {preceding.count(chr(10)) + 1}"


def _csv_records(name: str, text: str, columns: Container[str]) -> Numbered:
    rows = SeparatedRows(text)
    headings: list[str] | None = None
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if headings is None:
                headings = _headings(name, row, columns)
                continue
            if len(row) != len(headings):
                problem = f"{len(row)} values under {len(headings)} headings"
                cure = "put values that hold a comma in double quotes"
                raise InvalidDumpError.at_line(name, rows.line, problem, cure)
            yield f"line {rows.line}", dict(zip(headings, row, strict=True))
    except csv.Error as error:
        raise InvalidDumpError.at_line(name, rows.line, f"not CSV: {error}", "write the file again") from None


def _headings(name: str, row: list[str], columns: Container[str]) -> list[str]:
    headings = [cell.strip() for cell in row]
    duplicates = [heading for index, heading in enumerate(headings) if heading in headings[:index]]
    if duplicates or "" in headings:
        problem = f"the heading {duplicates[0]!r} occurs twice" if duplicates else "a column has no heading"
        raise InvalidDumpError.at_line(name, 1, problem, "give every column a name of its own")
    if not any(heading.lower() in columns for heading in headings):
        if len(headings) == 1 and (
            separator := next((character for character in ";|" if character in headings[0]), "")
        ):
            problem = f"the columns are separated by {separator!r}"
            cure = "separate them by commas or tabs"
            raise InvalidDumpError.at_line(name, 1, problem, cure)
        problem = f"neither JSON nor CSV of this kind: no heading is known, the first is {headings[0][:40]!r}"
        raise InvalidDumpError.at_line(name, 1, problem, "--help lists the columns")
    return headings
