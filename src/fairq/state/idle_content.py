"""How the copy of the idle jobs is stored: each submitter's ranges by column, in one value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from fairq.columns.idle_jobs import IdleJobs, Numbers

_BYTES = 8
"""Of a number in a column."""


class _Content(msgspec.Struct, array_like=True):
    """A submitter's ranges as stored: columns in little-endian bytes, or one number for all *size* rows."""

    size: int
    columns: dict[str, bytes | int]
    texts: list[str | None]


def encoded(idle: IdleJobs) -> bytes:
    """Return the ranges of a submitter as they are stored."""
    columns: dict[str, bytes | int] = {}
    for name, column in idle.columns.items():
        one = bool((column == column[0]).all())
        columns[name] = int(column[0]) if one else column.astype("<i8").tobytes()
    return msgspec.msgpack.encode(_Content(len(idle), columns, list(idle.texts)))


def decoded(stored: Iterable[tuple[str, str, bytes]]) -> list[IdleJobs]:
    """Return the ranges of all submitters, from schedd, submitter and what `encoded` returned.

    Raises ValueError, KeyError or OverflowError if they are damaged.
    """
    decoder = msgspec.msgpack.Decoder(_Content)
    places: list[tuple[str, str]] = []
    contents: list[_Content] = []
    for schedd, submitter, content in stored:
        places.append((schedd, submitter))
        contents.append(decoder.decode(content))
    if not contents:
        return []
    sizes = [of.size for of in contents]
    # An array of its own for each column of each submitter would cost five times as much.
    columns = {name: _together([of.columns[name] for of in contents], sizes) for name in contents[0].columns}
    found: list[IdleJobs] = []
    start = 0
    for (schedd, submitter), of in zip(places, contents, strict=True):
        rows = slice(start, start + of.size)
        found.append(IdleJobs(schedd, submitter, {name: column[rows] for name, column in columns.items()}, of.texts))
        start += of.size
    return found


def _together(stored: Sequence[bytes | int], sizes: Sequence[int]) -> Numbers:
    """Return the values of a column of all submitters one after the other."""
    if all(isinstance(column, int) for column in stored):
        return np.repeat(np.array(stored, np.int64), sizes)
    parts = [
        column.to_bytes(_BYTES, "little", signed=True) * size if isinstance(column, int) else column
        for column, size in zip(stored, sizes, strict=True)
    ]
    if [len(part) for part in parts] != [_BYTES * size for size in sizes]:
        raise ValueError("a column has more values than its submitter has ranges, or less")
    return np.frombuffer(b"".join(parts), "<i8")
