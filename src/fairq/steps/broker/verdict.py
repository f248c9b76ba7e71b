"""The stored form of a task's outcome: the deciding reason of every queue, the weights and the stage table, packed.

What many tasks have in common stands once, in the document of their run: names of queues and stages, and the sets of
queues that are refused to all tasks with the same needs. The packed form of a task is, in bytes: the number 1 and the
size of a small number, then small numbers (see `_Head`), stages, numbers of refusals, the task's own refusals, rows of
the candidates and of the queues weighed, the exact weights of the former and the weights of the latter as 32-bit reals,
and the tag that stopped the task. Former releases wrote all of it for each task, compressed (see `_unpack_alone`).
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.outcome import UNDECIDED, Candidate, Outcome, decided_by
from fairq.engine.brokerage.flow.pipeline import Course, Refusal, StageCount
from fairq.engine.brokerage.flow.request import Weighing

_FORM = 1
_LEVEL = 1
_REASONS: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2")}
_PLACE = np.dtype("<u4")
_WEIGHT = np.dtype("<f4")
_EXACT = np.dtype("<f8")
_SMALL: dict[int, np.dtype[Any]] = {2: np.dtype("<u2"), 4: np.dtype("<u4")}
"""Small numbers by their size: two bytes are enough unless there are 65,536 queues."""

_CODES = {2: "H", 4: "I"}
"""The same in the words of `struct`."""

_SETS_KEPT = 1_000
"""Packed sets of queues that are kept: a few megabytes."""

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


class _Head(NamedTuple):
    """The first numbers of the packed form: the activity (see `Legend`), and how many there are of each part."""

    activity: int
    stages: int
    refusals: int
    own: int
    candidates: int
    weighed: int


class _PackedCourse(NamedTuple):
    """What tasks have in common: so many lines of the stage table, so many refusals, and both as they are stored."""

    stages: int
    lines: bytes
    refusals: int
    numbers: bytes


class Packer:
    """Packs the outcomes of one run.

    Args:
        names: of the queues.
        stages: by activity, the names of the stages in order.
    """

    def __init__(self, names: Sequence[str], stages: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self._rows = {name: row for row, name in enumerate(names)}
        self._orders = {activity: list(order) for activity, order in stages.items()}
        self._activities = {activity: number for number, activity in enumerate(stages)}
        # What many tasks have in common.
        self._courses: dict[Course | None, _PackedCourse] = {None: _PackedCourse(0, b"", 0, b"")}
        self._weighed: dict[int, bytes] = {}
        self._small = _SMALL[2 if len(names) < 2**16 else 4]
        self._start = bytes((_FORM, self._small.itemsize))
        self._set = (len(names) + 7) // 8
        self._shared: dict[int, int] = {}
        self._refusals: list[Refusal] = []

    def document(self) -> dict[str, Any]:
        """Return what the packed outcomes refer to; see `Legend`."""
        refusals = b"".join(self._set_of(one) for one in self._refusals)
        return {
            "queues": pack_names(self._names),
            "orders": self._orders,
            "refusals": base64.b64encode(zlib.compress(refusals, _LEVEL)).decode(),
        }

    def pack(self, outcome: Outcome) -> bytes:
        """Return *outcome* as bytes."""
        activity, weighing, best = outcome.request.activity, outcome.request.weighing, outcome.best
        shared = self._courses.get(outcome.shared) or self._course(activity, outcome.shared)
        refusals = outcome.refusals[shared.refusals :]
        own = [one for one in refusals if not one.shared]
        weighed = 0 if weighing is None else len(weighing.rows)
        return b"".join((
            self._start,
            self._pack_small(
                (self._activities[activity], len(outcome.stages), len(outcome.refusals), len(own), len(best), weighed)
            ),
            shared.lines,
            self._lines(activity, outcome.stages[shared.stages :]),
            self._pack_small([self._rows[name] for name, _ in best]),
            shared.numbers,
            self._numbers(refusals),
            *map(self._set_of, own),
            struct.pack(f"<{len(best)}d", *[weight for _, weight in best]),
            b"" if weighing is None else self._weighed.get(weighing.members) or self._weighed_rows(weighing),
            b"" if weighing is None else weighing.weights.astype(_WEIGHT).tobytes(),
            outcome.stopped_by.encode(),
        ))  # fmt: skip

    def _course(self, activity: str, course: Course | None) -> _PackedCourse:
        assert course is not None
        packed = self._courses[course] = _PackedCourse(
            len(course.stages),
            self._lines(activity, course.stages),
            len(course.refusals),
            self._numbers(course.refusals),
        )
        return packed

    def _lines(self, activity: str, stages: Sequence[StageCount]) -> bytes:
        """Return the lines of a stage table one after the other, with the place of each stage for its name."""
        order = self._orders[activity]
        return b"".join([self._pack_small((order.index(line.stage), *line[1:])) for line in stages])

    def _numbers(self, refusals: Sequence[Refusal]) -> bytes:
        """Return the numbers of shared refusals, and 0 for others."""
        known = self._shared
        numbers = [known.get(id(one)) or self._number(one) if one.shared else 0 for one in refusals]
        return struct.pack(f"<{len(numbers)}I", *numbers)

    def _weighed_rows(self, weighing: Weighing) -> bytes:
        if len(self._weighed) >= _SETS_KEPT:
            self._weighed.clear()
        packed = self._weighed[weighing.members] = weighing.rows.astype(self._small).tobytes()
        return packed

    def _pack_small(self, numbers: Sequence[int]) -> bytes:
        return struct.pack(f"<{len(numbers)}{_CODES[self._small.itemsize]}", *numbers)

    def _number(self, one: Refusal) -> int:
        # The same object stands for all tasks, and is held here, so its identity is its own.
        self._refusals.append(one)
        number = self._shared[id(one)] = len(self._refusals)
        return number

    def _set_of(self, one: Refusal) -> bytes:
        return one.number.to_bytes(2, "little") + one.rows.to_bytes(self._set, "little")


class Legend:
    """What the packed outcomes of a run refer to; *document* is that of the run."""

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
        """The shared refusals; that of number 1 is the first."""
        data = zlib.decompress(base64.b64decode(self._document["refusals"]))
        return _sets(data, len(self.names))


def unpack(data: bytes, legend: Legend) -> Kept:
    """Return what `Packer.pack` was given."""
    if data[0] != _FORM:
        return _unpack_alone(data)
    small, size, at = _SMALL[data[1]], len(legend.names), 2

    def take(kind: np.dtype[Any], count: int) -> NDArray[Any]:
        nonlocal at
        found = np.frombuffer(data, kind, count, at)
        at += found.nbytes
        return found

    head = _Head(*take(small, len(_Head._fields)).tolist())
    activity, order = legend.orders[head.activity]
    lines = take(small, 6 * head.stages).reshape(-1, 6).tolist()
    chosen = take(small, head.candidates).tolist()
    numbers = take(_PLACE, head.refusals).tolist()
    own = iter(_sets(take(np.dtype("u1"), head.own * _set_size(size)).tobytes(), size))
    best = take(_EXACT, head.candidates).tolist()
    rows = take(small, head.weighed)
    weights = np.full(size, np.nan)
    weights[rows] = take(_WEIGHT, head.weighed)
    return Kept(
        activity,
        decided_by([legend.refusals[number - 1] if number else next(own) for number in numbers], size),
        weights,
        tuple(StageCount(order[line[0]], *line[1:]) for line in lines),
        [(legend.names[row], weight) for row, weight in zip(chosen, best, strict=True)],
        data[at:].decode(),
    )


def _set_size(size: int) -> int:
    return 2 + (size + 7) // 8


def _sets(data: bytes, size: int) -> list[Refused]:
    step = _set_size(size)
    return [
        (int.from_bytes(data[at : at + 2], "little"), int.from_bytes(data[at + 2 : at + step], "little"))
        for at in range(0, len(data), step)
    ]


def _unpack_alone(data: bytes) -> Kept:
    """Return the outcome of a task that a former release packed.

    It is compressed: a line of JSON, then the numbers of the reasons (one byte for each queue, two if there are more
    than 255 reasons), the rows of the queues weighed, and their weights.
    """
    text, _, rest = zlib.decompress(data).partition(b"\n")
    activity, size, length, stages, candidates, stopped_by = json.loads(text)
    decided = np.frombuffer(rest, _REASONS[size], length).astype(np.int16) + np.int16(UNDECIDED)
    rest = rest[length * size :]
    count = len(rest) // (_PLACE.itemsize + _WEIGHT.itemsize)
    weights = np.full(length, np.nan)
    places = np.frombuffer(rest, _PLACE, count)
    weights[places] = np.frombuffer(rest[_PLACE.itemsize * count :], _WEIGHT, count)
    return Kept(
        activity,
        decided,
        weights,
        tuple(StageCount(*stage) for stage in stages),
        [(queue, weight) for queue, weight in candidates],
        stopped_by,
    )


def pack_names(names: Sequence[str]) -> str:
    """Return the names of a run's queues as a short text for its document."""
    return base64.b64encode(zlib.compress("\n".join(names).encode())).decode()


def unpack_names(text: str) -> list[str]:
    """Return the argument of `pack_names`."""
    joined = zlib.decompress(base64.b64decode(text)).decode()
    return joined.split("\n") if joined else []


def described(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate in the form of the JSON results."""
    return {
        "queue": candidate.queue,
        "weight": candidate.weight,
        "bootstrap": candidate.bootstrap,
        "jumbo": candidate.jumbo,
        "queued": candidate.queued,
        "cap": candidate.cap,
        "running": candidate.running,
        "maxwdir": candidate.maxwdir,
        "max_walltime": candidate.max_walltime,
        "platform": candidate.platform,
        "local_files": candidate.local_files,
        "tape_files": candidate.tape_files,
    }
