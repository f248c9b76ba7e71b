"""What the brokerage reads: a table per kind of record, all of them handled alike.

A row is a tuple of values in the order of the kind's columns; lists and objects are as JSON has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fairq.brokerdata.column import NESTED, Column, Kind
from fairq.state import rows
from fairq.state.connection import State

Row = tuple[Any, ...]


def load(state: State, kind: Kind, columns: Sequence[str] | None = None) -> list[Row]:
    """Return every record, in order of the keys: all columns, or those named."""
    chosen = _chosen(kind, columns)
    order = ", ".join(_quoted(column.name) for column in kind.keys)
    found = state.connection.execute(f"SELECT {_names(chosen)} FROM {kind.table} ORDER BY {order}").fetchall()
    return _decoded(chosen, found)


def select(
    state: State, kind: Kind, column: str, values: Iterable[Any], columns: Sequence[str] | None = None
) -> list[Row]:
    """Return the records that have one of *values* in *column*, in the order of the values and then of the keys.

    All columns, or those named.
    """
    chosen = _chosen(kind, columns)
    order = ", ".join(_quoted(one.name) for one in kind.keys)
    statement = f"SELECT {_names(chosen)} FROM {kind.table} WHERE {_quoted(column)} = ? ORDER BY {order}"
    found = [row for value in values for row in state.connection.execute(statement, (value,))]
    return _decoded(chosen, found)


def totals(
    state: State, kind: Kind, number: str, column: str, values: Sequence[str], but: tuple[str, Any]
) -> Iterator[tuple[Any, dict[str, int]]]:
    """Yield for each value of the first key the sums of *number* over the records with each of *values* in *column*.

    The records with a column and a value as in *but* are left out, and sums of no records.
    """
    key, (others, value) = _quoted(kind.keys[0].name), but
    # A sum for each value goes through the index in its order; to group by both columns, SQLite would sort.
    sums = ", ".join(f"sum({_quoted(number)}) FILTER (WHERE {_quoted(column)} = ?)" for _ in values)
    statement = f"SELECT {key}, {sums} FROM {kind.table} WHERE {_quoted(others)} <> ? GROUP BY {key} ORDER BY {key}"
    for first, *found in state.connection.execute(statement, (*values, value)):
        yield first, {name: total for name, total in zip(values, found, strict=True) if total is not None}


def keys(state: State, kind: Kind) -> set[Row]:
    """Return the values of the keys of every record."""
    return set(state.connection.execute(f"SELECT {_names(kind.keys)} FROM {kind.table}"))


def starting(state: State, kind: Kind, prefix: str, limit: int = 50) -> list[str]:
    """Return the first *limit* values of a kind's first column that start with *prefix*, in order."""
    name = _quoted(kind.columns[0].name)
    found = state.connection.execute(
        f"SELECT DISTINCT {name} FROM {kind.table} WHERE substr({name}, 1, ?) = ? ORDER BY {name} LIMIT ?",
        (len(prefix), prefix, limit),
    )
    return [str(value) for (value,) in found]


def store(state: State, kind: Kind, records: Iterable[Row], given: Sequence[str] | None = None) -> None:
    """Store records, over those with the same keys.

    Of a record that is there already only the columns *given* (None: all) change.
    """
    names = {column.name for column in kind.columns} if given is None else set(given)
    changing = [column for column in kind.columns if not column.key and column.name in names]
    updates = ", ".join(f"{_quoted(column.name)} = excluded.{_quoted(column.name)}" for column in changing)
    conflict = ", ".join(_quoted(column.name) for column in kind.keys)
    places = ", ".join("?" * len(kind.columns))
    state.connection.executemany(
        f"INSERT INTO {kind.table} ({_names(kind.columns)}) VALUES ({places}) "
        f"ON CONFLICT ({conflict}) DO {f'UPDATE SET {updates}' if changing else 'NOTHING'}",
        _encoded(kind.columns, records),
    )


def change(state: State, kind: Kind, columns: Sequence[str], records: Iterable[Row]) -> None:
    """Change *columns* of the records that are there: each row is their new values, then the keys."""
    chosen = _chosen(kind, columns)
    settings = ", ".join(f"{_quoted(column.name)} = ?" for column in chosen)
    where = " AND ".join(f"{_quoted(column.name)} = ?" for column in kind.keys)
    state.connection.executemany(
        f"UPDATE {kind.table} SET {settings} WHERE {where}", _encoded([*chosen, *kind.keys], records)
    )


def keep(state: State, kind: Kind, wanted: set[Row]) -> None:
    """Remove every record whose keys are not *wanted*."""
    where = " AND ".join(f"{_quoted(column.name)} = ?" for column in kind.keys)
    state.connection.executemany(f"DELETE FROM {kind.table} WHERE {where}", keys(state, kind) - wanted)


def clear(state: State, kind: Kind) -> None:
    """Remove every record."""
    state.connection.execute(f"DELETE FROM {kind.table}")


def remove(state: State, kind: Kind, column: str, values: Iterable[Any]) -> None:
    """Remove the records that have one of *values* in *column*."""
    state.connection.executemany(
        f"DELETE FROM {kind.table} WHERE {_quoted(column)} = ?", [(value,) for value in values]
    )


def _chosen(kind: Kind, columns: Sequence[str] | None) -> Sequence[Column]:
    return kind.columns if columns is None else [kind.columns[kind.positions[name]] for name in columns]


def _names(columns: Iterable[Column]) -> str:
    return ", ".join(_quoted(column.name) for column in columns)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _encoded(columns: Sequence[Column], records: Iterable[Row]) -> Iterable[Row]:
    nested = [place for place, column in enumerate(columns) if column.type in NESTED]
    if not nested:
        return records
    return (_with_text(row, nested) for row in records)


def _with_text(row: Row, nested: list[int]) -> Row:
    values = list(row)
    for place in nested:
        if values[place] is not None:
            values[place] = rows.dumps(values[place])
    return tuple(values)


def _decoded(columns: Sequence[Column], found: list[Row]) -> list[Row]:
    """Read JSON a column at a time, and numbers as truth values where a column has these."""
    converted = {
        place: _converted(column, [row[place] for row in found])
        for place, column in enumerate(columns)
        if column.type in NESTED or column.type == "boolean"
    }
    if not converted or not found:
        return found
    by_column = [converted.get(place) or [row[place] for row in found] for place in range(len(columns))]
    return list(zip(*by_column, strict=True))


def _converted(column: Column, values: list[Any]) -> list[Any]:
    if column.type == "boolean":
        return [None if value is None else bool(value) for value in values]
    return rows.loads_all("null" if value is None else value for value in values)
