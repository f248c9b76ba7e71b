"""Jobs that repeat the ad before them are read as if each had been parsed."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.dumps.jobs import JobDump, read_jobs
from fairq.dumps.source import Source
from fairq.errors.base import FairqError

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


def _one_by_one(ads: list[dict[str, Any]]) -> str:
    """The same ads with a space more in every second one, so that no text repeats the one before."""
    return "[" + ",".join(json.dumps(ad)[:-1] + " " * (place % 2) + "}" for place, ad in enumerate(ads)) + "]"


changes = st.fixed_dictionaries(
    {},
    optional={
        "ClusterId": st.sampled_from([1, 2, 3, 0, 2**31, -1, 10**18, 10**30, 1.0, "1", None]),
        "ProcId": st.integers(0, 40),
        "GlobalJobId": st.sampled_from(["a#1.0#5", "b#2.0", "none", "", 'q"#1', "é#1.0"]),
        "Owner": st.sampled_from(["ann", "bob"]),
        "JobStatus": st.sampled_from([1, 2, 4, 5]),
    },
)


@given(st.lists(st.one_of(st.just({}), changes), max_size=12), st.booleans())
def test_what_is_read_does_not_depend_on_repetition(found: list[dict[str, Any]], numbered: bool) -> None:
    """The dump, and the message about what is wrong with it, are those of ads that all differ in text."""
    ads = [{**JOB, "ProcId": place if numbered else JOB["ProcId"], **change} for place, change in enumerate(found)]

    repeated, single = _read("[\n" + ",\n".join(map(json.dumps, ads)) + "\n]\n"), _read(_one_by_one(ads))

    assert repeated == single


@pytest.mark.parametrize("end", ["", "]", ",", ", ]", ",{}]", "x"])
def test_a_dump_that_ends_too_early_is_refused_after_repetitions_too(end: str) -> None:
    """An array without its end, or with something else there, is an error."""
    ads = [json.dumps({**JOB, "ProcId": proc}) for proc in range(3)]

    found = _read("[" + ",".join(ads) + end)

    assert isinstance(found, JobDump) == (end == "]")
