"""Small helpers that every kind of record shares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import astuple

from fairq.state.connection import State

_VALUES = 999
"""Every SQLite takes so many values in one statement."""


dumps: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":")).encode
"""Returns compact JSON, attribute order kept. One encoder for all: `json.dumps` would make one for each value."""

_decode: Callable[[str | bytes], list[Any]] = msgspec.json.Decoder(list[Any]).decode
"""Reads what `json.loads` reads, but for a few texts, in half the time."""


def loads_all(texts: Iterable[str]) -> list[Any]:
    """Read many JSON texts as one: several times faster than one by one."""
    return loads_array("[" + ",".join(texts) + "]")


def loads_array(text: str | bytes) -> list[Any]:
    """Read a JSON array; raises ValueError if it is none."""
    try:
        return _decode(text)
    except ValueError:  # odd texts and numbers, as infinity and halves of characters
        values: list[Any] = json.loads(text)
        return values


def insert(state: State, into: str, values_of_rows: Iterable[Sequence[Any]]) -> None:
    """Insert many rows by *into*, a statement up to its VALUES.

    Several rows in one statement take a quarter less time than one by one; a literal NULL for a column without values
    halves that again.
    """
    left = iter(values_of_rows)
    first = next(left, None)
    if first is None:
        return
    width, left = len(first), chain([first], left)
    while some := list(islice(left, _VALUES // width)):
        empty = {
            number for number, value in enumerate(some[0]) if value is None and all(row[number] is None for row in some)
        }
        marks = f"({', '.join('NULL' if number in empty else '?' for number in range(width))})"
        places = ", ".join([marks] * len(some))
        if empty:
            columns = zip(*some, strict=True)
            some = list(zip(*(column for number, column in enumerate(columns) if number not in empty), strict=True))
        values = list(chain.from_iterable(some))
        state.connection.execute(f"{into} VALUES {places}", values)


Kind = TypeVar("Kind", bound=msgspec.Struct)


class Records(Generic[Kind]):
    """The records of one kind in a *table* that has a column of the name of each field.

    The columns *json* hold JSON texts. *forms* are the types of the fields whose values SQLite does not give back as
    they were: truth values and enumerations.
    """

    def __init__(self, kind: type[Kind], table: str, *json: str, **forms: Callable[[Any], Any]) -> None:
        self.names = kind.__struct_fields__
        self.columns = ", ".join(self.names)
        self._kind = kind
        self._table = table
        self._json = [self.names.index(name) for name in json]
        self._forms = {self.names.index(name): form for name, form in forms.items()}

    def select(self, state: State, rest: str = "", values: Sequence[Any] = ()) -> list[Kind]:
        """Return the records of the rows that a query with this *rest* finds, in its order."""
        return self.read(
            state.connection.execute(f"SELECT {self.columns} FROM {self._table} {rest}", values).fetchall()
        )

    def first(self, state: State, rest: str, values: Sequence[Any] = ()) -> Kind | None:
        """Return the first record that `select` finds; None if there is none."""
        return next(iter(self.select(state, f"{rest} LIMIT 1", values)), None)

    def read(self, stored: Sequence[Sequence[Any]]) -> list[Kind]:
        """Return the records of rows with a value for each field."""
        if not stored:
            return []
        columns: list[Iterable[Any]] = list(zip(*stored, strict=True))
        for place in self._json:
            if any(columns[place]):
                columns[place] = loads_all(text or "null" for text in columns[place])
        for place, form in self._forms.items():
            columns[place] = map(form, columns[place])
        return list(map(self._kind, *columns))

    def row(self, record: Kind) -> list[Any]:
        """Return the values that are stored of a record."""
        values = list(astuple(record))
        for place in self._json:
            if values[place] is not None:
                values[place] = dumps(values[place])
        return values

    def add(self, state: State, records: Iterable[Kind], act: str = "INSERT") -> None:
        """Store *records* by INSERT or another *act*; an ``id`` of 0 is replaced by the next number."""
        of_rows: Iterable[list[Any]] = map(self.row, records)
        if self.names[0] == "id":
            of_rows = ([number or None, *values] for number, *values in of_rows)
        insert(state, f"{act} INTO {self._table} ({self.columns})", of_rows)


@contextmanager
def indexed_at_the_end(state: State, table: str) -> Iterator[None]:
    """Drop the indexes and triggers of a *table* while many rows are added, and create them again.

    That takes less than half the time if the table had few rows. Within the transaction, nobody sees it.
    """
    execute = state.connection.execute
    having = "type IN ('index', 'trigger') AND tbl_name = ? AND sql IS NOT NULL"
    away = execute(f"SELECT type, name, sql FROM sqlite_master WHERE {having} ORDER BY rowid", (table,)).fetchall()
    for kind, name, _ in away:
        execute(f"DROP {kind} {name}")
    yield
    for _, _, sql in away:
        execute(sql)


def names_starting(state: State, table: str, prefix: str, limit: int) -> list[str]:
    """Return the first *limit* names of a table whose key is `name` that start with *prefix*, in order."""
    if limit <= 0:
        return []
    rows = state.connection.execute(
        f"SELECT DISTINCT name FROM {table} WHERE name >= ? AND name < ? ORDER BY name LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [name for (name,) in rows]


def attribute_names(state: State, table: str) -> list[str]:
    """Return the names of the attributes in the newest ads of a table, in order."""
    newest = f"SELECT ad FROM {table} ORDER BY id DESC LIMIT 20"
    rows = state.connection.execute(f"SELECT DISTINCT key FROM ({newest}), json_each(ad) ORDER BY key")
    return [name for (name,) in rows]


def dissolve_slots(state: State, table: str, slot_ids: Iterable[int]) -> None:
    """Take those of these slots that *table* names out of it and out of the pool; their claims must be released."""
    numbers = [(number,) for number in slot_ids]
    known = [
        number
        for number in numbers
        if state.connection.execute(f"SELECT 1 FROM {table} WHERE slot_id = ?", number).fetchone()
    ]
    state.connection.executemany(f"DELETE FROM {table} WHERE slot_id = ?", known)
    state.connection.executemany("DELETE FROM slot WHERE id = ?", known)


ByColumn = Mapping[str, Sequence[Any]]
"""The values of objects that have the same names in the same order, by name."""


def by_column(objects: Sequence[Mapping[str, Any]]) -> ByColumn | Sequence[Mapping[str, Any]]:
    """Return *objects* by column; unchanged if they have different names, or none."""
    names = list(objects[0]) if objects else []
    if not names or any(list(record) != names for record in objects):
        return objects
    return {name: [record[name] for record in objects] for name in names}


def objects_in(stored: ByColumn | Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the objects that were given to `by_column`."""
    if not isinstance(stored, Mapping):
        return stored
    return [dict(zip(stored, values, strict=True)) for values in zip(*stored.values(), strict=True)]
