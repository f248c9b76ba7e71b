"""The stored form of a task's outcome: the deciding reason of every queue, the weights and the stage table, packed.

The packed form is compressed: a line of JSON, then the numbers of the reasons and the weights. A reason takes a byte
for each queue of the run (two if a flow has more than 255 reasons). Weights of weighed queues are 32-bit reals. The
exact weights of the candidates are in the JSON.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.engine.brokerage.flow.pipeline import UNDECIDED, StageCount

_LEVEL = 1
_REASONS: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2")}
_PLACE = np.dtype("<u4")
_WEIGHT = np.dtype("<f4")


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
    stages: list[StageCount]
    candidates: list[tuple[str, float]]
    stopped_by: str


def keep(outcome: Outcome) -> Kept:
    """Return the stored form of *outcome*."""
    size = len(outcome.decided)
    weights = np.full(size, np.nan)
    weighing = outcome.request.weighing
    if weighing is not None:
        weights[weighing.rows] = weighing.weight[weighing.rows]
    return Kept(
        outcome.request.activity,
        outcome.decided,
        weights,
        outcome.stages,
        [(one.queue, one.weight) for one in outcome.candidates],
        outcome.stopped_by,
    )


def pack(kept: Kept) -> bytes:
    """Return *kept* as bytes."""
    size = 1 if kept.decided.max(initial=0) < 255 else 2
    head = [kept.activity, size, len(kept.decided), kept.stages, kept.candidates, kept.stopped_by]
    weighed = np.flatnonzero(~np.isnan(kept.weights))
    parts = (
        json.dumps(head, separators=(",", ":")).encode() + b"\n",
        (kept.decided - UNDECIDED).astype(_REASONS[size]).tobytes(),
        weighed.astype(_PLACE).tobytes(),
        kept.weights[weighed].astype(_WEIGHT).tobytes(),
    )
    return zlib.compress(b"".join(parts), _LEVEL)


def unpack(data: bytes) -> Kept:
    """Return the argument of `pack`."""
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
        [StageCount(*stage) for stage in stages],
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
