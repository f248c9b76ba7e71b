"""Jobs and slots that repeat an ad before them are read as if each had been parsed."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.dumps.jobs import JobDump, read_jobs
from fairq.dumps.slots import read_slots
from fairq.dumps.source import Source
from fairq.errors.base import FairqError
from fairq.records import SlotRecord

JOB: dict[str, Any] = {
    "QDate": 5,
    "Cmd": "/bin/true",
    "ClusterId": 1,
    "GlobalJobId": "a#1.0#5",
    "ProcId": 0,
    "Requirements": '/Expr(TARGET.ClusterId != "ClusterId")/',
    "Owner": "ann",
}


def _read(text: str) -> JobDump | str:
    try:
        return read_jobs(Source("jobs.json", io.BytesIO(text.encode())), lambda ad: f"{ad['Owner']}@x", 9)
    except FairqError as error:
        return str(error)


SLOT: dict[str, Any] = {
    "MyType": "Machine",
    "Name": "slot1@a",
    "MyAddress": "<1.2.3.4:5>",
    "StartdIpAddr": "<1.2.3.4:6>",
    "Memory": 1024,
    "LoadAvg": 0.25,
    "Start": True,
    "Requirements": "/Expr(TARGET.Memory < 5)/",
    "Devices": [{"Name": "Name", "Memory": 1}],
    "CondorVersion": "$CondorVersion: 25.0.1 2026-01-01 $",
}


def _read_slots(text: str) -> tuple[list[SlotRecord], Any, Any] | str:
    try:
        dump = read_slots(Source("slots.json", io.BytesIO(text.encode())))
    except FairqError as error:
        return str(error)
    return list(dump.slots), dump.left_out, dump.version


def _one_by_one(ads: list[dict[str, Any]]) -> str:
    """The same ads with a space more in each, so that no text repeats one before."""
    return "[" + ",".join(json.dumps(ad)[:-1] + " " * place + "}" for place, ad in enumerate(ads)) + "]"


changes = st.fixed_dictionaries(
    {},
    optional={
        "ClusterId": st.sampled_from([1, 2, 3, 0, 2**31, -1, 10**18, 10**30, 1.0, "1", None]),
        "ProcId": st.integers(0, 40),
        "GlobalJobId": st.sampled_from(["a#1.0#5", "b#2.0", "none", "", 'q"#1', "é#1.0"]),
        "Owner": st.sampled_from(["ann", "bob"]),
        "JobStatus": st.sampled_from([1, 2, 4, 5]),
        "QDate": st.sampled_from([5, 6, -1, 5.0, "5"]),
        "RequestMemory": st.sampled_from([1, 2, 2.5, True, "/Expr(1 + 1)/", None]),
    },
)

slot_changes = st.fixed_dictionaries(
    {},
    optional={
        "Name": st.sampled_from(["slot1@b", "slot1@c", " ", "", "é", "/Expr(1)/", "/Expr(1", 'a"b', 7, None]),
        "MyAddress": st.sampled_from(["<1.2.3.4:5>", "<9.9.9.9:9>", "", 3, None]),
        "StartdIpAddr": st.sampled_from(["<1.2.3.4:6>", "<7.7.7.7:7>", ""]),
        "Memory": st.sampled_from([1, 0, -0.0, 2**63, 10**30, "text", True, None, "/Expr(Cpus)/", "/Expr((/"]),
        "LoadAvg": st.sampled_from([0.0, -0.0, 1.5, 1e300, 1, float("inf"), float("nan")]),
        "Start": st.booleans(),
        "MyType": st.sampled_from(["Machine", "Slot", "Job", "Scheduler"]),
        "Draining": st.booleans(),
        "memory": st.integers(0, 2),
        "Requirements": st.sampled_from(["/Expr(true)/", "/Expr(TARGET.Memory < 5)/", "/Expr(a b)/"]),
        "Devices": st.sampled_from([[], [{"Name": "Name", "Memory": 2}]]),
        "CondorVersion": st.sampled_from(["$CondorVersion: 25.0.2 2026-01-01 $", "", 5]),
    },
)


@given(st.lists(st.one_of(st.just({}), changes), max_size=12), st.booleans())
def test_what_is_read_does_not_depend_on_repetition(found: list[dict[str, Any]], numbered: bool) -> None:
    """The dump, and the message about what is wrong with it, are those of ads that all differ in text."""
    ads = [{**JOB, "ProcId": place if numbered else JOB["ProcId"], **change} for place, change in enumerate(found)]

    repeated, single = _read("[\n" + ",\n".join(map(json.dumps, ads)) + "\n]\n"), _read(_one_by_one(ads))

    assert repeated == single


@given(st.lists(st.one_of(st.just({}), slot_changes), max_size=12))
def test_slots_do_not_depend_on_repetition(found: list[dict[str, Any]]) -> None:
    """The slots, and the message about what is wrong with them, are those of ads that all differ in text."""
    ads = [{**SLOT, "Name": f"slot{place}@a", **change} for place, change in enumerate(found)]

    repeated, single = _read_slots("[\n" + ",\n".join(map(json.dumps, ads)) + "\n]\n"), _read_slots(_one_by_one(ads))

    assert repr(repeated) == repr(single)


def test_a_value_with_an_escape_is_read_after_repetitions() -> None:
    """The end of the text of a value is not taken to be at an escaped quote."""
    texts = [json.dumps({**SLOT, "Name": f"slot{place}@a"}) for place in range(4)]
    texts[2] = texts[2].replace("slot2", r"a\", \"Memory\": 7, \"b")

    slots, _, _ = _read_slots(f"[{', '.join(texts)}]")

    assert [(slot.name, slot.ad["Memory"]) for slot in slots] == [
        ("slot0@a", 1024),
        ("slot1@a", 1024),
        ('a", "Memory": 7, "b@a', 1024),
        ("slot3@a", 1024),
    ]


@pytest.mark.parametrize("end", ["", "]", ",", ", ]", ",{}]", "x"])
def test_a_dump_that_ends_too_early_is_refused_after_repetitions_too(end: str) -> None:
    """An array without its end, or with something else there, is an error."""
    ads = [json.dumps({**JOB, "ProcId": proc}) for proc in range(3)]

    found = _read("[" + ",".join(ads) + end)

    assert isinstance(found, JobDump) == (end == "]")


@pytest.mark.parametrize("value", [5, 1.5, False])
def test_an_ad_with_more_attributes_is_read_after_repetitions(value: Any) -> None:
    """What stands on several lines up to the end of an ad is not taken for a value."""
    ads: list[dict[str, Any]] = [
        {**SLOT, "Name": f"slot{place}@a", "Last": (value, type(value)(7))[place % 2]} for place in range(6)
    ]
    ads[4]["More"] = 1
    texts = ["{" + "\n, ".join(f'"{name}": {json.dumps(value)}' for name, value in ad.items()) + "}" for ad in ads]

    assert repr(_read_slots(f"[{', '.join(texts)}]")) == repr(_read_slots(_one_by_one(ads)))


def test_a_line_break_in_a_text_is_refused_after_repetitions_too() -> None:
    """JSON has no such text."""
    texts = [json.dumps({**JOB, "Owner": f"ann{proc}", "ProcId": proc}) for proc in range(6)]
    texts[4] = texts[4].replace("ann4", "an\nn4")

    assert "line 5, ad 5" in str(_read("[" + ",\n".join(texts) + "]"))


def test_a_negative_zero_keeps_its_sign_after_repetitions() -> None:
    """It is equal to zero, and still another number."""
    loads = [0.5, 0.25, 0.0, 0.0, -0.0, 0.0]
    texts = [json.dumps({**SLOT, "Name": f"slot{place}@a", "LoadAvg": load}) for place, load in enumerate(loads)]

    slots, _, _ = _read_slots(f"[{', '.join(texts)}]")

    assert [str(slot.ad["LoadAvg"]) for slot in slots] == ["0.5", "0.25", "0.0", "0.0", "-0.0", "0.0"]


@pytest.mark.parametrize("every", [2, 3, 10, 30, 100])
def test_runs_of_any_length_are_read_alike(every: int) -> None:
    """Whether the jobs between two that have a further attribute are few or many."""
    ads = [{**JOB, "ProcId": place, **({"Rank": 1.0} if place % every == 0 else {})} for place in range(600)]

    repeated, single = _read("[\n" + ",\n".join(map(json.dumps, ads)) + "\n]\n"), _read(_one_by_one(ads))

    assert isinstance(repeated, JobDump)
    assert repeated == single
