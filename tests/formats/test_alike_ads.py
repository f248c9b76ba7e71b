"""Jobs and slots that are alike but for some values are read as if each had been read by itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.reading import jobs_of, one_by_one, slots_of

JOB: dict[str, Any] = {
    "QDate": 5,
    "Cmd": "/bin/true",
    "ClusterId": 1,
    "GlobalJobId": "a#1.0#5",
    "ProcId": 0,
    "Requirements": '/Expr(TARGET.ClusterId != "ClusterId")/',
    "Owner": "ann",
}


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


def _text(ads):
    return "[\n" + ",\n".join(map(json.dumps, ads)) + "\n]\n"


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
def test_jobs_do_not_depend_on_those_beside_them(changes_by_job, numbered):
    """The dump, and the message about what is wrong with it, are those of ads that are read one by one."""
    ads = [
        {**JOB, "ProcId": number if numbered else JOB["ProcId"], **change}
        for number, change in enumerate(changes_by_job)
    ]

    assert jobs_of(_text(ads)) == one_by_one(jobs_of, _text(ads))


@given(st.lists(st.one_of(st.just({}), slot_changes), max_size=12))
def test_slots_do_not_depend_on_those_beside_them(changes_by_slot):
    """The slots, and the message about what is wrong with them, are those of ads that are read one by one."""
    ads = [{**SLOT, "Name": f"slot{number}@a", **change} for number, change in enumerate(changes_by_slot)]

    assert slots_of(_text(ads)) == one_by_one(slots_of, _text(ads))


@pytest.mark.parametrize("end", ["", "]", ",", ", ]", ",{}]", "x"])
def test_a_dump_that_ends_too_early_is_refused(end):
    """An array without its end, or with something else there, is an error."""
    ads = [json.dumps({**JOB, "ProcId": proc}) for proc in range(3)]

    assert ("JobRange" in jobs_of("[" + ",".join(ads) + end)) == (end == "]")


def test_a_line_break_in_a_text_is_refused():
    """JSON has no such text."""
    texts = [json.dumps({**JOB, "Owner": f"ann{proc}", "ProcId": proc}) for proc in range(6)]
    texts[4] = texts[4].replace("ann4", "an\nn4")

    assert "line 5, ad 5" in jobs_of("[" + ",\n".join(texts) + "]")


def test_a_negative_zero_keeps_its_sign():
    """It is equal to zero, and still another number."""
    loads = [0.5, 0.25, 0.0, 0.0, -0.0, 0.0]

    result = slots_of(
        _text([{**SLOT, "Name": f"slot{number}@a", "LoadAvg": load} for number, load in enumerate(loads)])
    )

    assert re.findall("'LoadAvg': ([^,]*),", result) == ["0.5", "0.25", "0.0", "0.0", "-0.0", "0.0"]


@pytest.mark.parametrize("between", [",", ", ", ",\n", "\n,\n", " ,\r\n  "])
def test_ads_inside_ads_do_not_end_them(between):
    """Whatever is between two ads, the same may be between the ads of a list inside."""
    devices = f'[{{"Id": 1}}{between}{{"Id": 2}}]'
    texts = [json.dumps({**SLOT, "Name": f"slot{number}@a"})[:-1] + f', "Ids": {devices}}}' for number in range(2000)]

    result = slots_of(f"[{between.join(texts)}]")

    assert result.count("'Ids': [{'Id': 1}, {'Id': 2}]") == 2000
    assert result == one_by_one(slots_of, f"[{between.join(texts)}]")


@pytest.mark.parametrize("every", [2, 3, 10, 30, 100])
def test_jobs_with_a_further_attribute_among_others(every):
    """Whether the jobs between two that have it are few or many."""
    ads = [{**JOB, "ProcId": number, **({"Rank": 1.0} if number % every == 0 else {})} for number in range(600)]

    assert jobs_of(_text(ads)) == one_by_one(jobs_of, _text(ads))
