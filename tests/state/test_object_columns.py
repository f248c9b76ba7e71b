"""Lists of objects are stored by column; what former releases stored is still read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairq.columns.broker.work import INPUTS
from fairq.state import broker_data
from fairq.state.connection import reading, writing
from fairq.steps.broker.tasks import each_brokered

ALIKE = [{"lfn": "a", "fsize": 10, "nEvents": 5}, {"lfn": "b", "fsize": 20, "nEvents": 7}]
RANGES = [
    {"lfn": "a", "fsize": 10, "startEvent": 0, "endEvent": 9},
    {"lfn": "a", "fsize": 10, "startEvent": 10, "endEvent": 19},
]
DIFFERENT = [{"lfn": "a", "fsize": 10}, {"lfn": "b", "fsize": 20, "nEvents": 7}]
SWAPPED = [{"lfn": "a", "fsize": 10}, {"fsize": 20, "lfn": "b"}]
NAMELESS: list[dict[str, Any]] = [{}, {}]


def stored(state, files):
    with writing(state) as opened:
        broker_data.store(opened, INPUTS, [(1, "data", 0, "input", False, "", None, None, files, "")])
        return str(opened.connection.execute("SELECT files FROM broker_inputs").fetchone()[0])


def read(state):
    with reading(state) as opened:
        found: list[dict[str, Any]] = broker_data.load(opened, INPUTS)[0][INPUTS.positions["files"]]
        return found


@pytest.mark.parametrize("files", [ALIKE, RANGES, DIFFERENT, SWAPPED, NAMELESS, [], ALIKE[:1]])
def test_objects_are_read_as_they_were_stored(state, files):
    stored(state, files)
    assert [list(one.items()) for one in read(state)] == [list(one.items()) for one in files]


def test_a_name_that_all_have_stands_once(state):
    assert stored(state, ALIKE) == '{"lfn":["a","b"],"fsize":[10,20],"nEvents":[5,7]}'
    assert stored(state, DIFFERENT) == json.dumps(DIFFERENT, separators=(",", ":"))


@pytest.mark.parametrize("files", [ALIKE, RANGES, DIFFERENT, [{"lfn": "a"}], []])
def test_tasks_read_both_forms_alike(state, files):
    stored(state, files)
    with writing(state) as opened:
        opened.connection.execute(
            'INSERT INTO broker_tasks ("jediTaskID", status, assigned, reason, vo, "prodSourceLabel", "taskPriority", '
            '"processingType", "ramUnit", "splitRule", "eventService", cloning, parameters, "isMerging", scout) '
            "VALUES (1, 'ready', '[]', '', '', '', 0, '', 'MB', '', 0, 0, '{}', 0, 0)"
        )
        (by_column,) = each_brokered(opened, ())
        opened.connection.execute("UPDATE broker_inputs SET files = ?", (json.dumps(files),))
        (of_former_release,) = each_brokered(opened, ())
    assert read(state) == files
    assert list(by_column.case.chunk.datasets[0].files) == list(of_former_release.case.chunk.datasets[0].files)
    assert (
        by_column.case.chunk.sizes
        == of_former_release.case.chunk.sizes
        == {one["lfn"]: one.get("fsize", 0) for one in files}
    )
