"""Outcomes of tasks as former releases packed them."""

from __future__ import annotations

import json
import zlib
from typing import Any, NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.course import StageCount
from fairq.engine.brokerage.flow.outcome import UNDECIDED
from fairq.steps.broker.kept_verdict import EXACT, LINE, NUMBER, SMALL, WEIGHT, Kept, Legend, Reader

FORM_WITH_ALL = 1
"""The first byte of outcomes that hold what they have in common with others."""

_REASONS: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2")}


class _Head(NamedTuple):
    """The first numbers: the activity (see `Legend`), and how many there are of each part."""

    activity: int
    stages: int
    refusals: int
    own: int
    candidates: int
    weighed: int


def unpack_with_all(data: bytes, legend: Legend) -> Kept:
    """Return the outcome of a task whose stages, refusals and queues weighed are written in full.

    After the form, the size of a small number and `_Head`, there are the stages, the rows of the candidates, the
    numbers of the refusals (0 is one of the task's own), its own refusals, the exact weights of the candidates, the
    rows weighed and their weights, and the tag that stopped the task.
    """
    small, size, reader = SMALL[data[1]], len(legend.names), Reader(data, 2)
    head = _Head(*reader.take(small, len(_Head._fields)).tolist())
    lines = reader.take(small, LINE * head.stages).tolist()
    chosen = reader.take(small, head.candidates).tolist()
    numbers = reader.take(NUMBER, head.refusals).tolist()
    own = reader.refusals(head.own, size)
    exact = reader.take(EXACT, head.candidates).tolist()
    rows = reader.take(small, head.weighed)
    weights = np.full(size, np.nan)
    weights[rows] = reader.take(WEIGHT, head.weighed)
    best = zip(chosen, exact, strict=True)
    return legend.kept(head.activity, lines, numbers, own, best, weights, reader.bytes().decode())


def unpack_alone(data: bytes) -> Kept:
    """Return the outcome of a task that needs no legend.

    It is compressed: a line of JSON, then the numbers of the reasons (one byte for each queue, two if there are more
    than 255 reasons), the rows of the queues weighed, and their weights.
    """
    text, _, rest = zlib.decompress(data).partition(b"\n")
    activity, size, length, stages, candidates, stopped_by = json.loads(text)
    decided = np.frombuffer(rest, _REASONS[size], length).astype(np.int16) + np.int16(UNDECIDED)
    rest = rest[length * size :]
    count = len(rest) // (NUMBER.itemsize + WEIGHT.itemsize)
    weights = np.full(length, np.nan)
    places = np.frombuffer(rest, NUMBER, count)
    weights[places] = np.frombuffer(rest[NUMBER.itemsize * count :], WEIGHT, count)
    return Kept(
        activity,
        decided,
        weights,
        tuple(StageCount(*stage) for stage in stages),
        [(queue, weight) for queue, weight in candidates],
        stopped_by,
    )
