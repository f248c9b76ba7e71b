"""What is kept of a task's outcome: the deciding reason of every queue, the weights and the stage table, packed.

Packed are, behind a JSON line (see `_Head`), the numbers of the reasons as 16-bit integers, one for each queue of the
cycle, and the weights of the queues that were weighed as 64-bit reals; all compressed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.outcome import Candidate, Outcome
from fairq.engine.brokerage.sieve import StageCount

_LEVEL = 1
_REASON = np.dtype("<i2")
_WEIGHT = np.dtype("<f8")


@dataclass(frozen=True, slots=True)
class Kept:
    """One task's outcome.

    Args:
        activity: production or analysis: to whose list of reasons the numbers belong.
        decided: for every queue of the cycle the number of its reason, or `UNDECIDED` for a candidate.
        weights: the weight of each queue that was weighed, not-a-number for the others.
        stages: the stage table.
        candidates: the queues in the order in which they are taken, and their weights.
        stopped_by: the reason that stopped the task before any queue.
    """

    activity: str
    decided: NDArray[np.int16]
    weights: NDArray[np.float64]
    stages: list[StageCount]
    candidates: list[tuple[str, float]]
    stopped_by: str


def keep(outcome: Outcome) -> Kept:
    """Return what is kept of *outcome*."""
    size = len(outcome.decided)
    weights = np.full(size, np.nan)
    weighing = outcome.question.weighing
    if weighing is not None:
        weights[weighing.rows] = weighing.weight[weighing.rows]
    return Kept(
        outcome.question.activity,
        outcome.decided,
        weights,
        outcome.stages,
        [(one.queue, one.weight) for one in outcome.candidates],
        outcome.stopped_by,
    )


def pack(kept: Kept) -> bytes:
    """Return *kept* as bytes."""
    head = [kept.activity, len(kept.decided), kept.stages, kept.candidates, kept.stopped_by]
    weighed = np.flatnonzero(~np.isnan(kept.weights))
    parts = (
        json.dumps(head, separators=(",", ":")).encode() + b"\n",
        kept.decided.astype(_REASON).tobytes(),
        weighed.astype("<u4").tobytes(),
        kept.weights[weighed].astype(_WEIGHT).tobytes(),
    )
    return zlib.compress(b"".join(parts), _LEVEL)


def unpack(data: bytes) -> Kept:
    """Return what `pack` was given."""
    text, _, rest = zlib.decompress(data).partition(b"\n")
    activity, size, stages, candidates, stopped_by = json.loads(text)
    decided = np.frombuffer(rest, _REASON, size).astype(np.int16)
    rest = rest[size * _REASON.itemsize :]
    count = len(rest) // (4 + _WEIGHT.itemsize)
    weights = np.full(size, np.nan)
    weights[np.frombuffer(rest, "<u4", count)] = np.frombuffer(rest[4 * count :], _WEIGHT, count)
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
    """Return what `pack_names` was given."""
    joined = zlib.decompress(base64.b64decode(text)).decode()
    return joined.split("\n") if joined else []


def described(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as the JSON of results has it."""
    return {
        "queue": candidate.queue,
        "weight": candidate.weight,
        "bootstrap": candidate.bootstrap,
        "jumbo": candidate.jumbo,
        "queued": candidate.queued,
        "cap": candidate.cap,
        "running": candidate.running,
        "maxwdir": candidate.maxwdir,
        "platform": candidate.platform,
        "localFiles": candidate.local_files,
        "tapeFiles": candidate.tape_files,
    }
