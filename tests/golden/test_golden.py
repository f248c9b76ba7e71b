"""The real negotiator's cycles, match by match, through fairq's command line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.golden.archive import names, unpack
from tests.golden.cases import HTCONDOR, Case, cases_in
from tests.golden.run import run_case


@pytest.fixture(scope="session")
def golden(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", names())
def test_cycle_is_that_of_the_real_negotiator(golden, name):
    """Matches, rejections and accounting after the cycle are those that HTCondor's negotiator recorded."""
    assert run_case(Case(name, HTCONDOR, golden / name)) == []


def test_a_folder_of_cases_is_searched_at_any_depth(golden):
    """Every case folder below the one given is found, in order of name."""
    assert names() == [case.name for case in cases_in(golden.parent)]


def test_a_wrong_expectation_is_told_and_fails_the_run(golden, tmp_path):
    """The runner names the case and what differs, counts it as failed, and ends with 1."""
    case = tmp_path / "pie_1_2"
    case.mkdir()
    for file in (golden / "pie_1_2").iterdir():
        (case / file.name).write_bytes(file.read_bytes())
    expected = json.loads((case / "expected.json").read_text())
    expected["matches"][0]["slot"] = "slot1@elsewhere"
    (case / "expected.json").write_text(json.dumps(expected))

    ended = subprocess.run(
        [sys.executable, "-m", "tests.golden", case], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip

    assert ended.returncode == 1
    line, total = ended.stdout.splitlines()
    assert line == "FAILED pie_1_2: match 1 is 1 alice@test slot1@m030, expected 1 alice@test slot1@elsewhere"
    assert total == "0 passed, 1 failed"


SPOILT = {
    "a match too many": lambda found: found["matches"].append(found["matches"][-1]),
    "a count": lambda found: found["matched_per_submitter"].update({"alice@test": 1}),
    "a preempted job": lambda found: found["preempting"].__setitem__(0, "none"),
    "an ad too many": lambda found: found["submitters_after"].pop("bob@test"),
    "an attribute of a group's ad": lambda found: found["groups_after"]["<none>"].update(Requested=77),
    "an attribute of a submitter's ad": lambda found: found["submitters_after"]["bob@test"].update(Floor=77),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_each_part_of_an_expectation_counts(golden, tmp_path, spoilt):
    """One wrong value anywhere in what the negotiator left behind fails the case."""
    shutil.copytree(golden / "preempt_prio", tmp_path / "case")
    expected = json.loads((tmp_path / "case" / "expected.json").read_text())
    SPOILT[spoilt](expected)
    (tmp_path / "case" / "expected.json").write_text(json.dumps(expected))

    assert run_case(Case("case", HTCONDOR, tmp_path / "case")) != []


def test_only_the_names_of_tied_submitters_may_be_swapped(golden, tmp_path):
    """Two submitters of equal priority may change places; a match of theirs on another slot is still told."""
    shutil.copytree(golden / "group_none_users", tmp_path / "case")
    file = tmp_path / "case" / "expected.json"
    names = {"yan@test": "zoe@test", "zoe@test": "yan@test"}
    expected = json.loads(file.read_text())
    for match in expected["matches"]:
        match["submitter"] = names.get(match["submitter"], match["submitter"])
    file.write_text(json.dumps(expected))
    assert run_case(Case("case", HTCONDOR, tmp_path / "case")) == []

    expected["matches"][-1]["slot"] = "slot1@elsewhere"
    file.write_text(json.dumps(expected))
    assert run_case(Case("case", HTCONDOR, tmp_path / "case")) != []
