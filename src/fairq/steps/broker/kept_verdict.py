"""The stored form of a task's outcome: the deciding reason of every queue, the weights and the stage table.

What many tasks have in common stands once, in the document of their run (see `Legend`). The packed form of a task is,
in bytes:

- the number 2, the size of a small number, and `Head`;
- the stages that follow those of its course;
- the rows of the candidates;
- the numbers of the refusals that follow those of its course (0 is one of its own), and its own refusals;
- the exact weights of the candidates;
- the weights of the queues that weigh otherwise than in common, and their rows; the weights of all queues weighed if
  nothing is in common; both as 32-bit reals;
- the tag that stopped it.
"""

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

from fairq.engine.brokerage.flow.course import UNDECIDED, StageCount
from fairq.errors.broker import FormerVerdictError

FORM = 2

_LEVEL = 1
"""Of compression: the quickest."""

NUMBER = np.dtype("<u4")
WEIGHT = np.dtype("<f4")
EXACT = np.dtype("<f8")
SMALL: dict[int, np.dtype[Any]] = {2: np.dtype("<u2"), 4: NUMBER}
"""Small numbers by their size: two bytes are enough unless there are 65,536 queues."""

HEADS = {2: struct.Struct("<2B3I6H"), 4: struct.Struct("<2B9I")}
"""The first bytes of the packed form by the size of small numbers; see `Head`."""

LINE = 6
"""Small numbers in a line of the stage table."""

Refused = tuple[int, bytes]
"""The number of a reason, and the set of the queues refused for it: a bit for each, see `packed_set`."""


class Head(NamedTuple):
    """The first numbers of the packed form: by their numbers in the `Legend` the course, the set of the queues weighed,
    the weights in common (0 is none) and the activity; and how many there are of each part."""

    course: int
    weighed: int
    common: int
    activity: int
    stages: int
    candidates: int
    refusals: int
    own: int
    own_weights: int

    def packed(self, size: int) -> bytes:
        """Return the form, the *size* of small numbers, and the numbers; the first three are not small."""
        return HEADS[size].pack(FORM, size, *self)


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
    def weighed(self) -> list[bytes]:
        """The sets of queues that are weighed for a task."""
        data, step = _decompressed(self._document["weighed"]), set_size(len(self.names))
        return [data[at : at + step] for at in range(0, len(data), step)]

    @cached_property
    def weights(self) -> list[NDArray[np.float64]]:
        """The weights that tasks have in common, by row; not-a-number for queues that are weighed for none of them."""
        size, reader, found = len(self.names), Reader(base64.b64decode(self._document["weights"])), []
        while reader.is_left:
            rows = rows_in(reader.bytes(set_size(size)), size)
            weights = np.full(size, np.nan)
            weights[rows] = reader.take(WEIGHT, len(rows))
            found.append(weights)
        return found


def unpack(data: bytes, legend: Legend) -> Kept:
    """Return the outcome in *data*.

    Raises FormerVerdictError for a form of before the baseline of the schema, which states may still hold.
    """
    if data[0] != FORM:
        raise FormerVerdictError
    small, size, reader = SMALL[data[1]], len(legend.names), Reader(data, 2)
    head = Head(*reader.take(NUMBER, 3).tolist(), *reader.take(small, len(Head._fields) - 3).tolist())
    course = legend.courses[head.course - 1] if head.course else PackedCourse()
    lines = [*np.frombuffer(course.lines, small).tolist(), *reader.take(small, LINE * head.stages).tolist()]
    chosen = reader.take(small, head.candidates).tolist()
    numbers = [*np.frombuffer(course.numbers, NUMBER).tolist(), *reader.take(NUMBER, head.refusals).tolist()]
    own = iter(reader.refusals(head.own, size))
    decided = np.full(size, UNDECIDED, np.int16)
    for number, rows in [legend.refusals[number - 1] if number else next(own) for number in numbers]:
        hit = rows_in(rows, size)
        decided[hit[decided[hit] == UNDECIDED]] = number
    exact = reader.take(EXACT, head.candidates).tolist()
    rows = rows_in(legend.weighed[head.weighed - 1] if head.weighed else b"", size)
    weights = np.full(size, np.nan)
    if head.common:
        weights[rows] = legend.weights[head.common - 1][rows]
        own_weights = reader.take(WEIGHT, head.own_weights)
        weights[reader.take(small, head.own_weights)] = own_weights
    else:
        weights[rows] = reader.take(WEIGHT, len(rows))
    activity, order = legend.orders[head.activity]
    stages = [StageCount(order[lines[at]], *lines[at + 1 : at + LINE]) for at in range(0, len(lines), LINE)]
    best = [(legend.names[row], weight) for row, weight in zip(chosen, exact, strict=True)]
    return Kept(activity, decided, weights, tuple(stages), best, reader.bytes().decode())


def legend_document(
    names: Sequence[str],
    orders: Mapping[str, Sequence[str]],
    refusals: Iterable[Refused],
    courses: Iterable[PackedCourse],
    weighed: Iterable[bytes],
    weights: Iterable[tuple[NDArray[np.bool_], NDArray[np.floating[Any]]]],
) -> dict[str, Any]:
    """Return what a `Legend` reads; *weights* are by row, each with the rows that are weighed by them."""
    of_courses = [struct.pack("<2I", len(lines), len(numbers)) + lines + numbers for lines, numbers in courses]
    of_weights = [packed_set(rows) + one[rows].astype(WEIGHT).tobytes() for rows, one in weights]
    return {
        "queues": pack_names(names),
        "orders": orders,
        "refusals": _compressed(map(packed_refusal, refusals)),
        "courses": _compressed(of_courses),
        "weighed": _compressed(weighed),
        # Compressed, they would be hardly shorter.
        "weights": base64.b64encode(b"".join(of_weights)).decode(),
    }


def set_size(size: int) -> int:
    """Return the bytes of a set of *size* queues."""
    return (size + 7) // 8


def packed_set(rows: NDArray[np.bool_]) -> bytes:
    """Return the queues that are true in *rows* as a set, a bit for each."""
    return np.packbits(rows, bitorder="little").tobytes()


def rows_in(packed: bytes, size: int) -> NDArray[np.intp]:
    """Return the members of a set of *size* queues in ascending order; an empty text is an empty set."""
    if not packed:
        return np.zeros(0, np.intp)
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=size, bitorder="little").nonzero()[0]


def packed_refusal(one: Refused) -> bytes:
    """Return a refusal as bytes."""
    number, rows = one
    return number.to_bytes(2, "little") + rows


def refusals_in(data: bytes, size: int) -> list[Refused]:
    """Return the refusals in *data*, the inverse of `packed_refusal`; their sets are of *size* queues."""
    step = 2 + set_size(size)
    return [(int.from_bytes(data[at : at + 2], "little"), data[at + 2 : at + step]) for at in range(0, len(data), step)]


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
