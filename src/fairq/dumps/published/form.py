"""What a published form is: how it is recognised, and which records it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairq.brokerdata.column import Kind
from fairq.dumps.table import NAME, Repeated


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that is no record, and why PanDA leaves it out as well."""

    reason: str


Entries = Iterator[tuple[str, Any]]
"""Where each entry is in the file, and its record, as an object, or `LeftOut`."""


@dataclass(frozen=True, slots=True)
class Form:
    """One published form.

    Args:
        name: what it is called for people.
        kind: the kind of its records.
        fits: whether a JSON document has this form.
        entries: the records of such a document.
        completes: its records add columns to records of other files; a record that is in none of them is left out.
        absent: the columns that records not named in the file get.
    """

    name: str
    kind: Kind
    fits: Callable[[Any], bool]
    entries: Callable[[Any], Entries]
    completes: bool = False
    absent: Mapping[str, Any] = field(default_factory=dict)


def is_plain(entry: Any) -> bool:
    """Return whether an entry is an object that has each name once; any other one is passed on, to be refused."""
    return isinstance(entry, dict) and not isinstance(entry, Repeated)


def named(document: Any) -> Entries:
    """Yield the members of an object of objects with where each is; names that occur twice are both there."""
    again = document.again if isinstance(document, Repeated) else []
    return ((f"record {name!r}", {NAME: name, **entry} if is_plain(entry) else entry)
            for name, entry in (*document.items(), *again))  # fmt: skip


def numbered(document: list[Any]) -> Entries:
    """Yield the entries of a list with where each is."""
    return ((f"record {number}", entry) for number, entry in enumerate(document, 1))


def entries_of(document: Any) -> Entries:
    """Yield the entries of a list, or of an object of objects."""
    return numbered(document) if isinstance(document, list) else named(document)


def first_of(document: Any) -> Mapping[str, Any]:
    """Return the first entry of a list or of an object of objects that is an object; an empty one if there is none."""
    if isinstance(document, dict):
        entries: Any = document.values()
    else:
        entries = document if isinstance(document, list) else ()
    return next((entry for entry in entries if isinstance(entry, dict)), {})


def is_named(document: Any) -> bool:
    """Return whether *document* is an object of objects alone."""
    return isinstance(document, dict) and bool(document) and all(isinstance(one, dict) for one in document.values())
