"""A state of any released schema is read and upgraded without loss, and so is its exported document."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.state.zoo import ZOO

from fairq.state import broker_document, check, document
from fairq.state.connection import State, reading, writing
from fairq.state.schema import MIGRATIONS

FILES = sorted(ZOO.glob("schema*.db"), key=lambda file: int(file.stem.removeprefix("schema")))


def content(opened: State) -> Any:
    """What a state holds, whatever its schema."""
    found = json.loads(json.dumps(document.export(opened)))
    del found["fairq"]
    return found


def expected(file: Path) -> Any:
    found = json.loads(file.with_suffix(".json").read_text())
    del found["fairq"]
    # What a later schema has is empty in an older one.
    later = {"negotiating_group": None, "autoregroup": None, "advertised": None, "charged": True, "matched": False}
    found["claims"] = [{**later, **claim} for claim in found["claims"]]
    found["jobs"] = [{"hold_code": None, "hold_subcode": None, **job} for job in found["jobs"]]
    found["history"] = [{"reason": None, **one} for one in found["history"]]
    engine = {"engine_id": None, "reason": None, "charged_from": None}
    if "launches" in found:
        found["launches"] = [{**engine, **one} for one in found["launches"]]
    launches: dict[str, list[Any]] = {"launches": [], "job_events": [], "ended_jobs": [], "usage": []}
    earlier = [
        {"time": int(found["meta"].get("last_update", 0)), "name": one["name"], "kind": "earlier", "user": "",
         "usage": one["accumulated_usage"], "weighted": one["weighted_accumulated_usage"]}
        for one in found["submitters"] if one["accumulated_usage"] or one["weighted_accumulated_usage"]
    ]  # fmt: skip
    shares = {name: [] for name in ("pilot_slots", "task_queues", "share_groups", "usage_reports", "matching_delays")}
    broker = {**broker_document.empty(), **found.get("broker", {})}
    broker["inputs"] = [{"attributes": "", **one} for one in broker["inputs"]]
    return {"dynamic_slots": [], "usage_edits": earlier, **shares, **launches, **found, "broker": broker}


def test_the_zoo_has_a_state_of_every_schema() -> None:
    assert [file.stem for file in FILES] == [f"schema{number + 1}" for number in range(len(MIGRATIONS))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_old_state_is_read_and_upgraded_without_loss(file: Path, state: Path) -> None:
    shutil.copy(file, state)
    before = state.read_bytes()
    with reading(state) as opened:
        assert content(opened) == expected(file)
    assert state.read_bytes() == before
    with writing(state) as opened:
        assert content(opened) == expected(file)
        assert check.findings(opened) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_old_document_is_still_taken(file: Path, state: Path) -> None:
    with writing(state) as opened:
        document.restore(opened, json.loads(file.with_suffix(".json").read_text()))
        assert content(opened) == expected(file)
