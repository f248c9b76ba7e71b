"""What former releases stored of a task can still be read."""

from __future__ import annotations

import json
import zlib

import numpy as np

from fairq.engine.brokerage.flow.pipeline import StageCount
from fairq.steps.broker.verdict import Legend, pack_names, unpack


def test_a_verdict_of_a_former_release_is_read() -> None:
    head = ["production", 1, 4, [["status check", 4, 3, 4, 3, 0]], [["Q2", 0.1]], ""]
    data = zlib.compress(
        b"".join((
            json.dumps(head).encode() + b"\n",
            bytes([3, 0, 0, 12]),
            np.array([1, 2], dtype="<u4").tobytes(),
            np.array([0.1, 2.5], dtype="<f4").tobytes(),
        ))
    )  # fmt: skip
    kept = unpack(data, Legend({"queues": pack_names(["Q1", "Q2", "Q3", "Q4"])}))
    assert (kept.activity, kept.stopped_by, kept.candidates) == ("production", "", [("Q2", 0.1)])
    assert kept.stages == (StageCount("status check", 4, 3, 4, 3),)
    assert kept.decided.tolist() == [2, -1, -1, 11]
    assert np.isnan(kept.weights).tolist() == [True, False, False, True]
    assert kept.weights[2] == 2.5
