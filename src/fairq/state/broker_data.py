"""What the brokerage reads: a table per kind of record, all of them handled alike.

A row is a tuple of values in the order of the kind's columns; lists and objects are as JSON has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from sqlite3 import Cursor
from typing import Any, Literal

from fairq.columns.broker.column import NESTED, Column, Kind
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.rows import by_column, objects_in

Row = tuple[Any, ...]

Columns = dict[str, Sequence[Any]]
"""The values of each column by its name."""

Readers = Mapping[str, Callable[[Sequence[str]], Sequence[Any]]]
"""By the name of a column, what returns the values of its JSON texts in place of Python's own."""

_STORED_OTHERWISE = NESTED | {"boolean"}
"""Types of columns whose values are not stored as they are."""

_AT_ONCE = 500
"""Records read together: enough to read their JSON as one text."""

_FEW = 500
"""So many values are looked up one by one; for more of them, all records are read."""


def load(state: State, kind: Kind, columns: Sequence[str] | None = None, *, known: str | None = None) -> list[Row]:
    """Return every record, in order of the keys: all columns, or those named.

    *known*: only records with a value in this column.
    """
    chosen = _chosen(kind, columns)
    return _decoded(chosen, state.connection.execute(_every(kind, chosen, known)).fetchall(), {})


def load_columns(state: State, kind: Kind, columns: Sequence[str]) -> Columns:
    """Return the values of *columns*, in order of the records' keys."""
    chosen = _chosen(kind, columns)
    return _by_column(chosen, state.connection.execute(_every(kind, chosen)).fetchall(), {})


def columns_of_each(
    state: State,
    kind: Kind,
    columns: Sequence[str],
    values: Collection[Any] | None = None,
    readers: Readers | None = None,
) -> Iterator[Columns]:
    """Yield `load_columns` of some records at a time; of large ones, few are in memory at once.

    *values*: only of records with one of these in the first of the *columns*, which is the first key. *readers*: see
    `Readers`.
    """
    wanted = None if values is None else set(values)
    if wanted is not None and len(wanted) <= _FEW:
        if few := select(state, kind, columns[0], sorted(wanted), columns, readers):
            yield dict(zip(columns, zip(*few, strict=True), strict=True))
        return
    chosen = _chosen(kind, columns)
    found = state.connection.execute(_every(kind, chosen))
    while some := found.fetchmany(_AT_ONCE):
        yield _by_column(chosen, [row for row in some if wanted is None or row[0] in wanted], readers or {})


def each(state: State, kind: Kind) -> Iterator[Row]:
    """Yield every record, in order of the keys; few are in memory at a time."""
    found = state.connection.execute(_every(kind, kind.columns))
    while some := found.fetchmany(_AT_ONCE):
        yield from _decoded(kind.columns, some, {})


def _every(kind: Kind, columns: Sequence[Column], known: str | None = None) -> str:
    order = ", ".join(_quoted(column.name) for column in kind.keys)
    where = "" if known is None else f" WHERE {_quoted(known)} IS NOT NULL"
    return f"SELECT {_names(columns)} FROM {kind.table}{where} ORDER BY {order}"


def select(
    state: State,
    kind: Kind,
    column: str,
    values: Iterable[Any],
    columns: Sequence[str] | None = None,
    readers: Readers | None = None,
) -> list[Row]:
    """Return the records that have one of *values* in *column*, in the order of the values and then of the keys.

    All columns, or those named. *readers*: see `Readers`.
    """
    chosen = _chosen(kind, columns)
    order = ", ".join(_quoted(one.name) for one in kind.keys)
    statement = f"SELECT {_names(chosen)} FROM {kind.table} WHERE {_quoted(column)} = ? ORDER BY {order}"
    found = [row for value in values for row in state.connection.execute(statement, (value,))]
    return _decoded(chosen, found, readers or {})


def totals(
    state: State,
    kind: Kind,
    number: str,
    column: str,
    values: Sequence[str],
    by: Sequence[str],
    only: tuple[str, Literal["=", "<>"], Any],
) -> Cursor:
    """Yield for each combination of the columns *by* the sums of *number* over the records with each of *values* in
    *column*: a row of the combination and the sums.

    Only records count whose column compares with a value as *only* says.
    """
    compared, comparison, value = only
    keys = ", ".join(map(_quoted, by))
    # A sum for each value goes through the index in its order; to group by *column* as well, SQLite would sort.
    sums = ", ".join(f"ifnull(sum({_quoted(number)}) FILTER (WHERE {_quoted(column)} = ?), 0)" for _ in values)
    return state.connection.execute(
        f"SELECT {keys}, {sums} FROM {kind.table} WHERE {_quoted(compared)} {comparison} ? "
        f"GROUP BY {keys} ORDER BY {keys}",
        (*values, value),
    )


def counts(state: State, kind: Kind, by: Sequence[str]) -> list[Row]:
    """Return each combination of the columns *by* and how many records have it."""
    names = ", ".join(map(_quoted, by))
    return state.connection.execute(f"SELECT {names}, count(*) FROM {kind.table} GROUP BY {names}").fetchall()


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
    nested = [(place, _ENCODERS[column.type]) for place, column in enumerate(columns) if column.type in NESTED]
    if not nested:
        return records
    return (_with_text(row, nested) for row in records)


def _objects_text(objects: Sequence[Mapping[str, Any]]) -> str:
    return rows.dumps(by_column(objects))


def _list_text(texts: Sequence[str]) -> str:
    # The same as of the encoder, which takes four times as long for a list of few texts.
    return f"[{','.join(map(encode_basestring_ascii, texts))}]"


_ENCODERS: Mapping[str, Callable[[Any], str]] = {"object": rows.dumps, "objects": _objects_text, "list": _list_text}
"""By the type of a column, what returns a value of it as JSON text."""


def _with_text(row: Row, nested: list[tuple[int, Callable[[Any], str]]]) -> Row:
    values = list(row)
    for place, text_of in nested:
        if values[place] is not None:
            values[place] = text_of(values[place])
    return tuple(values)


def _by_column(columns: Sequence[Column], found: list[Row], readers: Readers) -> Columns:
    by_column: Iterable[Sequence[Any]] = zip(*found, strict=True) if found else [()] * len(columns)
    return {
        column.name: _converted(column, values, readers.get(column.name))
        for column, values in zip(columns, by_column, strict=True)
    }


def _decoded(columns: Sequence[Column], found: list[Row], readers: Readers) -> list[Row]:
    """Read JSON a column at a time, and numbers as truth values where a column has these."""
    stored_otherwise = [place for place, column in enumerate(columns) if column.type in _STORED_OTHERWISE]
    # Null is null in any type.
    if all(row[place] is None for place in stored_otherwise for row in found):
        return found
    return list(zip(*_by_column(columns, found, readers).values(), strict=True))


def _converted(
    column: Column, values: Sequence[Any], reader: Callable[[Sequence[str]], Sequence[Any]] | None = None
) -> Sequence[Any]:
    if reader is not None:
        return reader(values)
    if column.type == "boolean":
        return [None if value is None else bool(value) for value in values]
    if column.type == "objects":
        return _loaded(values, objects_in)
    return _loaded(values) if column.type in NESTED else values


def _loaded(texts: Sequence[str | None], make: Callable[[Any], Any] | None = None) -> list[Any]:
    """Read JSON texts, each of its values by *make*; None is null.

    What repeats is read once, and its values are the same object.
    """
    distinct = dict.fromkeys(texts)
    values = rows.loads_all("null" if text is None else text for text in distinct)
    found = dict(zip(distinct, values if make is None else map(make, values), strict=True))
    return [found[text] for text in texts]
