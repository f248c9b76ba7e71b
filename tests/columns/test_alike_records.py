"""Records in runs are shown as the same records one by one are."""

from __future__ import annotations

import io
import json

import pytest

from fairq.cli.output.machine import write_csv, write_json
from fairq.columns.alike_records import AlikeRecords, AlikeRun, column

NAMES = ['a"b', "back\\slash", "100 %", "new\nline", "é", "\x7f", "plain", "%s"]


def records() -> AlikeRecords:
    """Two runs; the second one has nothing but plain strings."""
    shared = {"job": "", "share %": 0.5, "slot": "", "group": None, "text": "50 %s"}
    return AlikeRecords(
        [
            AlikeRun(shared, {"slot": NAMES, "job": [f"1.{proc}" for proc in range(len(NAMES))]}, len(NAMES)),
            AlikeRun({**shared, "job": "2.0"}, {"slot": ["x", "y"]}, 2),
        ]
    )


@pytest.mark.parametrize("within", [False, True])
def test_json_is_that_of_the_records_one_by_one(within: bool) -> None:
    """Alone and as a member of a document, with characters that JSON or a form gives a meaning."""
    alike, single = io.StringIO(), io.StringIO()
    write_json({"matches": records()} if within else records(), alike)
    write_json({"matches": list(records())} if within else list(records()), single)

    assert alike.getvalue() == single.getvalue()
    loaded = json.loads(alike.getvalue())
    assert [record["slot"] for record in (loaded["matches"] if within else loaded)] == [*NAMES, "x", "y"]


def test_records_are_found_by_place_and_by_attribute() -> None:
    """A record has all attributes in the order of its run."""
    some = records()
    every = list(some)

    assert len(some) == len(every) == 10
    assert [some[place] for place in range(10)] == every == some[:]
    assert some[-1] == {"job": "2.0", "share %": 0.5, "slot": "y", "group": None, "text": "50 %s"}
    assert list(some[0]) == ["job", "share %", "slot", "group", "text"]
    assert column(some, "job") == column(every, "job") == [*(f"1.{proc}" for proc in range(8)), "2.0", "2.0"]
    with pytest.raises(IndexError):
        some[10]


def test_other_formats_have_the_same_records() -> None:
    alike, single = io.StringIO(), io.StringIO()
    write_csv(records(), ["Job", "Slot"], True, alike)
    write_csv(list(records()), ["Job", "Slot"], True, single)

    assert alike.getvalue() == single.getvalue()
