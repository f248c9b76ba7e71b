"""What former releases stored of a task can still be read."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import numpy as np

from fairq.engine.brokerage.flow.course import StageCount
from fairq.steps.broker.kept_verdict import Legend, pack_names
from fairq.steps.broker.verdict import unpack


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


def test_a_verdict_that_holds_what_it_shares_with_others_is_read() -> None:
    refused = struct.pack("<HB", 7, 0b0001)
    data = b"".join((
        struct.pack("<2B6H", 1, 2, 0, 1, 2, 1, 1, 2),
        struct.pack("<6H", 0, 4, 3, 4, 3, 0),
        struct.pack("<H", 1),
        struct.pack("<2I", 1, 0),
        struct.pack("<HB", 11, 0b1000),
        struct.pack("<d", 0.1),
        struct.pack("<2H", 1, 2),
        struct.pack("<2f", 0.1, 2.5),
        b"nothing",
    ))  # fmt: skip
    document = {
        "queues": pack_names(["Q1", "Q2", "Q3", "Q4"]),
        "orders": {"production": ["status check"]},
        "refusals": base64.b64encode(zlib.compress(refused)).decode(),
    }
    kept = unpack(data, Legend(document))
    assert (kept.activity, kept.stopped_by, kept.candidates) == ("production", "nothing", [("Q2", 0.1)])
    assert kept.stages == (StageCount("status check", 4, 3, 4, 3),)
    assert kept.decided.tolist() == [7, -1, -1, 11]
    assert np.isnan(kept.weights).tolist() == [True, False, False, True]
    assert kept.weights[2] == 2.5
