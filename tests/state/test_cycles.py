"""What was decided in past cycles is read as it was stored."""

from __future__ import annotations

from typing import Any

from fairq.common.past import CycleRecord
from fairq.state import cycles
from fairq.state.connection import reading, writing

SHARED = {"submitter": "a@x", "group": "<none>", "quota_group": None}
MANY = {**SHARED, "jobs": [1, 0, 2, 5, 3, 0], "reasons": ["no match found", "policy"], "which": "010"}
"""Three rejections as the first states stored them."""
LIMITED = {"job": "7.0", "submitter": "b@x", "reason": "submitter limit exceeded", "group": "g", "quota_group": "g"}


def test_rejections_are_read_one_by_one_however_they_were_stored(tmp_path):
    decision: dict[str, Any] = {"cycle": 1, "rejections": [MANY, LIMITED]}
    with writing(tmp_path / "state.db") as state:
        cycles.add(state, CycleRecord(1, 0, "documented", decision, []))

    with reading(tmp_path / "state.db") as state:
        found = cycles.load(state, 1)
        latest = cycles.latest_decision(state)

    assert found is not None
    assert found.decision == latest
    assert found.decision["rejections"] == [
        {"job": "1.0", "reason": "no match found", **SHARED},
        {"job": "2.5", "reason": "policy", **SHARED},
        {"job": "3.0", "reason": "no match found", **SHARED},
        LIMITED,
    ]
