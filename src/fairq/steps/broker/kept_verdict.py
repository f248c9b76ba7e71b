"""What is kept of a task's outcome, and what the packed outcomes of one run have in common."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.course import StageCount
from fairq.engine.brokerage.flow.outcome import decided_by
from fairq.engine.brokerage.pool.bits import rows_in

_LEVEL = 1
"""Of compression: the quickest."""

NUMBER = np.dtype("<u4")
WEIGHT = np.dtype("<f4")
EXACT = np.dtype("<f8")
SMALL: dict[int, np.dtype[Any]] = {2: np.dtype("<u2"), 4: NUMBER}
"""Small numbers by their size: two bytes are enough unless there are 65,536 queues."""

LINE = 6
"""Small numbers in a line of the stage table."""

Refused = tuple[int, int]
"""The number of a reason, and the queues refused for it as a set of `fairq.engine.brokerage.pool.bits`."""


class Kept(Struct, frozen=True):
    """One task's outcome.

    Args:
        activity: production or analysis; selects the list of reasons that the numbers refer to.
        decided: for every queue of the cycle the number of its reason, or `UNDECIDED` for a candidate.
        weights: the weight of each queue that was weighed (to seven digits), not-a-number for the others.
        stages: the stage table.
        candidates: the chosen queues in order, and their weights.
        stopped_by: the reason that stopped the task before any queue.
    """

    activity: str
    decided: NDArray[np.int16]
    weights: NDArray[np.float64]
    stages: tuple[StageCount, ...]
    candidates: list[tuple[str, float]]
    stopped_by: str


class PackedCourse(NamedTuple):
    """What tasks have in common: lines of the stage table as small numbers, and the numbers of shared refusals."""

    lines: bytes = b""
    numbers: bytes = b""


class Reader:
    """Reads the numbers of *data* one after the other from *at* on."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    @property
    def is_left(self) -> bool:
        """Whether anything follows."""
        return self._at < len(self._data)

    def take(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """Return the next numbers."""
        found = np.frombuffer(self._data, kind, count, self._at)
        self._at += found.nbytes
        return found

    def refusals(self, count: int, size: int) -> list[Refused]:
        """Return the next refusals, each with a set of *size* queues."""
        return refusals_in(self.bytes(count * (2 + set_size(size))), size)

    def bytes(self, count: int | None = None) -> bytes:
        """Return the next bytes; None: all that follow."""
        start, self._at = self._at, len(self._data) if count is None else self._at + count
        return self._data[start : self._at]


class Legend:
    """What the packed outcomes of a run refer to; *document* is that of the run. The first of each has number 1."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    @cached_property
    def names(self) -> list[str]:
        """The names of the queues, in order of their rows."""
        return unpack_names(self._document["queues"])

    @cached_property
    def orders(self) -> list[tuple[str, list[str]]]:
        """The activities, and the names of the stages of each."""
        return list(self._document["orders"].items())

    @cached_property
    def refusals(self) -> list[Refused]:
        """The shared refusals."""
        return refusals_in(_decompressed(self._document["refusals"]), len(self.names))

    @cached_property
    def courses(self) -> list[PackedCourse]:
        """The courses that tasks have in common."""
        reader, found = Reader(_decompressed(self._document["courses"])), []
        while reader.is_left:
            lines, numbers = reader.take(NUMBER, 2).tolist()
            found.append(PackedCourse(reader.bytes(lines), reader.bytes(numbers)))
        return found

    @cached_property
    def weighed(self) -> list[int]:
        """The sets of queues that are weighed for a task."""
        data, step = _decompressed(self._document["weighed"]), set_size(len(self.names))
        return [int.from_bytes(data[at : at + step], "little") for at in range(0, len(data), step)]

    @cached_property
    def weights(self) -> list[NDArray[np.float64]]:
        """The weights that tasks have in common, by row; not-a-number for queues that are weighed for none of them."""
        size, reader, found = len(self.names), Reader(base64.b64decode(self._document["weights"])), []
        while reader.is_left:
            rows = rows_in(int.from_bytes(reader.bytes(set_size(size)), "little"), size)
            weights = np.full(size, np.nan)
            weights[rows] = reader.take(WEIGHT, len(rows))
            found.append(weights)
        return found

    def kept(
        self,
        activity: int,
        lines: Sequence[int],
        numbers: Iterable[int],
        own: Iterable[Refused],
        candidates: Iterable[tuple[int, float]],
        weights: NDArray[np.float64],
        stopped_by: str,
    ) -> Kept:
        """Return the outcome of a task.

        *lines* are its stage table as small numbers, *numbers* those of its refusals, where 0 is the next of its *own*;
        *candidates* are rows with their weights.
        """
        name, order = self.orders[activity]
        left = iter(own)
        return Kept(
            name,
            decided_by([self.refusals[number - 1] if number else next(left) for number in numbers], len(self.names)),
            weights,
            tuple(StageCount(order[lines[at]], *lines[at + 1 : at + LINE]) for at in range(0, len(lines), LINE)),
            [(self.names[row], weight) for row, weight in candidates],
            stopped_by,
        )


def legend_document(
    names: Sequence[str],
    orders: Mapping[str, Sequence[str]],
    refusals: Iterable[Refused],
    courses: Iterable[PackedCourse],
    weighed: Iterable[int],
    weights: Iterable[tuple[int, NDArray[np.float64]]],
) -> dict[str, Any]:
    """Return what a `Legend` reads; *weights* are by row, each with the set of the queues that are weighed by them."""
    size = len(names)
    of_courses = [struct.pack("<2I", len(lines), len(numbers)) + lines + numbers for lines, numbers in courses]
    return {
        "queues": pack_names(names),
        "orders": orders,
        "refusals": _compressed([packed_refusal(one, size) for one in refusals]),
        "courses": _compressed(of_courses),
        "weighed": _compressed([_packed_set(rows, size) for rows in weighed]),
        # Compressed, they would be hardly shorter.
        "weights": base64.b64encode(b"".join([_packed_weights(*one, size) for one in weights])).decode(),
    }


def set_size(size: int) -> int:
    """Return the bytes of a set of *size* queues."""
    return (size + 7) // 8


def packed_refusal(one: Refused, size: int) -> bytes:
    """Return a refusal as bytes, with the set of *size* queues."""
    number, rows = one
    return number.to_bytes(2, "little") + _packed_set(rows, size)


def refusals_in(data: bytes, size: int) -> list[Refused]:
    """Return the refusals in *data*, the inverse of `packed_refusal`."""
    step = 2 + set_size(size)
    return [
        (int.from_bytes(data[at : at + 2], "little"), int.from_bytes(data[at + 2 : at + step], "little"))
        for at in range(0, len(data), step)
    ]


def _packed_set(rows: int, size: int) -> bytes:
    return rows.to_bytes(set_size(size), "little")


def _packed_weights(rows: int, weights: NDArray[np.float64], size: int) -> bytes:
    return _packed_set(rows, size) + weights[rows_in(rows, size)].astype(WEIGHT).tobytes()


def pack_names(names: Sequence[str]) -> str:
    """Return the names of a run's queues as a short text for its document."""
    return base64.b64encode(zlib.compress("\n".join(names).encode())).decode()


def unpack_names(text: str) -> list[str]:
    """Return the argument of `pack_names`."""
    joined = _decompressed(text).decode()
    return joined.split("\n") if joined else []


def _compressed(parts: Iterable[bytes]) -> str:
    return base64.b64encode(zlib.compress(b"".join(parts), _LEVEL)).decode()


def _decompressed(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
