"""The definition of a published form: how to recognise it, and how to read its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from fairq.columns.broker.column import Kind
from fairq.formats.table import Numbered, is_plain, named, numbered


class LeftOut(Struct, frozen=True):
    """An entry that gives no record, with the reason why PanDA also leaves it out."""

    reason: str


Entries = Numbered
"""Pairs of an entry's position in the file and its record, as an object, or `LeftOut`."""


class Form(Struct, frozen=True):
    """One published form.

    Args:
        name: its name in messages.
        kind: the kind of its records.
        fits: returns whether a JSON document has this form.
        entries: returns the entries of a document in this form.
        completes: its records add columns to records of other files; a record that is missing there is left out.
        absent: the columns for records that the file does not name.
    """

    name: str
    kind: Kind
    fits: Callable[[Any], bool]
    entries: Callable[[Any], Entries]
    completes: bool = False
    absent: Mapping[str, Any] = field(default_factory=dict)


def entries_of(document: Any) -> Entries:
    """Yield position and value of each entry of a list or of an object of objects."""
    return numbered(document) if isinstance(document, list) else named(document)


def reader(
    entries: Callable[[Any], Entries], records: Callable[[Mapping[str, Any]], Iterator[Any]]
) -> Callable[[Any], Entries]:
    """Return a reader that yields, for each of the *entries* of a document, its *records*, or what is no object."""

    def read(document: Any) -> Entries:
        for where, entry in entries(document):
            for record in records(entry) if is_plain(entry) else [entry]:
                yield where, record

    return read


def first_of(document: Any) -> Mapping[str, Any]:
    """Return the first object in a list or in an object of objects; an empty object if there is none."""
    if isinstance(document, dict):
        entries: Any = document.values()
    else:
        entries = document if isinstance(document, list) else ()
    return next((entry for entry in entries if isinstance(entry, dict)), {})


def is_named(document: Any) -> bool:
    """Return whether *document* is an object whose members are all objects."""
    return (
        isinstance(document, dict) and bool(document) and all(isinstance(member, dict) for member in document.values())
    )
