"""The stored form of a task's outcome: the deciding reason of every queue, the weights and the stage table.

Data that many tasks share is stored once, in the `Legend` of their run: the sets of queues refused to all tasks with
the same needs, the result of the filters before the weights, and weights. Numbers refer to its lists.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np
from msgspec import DecodeError, Struct
from msgspec.msgpack import Decoder, encode
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.course import UNDECIDED, StageCount
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.world import Activity
from fairq.errors.broker import FormerVerdictError

COUNT, WEIGHT = np.dtype("<u4"), np.dtype("<f4")
"""The stored forms of rows and of the numbers in lines of the stage table, and of weights."""

_LEGEND = "legend"

_LEVEL = 1
"""The compression level: the fastest."""


class StoredReason(NamedTuple):
    """A reason of a flow; *meaning* is the text of a plugin's reason. *permanent*, *temporary*: see `Reason`."""

    stage: str
    tag: str
    meaning: str
    permanent: bool
    temporary: bool


Refused = tuple[int, bytes]
"""The number of a reason, and the queues refused for it as a bit set."""


class PackedCourse(Struct, array_like=True, frozen=True):
    """The result of the filters before the weights: lines of the stage table, and refusals, deciding ones first."""

    lines: bytes
    refusals: list[int]


class Legend(Struct, array_like=True, frozen=True):
    """The data that the packed outcomes of a run refer to by number.

    Args:
        names: the queues, in order of their rows.
        stages, reasons: by activity, those of the flow.
        refusals, courses: see `PackedCourse`.
        weights: for tasks that share weights, the weighed queues as a bit set, and the weights.
    """

    names: list[str]
    stages: dict[Activity, list[str]]
    reasons: dict[Activity, list[StoredReason]]
    refusals: list[Refused]
    courses: list[PackedCourse]
    weights: list[tuple[bytes, bytes]]

    def document(self) -> dict[str, Any]:
        """Return the part of the run's document that `legend_of` reads."""
        return {_LEGEND: base64.b64encode(zlib.compress(encode(self), _LEVEL)).decode()}


class Packed(Struct, array_like=True, frozen=True):
    """One task's outcome.

    Args:
        activity: production or analysis.
        course: the number of its course; None: the task was stopped.
        lines: the lines of the stage table that follow those of the course.
        refused: the queues with another reason than in the course.
        common: the number of the shared weights; None: no weights are shared.
        rows, weights: the rows with other weights than the shared ones, and these weights. Without shared weights:
            the weights of all rows that passed the course.
        chosen, exact: the rows of the candidates in order, and their weights.
        stopped_by: the reason that stopped the task before any queue.
    """

    activity: Activity
    course: int | None
    lines: bytes
    refused: list[Refused]
    common: int | None
    rows: bytes
    weights: bytes
    chosen: list[int]
    exact: list[float]
    stopped_by: str


class Kept(Struct, frozen=True):
    """One task's outcome.

    Args:
        activity: production or analysis.
        reasons: those of the flow.
        decided: for every queue of the cycle the number of its reason, or `UNDECIDED` for a candidate.
        weights: the weight of each queue that was weighed (to seven digits), not-a-number for the others.
        stages: the stage table.
        candidates: the chosen queues in order, and their weights.
        stopped_by: the reason that stopped the task before any queue.
    """

    activity: Activity
    reasons: list[StoredReason]
    decided: NDArray[np.int16]
    weights: NDArray[np.float64]
    stages: tuple[StageCount, ...]
    candidates: list[tuple[str, float]]
    stopped_by: str

    @property
    def last_stage(self) -> str:
        """The stage of the last line of the table; empty if there is none."""
        return self.stages[-1].stage if self.stages else ""

    def reason_at(self, row: int) -> StoredReason | None:
        """Return why the queue of *row* was refused; None if it was not."""
        number = int(self.decided[row])
        return None if number == UNDECIDED else self.reasons[number]

    def weight_at(self, row: int) -> float | None:
        """Return the weight of the queue of *row*; None if it was not weighed."""
        weight = float(self.weights[row])
        return None if np.isnan(weight) else weight


_LEGENDS, _VERDICTS = Decoder(Legend), Decoder(Packed)


def legend_of(document: dict[str, Any]) -> Legend:
    """Return the legend in the document of a run; raises FormerVerdictError if an older fairq has written it."""
    if _LEGEND not in document:
        raise FormerVerdictError
    return _LEGENDS.decode(zlib.decompress(base64.b64decode(document[_LEGEND])))


def unpack(data: bytes, legend: Legend) -> Kept:
    """Return the outcome in *data*; raises FormerVerdictError if an older fairq has written it."""
    try:
        packed = _VERDICTS.decode(data)
    except DecodeError:
        raise FormerVerdictError from None
    size, lines = len(legend.names), packed.lines
    decided, passed = np.full(size, UNDECIDED, np.int16), np.zeros(size, np.bool_)
    if packed.course is not None:
        course = legend.courses[packed.course]
        lines = course.lines + lines
        for number, queues in map(legend.refusals.__getitem__, course.refusals):
            decided[_members(queues, size) & (decided == UNDECIDED)] = number
        passed = decided == UNDECIDED
    for number, queues in packed.refused:
        decided[_members(queues, size)] = number
    weights, own_weights = np.full(size, np.nan), np.frombuffer(packed.weights, WEIGHT)
    if packed.common is not None:
        queues, common_weights = legend.weights[packed.common]
        weights[_members(queues, size)] = np.frombuffer(common_weights, WEIGHT)
        weights[np.frombuffer(packed.rows, COUNT)] = own_weights
        weights[~passed] = np.nan
    elif len(own_weights):
        weights[passed] = own_weights
    stages = legend.stages[packed.activity]
    table = np.frombuffer(lines, COUNT).reshape(-1, len(StageCount._fields)).tolist()
    return Kept(
        packed.activity,
        legend.reasons[packed.activity],
        decided,
        weights,
        tuple(StageCount(stages[stage], *counts) for stage, *counts in table),
        [(legend.names[row], weight) for row, weight in zip(packed.chosen, packed.exact, strict=True)],
        packed.stopped_by,
    )


def packed_set(rows: Booleans) -> bytes:
    """Return the queues that are true in *rows* as a set, a bit for each."""
    return np.packbits(rows).tobytes()


def _members(packed: bytes, size: int) -> Booleans:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=size).view(np.bool_)
