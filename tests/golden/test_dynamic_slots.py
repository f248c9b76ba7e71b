"""Cycles of the real negotiator (23.9.6) with ALLOW_PSLOT_PREEMPTION: who was matched, and which dynamic slots left.

Which dynamic slots they were is known from the claims that the schedd then asked for.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from tests.golden.command_line import scratch

Record = dict[str, Any]

DATA = Path(__file__).parent / "data" / "dynamic_slots.json.xz"
RECORDS: list[Record] = json.loads(lzma.decompress(DATA.read_bytes()))


def decided(record, folder):
    """Return what fairq decides on the pool of *record*, in the words of its expectations."""
    (folder / "pool.conf").write_text(record["conf"], encoding="utf-8")
    words: list[object] = []
    for name in ("slots", "jobs", "accounting"):
        (folder / f"{name}.json").write_text(json.dumps(record[name]), encoding="utf-8")
        words += [f"--{name}", folder / f"{name}.json"]
    with scratch() as fairq:
        fairq.run("config", "import", folder / "pool.conf")
        fairq.run("config", "set", "negotiator.rules", "htcondor")
        fairq.run("import", *words, "--now", record["time"])
        cycle = fairq.json("negotiate", "--now", record["time"])
        fairq.run("state", "check")
    names = ("job", "submitter", "slot")
    return {
        "matches": [{**{name: one[name] for name in names}, "preempted": preempted(one)} for one in cycle["matches"]],
        "rejections": [{name: one[name] for name in ("job", "submitter", "reason")} for one in cycle["rejections"]],
    }


def preempted(match):
    """Return the slots whose jobs the match preempts, in the order of their names."""
    found = match["preempted"]
    return [] if found is None else sorted(found.get("slots", [match["slot"]]))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_the_matches_the_preempted_slots_and_the_reasons_are_the_same(record, tmp_path):
    found = decided(record, tmp_path)
    expected = [{**one, "preempted": sorted(one["preempted"])} for one in record["matches"]]
    assert found["matches"] == expected
    assert found["rejections"] == record["rejections"]


def test_most_of_these_matches_make_room():
    """The recorded pools are about what they are here for."""
    making_room = [one for record in RECORDS for one in record["matches"] if one["slot"] not in one["preempted"]]
    assert sum(len(one["preempted"]) > 0 for one in making_room) > len(RECORDS)
