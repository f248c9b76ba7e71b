"""Shares are corrected by what ran: fairq's own runs, imported reports; and a live DIRAC is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.test_taskqueues import NOW, PILOT, pool, settings, submit

__all__ = ["pool"]

SCHEMA = """
ShareCorrections
{
  ShareCorrectorsToStart = WMSHistory
  WMSHistory
  {
    GroupsInstance
    {
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
    lhcb_userInstance
    {
      Group = lhcb_user
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
  }
}
"""
"""The example of the schema of 2009, as it stands."""

HOUR = """
[shares.ShareCorrections]
ShareCorrectorsToStart = "WMSHistory"
[shares.ShareCorrections.WMSHistory.Groups]
MaxGlobalCorrection = 10
[shares.ShareCorrections.WMSHistory.Groups.Hour]
TimeSpan = 3600
Weight = 1
MaxCorrection = 10
"""

DUMP: dict[str, Any] = {
    "time": NOW,
    "groups": {
        "lhcb_user": {"JobShare": 1000, "Properties": "NormalUser"},
        "lhcb_prod": {"JobShare": "3000", "Properties": "NormalUser, JobSharing"},
        "lhcb_idle": {"JobShare": 5000},
    },
    "task_queues": [
        {"TQId": 11, "Owner": "alice", "OwnerGroup": "lhcb_user", "CPUTime": 360, "Priority": 227.778},
        {"TQId": 12, "Owner": "bob", "OwnerGroup": "lhcb_user", "CPUTime": 360, "Priority": 56.9444},
        {"TQId": 13, "Owner": "bob", "OwnerGroup": "lhcb_user", "CPUTime": 3600, "Priority": 170.833},
        {"TQId": 14, "Owner": "prod", "OwnerGroup": "lhcb_prod", "CPUTime": 360, "Priority": 3300.0},
        {"TQId": 15, "Owner": "prod", "OwnerGroup": "lhcb_prod", "CPUTime": 3600, "Priority": 3300.0},
    ],
    "jobs": [
        {"JobId": 1, "TQId": 11, "UserPriority": 1},
        {"JobId": 2, "TQId": 12, "UserPriority": 1},
        {"JobId": 3, "TQId": 13, "UserPriority": 3},
        {"JobId": 4, "TQId": 14, "UserPriority": 1},
        {"JobId": 5, "TQId": 15, "UserPriority": 1},
    ],
    "history": {
        "": {
            "604800": {"lhcb_user": 500.0, "lhcb_prod": 500.0, "lhcb_idle": 1000.0},
            "3600": {"lhcb_user": 90.0, "lhcb_prod": 10.0},
        },
        "lhcb_user": {"604800": {"alice": 375.0, "bob": 125.0}, "3600": {"alice": 90.0}},
    },
}
"""The worked example of DIRAC's own classes as recorded, with the priorities that DIRAC stored."""


@pytest.fixture
def dump(tmp_path):
    (tmp_path / "schema.cfg").write_text(SCHEMA)
    (tmp_path / "dump.json").write_text(json.dumps(DUMP))
    return tmp_path / "dump.json"


def run_an_hour(run, pool):
    """Three jobs of anna's group and one of bert's run from NOW to an hour later."""
    submit(run, "anna", "a", 3)
    submit(run, "bert", "b", 1)
    pool("taskqueues", "match", *PILOT, "--count", 4)
    submit(run, "anna", "a")
    submit(run, "bert", "b")


def test_three_times_the_expected_use_gives_a_third(run, pool, state):
    """Expected are halves; anna's group used 3/4, so that half of 1000 over 3/4 is left of it."""
    settings(state, HOUR)
    run_an_hour(run, pool)

    report = pool("taskqueues", "shares", "--json", now=NOW + 3600)

    a, b = report["groups"]
    assert (a["share"], b["share"]) == (pytest.approx(1000 * 0.5 / 0.75), pytest.approx(1000 * 0.5 / 0.25))
    (step,) = a["corrections"]
    (hour,) = step["slices"]
    assert (step["corrector"], step["instance"], step["bound"]) == ("WMSHistory", "Groups", None)
    assert (hour["slice"], hour["use"], hour["use_fraction"], hour["bound"]) == ("Hour", 3.0, 0.75, None)


def test_runs_that_have_ended_count_as_long_as_the_slice_reaches_back(run, pool, state):
    settings(state, HOUR)
    run_an_hour(run, pool)
    pool("finish", "--all", now=NOW + 1800)
    groups = pool("taskqueues", "shares", "--json", "--dry-run", now=NOW + 3600)["groups"]
    assert [one["corrections"][0]["slices"][0]["use"] for one in groups] == [1.5, 0.5]
    later = pool("taskqueues", "shares", "--json", "--dry-run", now=NOW + 9000)
    assert [one["factor"] for one in later["groups"]] == [1, 1]


def test_the_rules_dirac_ignore_the_schemas_name_of_the_bound(run, pool, state):
    settings(state, HOUR.replace("MaxGlobalCorrection = 10", "MaxGlobalCorrectionFactor = 1"))
    run_an_hour(run, pool)
    documented = pool("taskqueues", "shares", "--json", "--dry-run", now=NOW + 3600)
    assert [one["factor"] for one in documented["groups"]] == [1, 1]
    settings(state, HOUR.replace("MaxGlobalCorrection = 10", "MaxGlobalCorrectionFactor = 1")
             + '[shares]\nrules = "dirac"\nenable_shares_correction = true\n')  # fmt: skip
    ended = pool("taskqueues", "shares", "--dry-run", now=NOW + 3600)
    assert "DIRAC reads MaxGlobalCorrection (default 5), not MaxGlobalCorrectionFactor" in ended.err


def test_the_schemas_example_is_taken_as_it_stands_and_corrects_imported_queues(run, pool, dump):
    """Reference dirac 5: 455.5556 and 6600; alice 144.2593; bob, at the bound 3 in DIRAC, has 2.6 here."""
    assert run("config", "import", dump.with_name("schema.cfg")).code == 0
    assert run("config", "set", "shares.rules", "documented").code == 0
    assert "5 task queues, 5 jobs, 3 groups, 4 reports" in pool("taskqueues", "import", dump).out

    report = pool("taskqueues", "shares", "--json")

    assert {one["owner_group"]: round(one["share"], 4) for one in report["groups"]} == {
        "lhcb_idle": 5000, "lhcb_prod": 6600, "lhcb_user": 455.5556,
    }  # fmt: skip
    assert {one["owner"]: round(one["share"], 4) for one in report["users"]} == {"alice": 144.2593, "bob": 592.2222}
    bob = next(one for one in report["users"] if one["owner"] == "bob")["corrections"][0]
    assert [(part["slice"], part["use"], part["correction"], part["bound"]) for part in bob["slices"]] == [
        ("WeekSlice", 125.0, 2.0, None), ("HourSlice", None, 5.0, "upper"),
    ]  # fmt: skip
    stored = {one["task_queue"]: one["priority"] for one in pool("taskqueues", "--json")}
    assert stored[15] == pytest.approx(3300)


def test_a_live_diracs_priorities_are_what_they_should_be(run, pool, dump):
    assert run("config", "import", dump.with_name("schema.cfg")).code == 0
    ended = pool("taskqueues", "shares", "--check", dump)
    assert ended.out == ""
    assert "all 5 task queues have the expected priority (rules dirac)" in ended.err


def test_a_dirac_whose_agent_does_not_run_is_found_out(run, pool, dump, state):
    """DIRAC issue 8650: priority 1 everywhere, unnoticed for years."""
    assert run("config", "import", dump.with_name("schema.cfg")).code == 0
    ones = dict(DUMP, task_queues=[{**queue, "Priority": 1.0} for queue in DUMP["task_queues"]])
    dump.write_text(json.dumps(ones))

    checked = pool("taskqueues", "shares", "--check", dump, "--json", code=1)

    assert (checked["rules"], checked["alike"]) == ("dirac", 1.0)
    assert [(one["task_queue"], one["expected"], one["verdict"]) for one in checked["task_queues"]] == [
        (11, 227.778, "differs"), (12, 56.9444, "differs"), (13, 170.833, "differs"), (14, 3300, "differs"),
        (15, 3300, "differs"),
    ]  # fmt: skip
    assert "all have 1: nothing recalculates them" in pool("taskqueues", "shares", "--check", dump, code=1).err
    assert not state.exists()


def test_imported_jobs_are_for_pilots_and_handed_out_once(run, pool, dump):
    assert run("slots", "add", "node").code == 0
    pool("taskqueues", "import", dump)
    assert pool("negotiate", "--json")["matches"] == []
    matched = pool("taskqueues", "match", "--site", "X", "--cputime", 360, "--count", 9, "--json")
    assert sorted(one["job"] for one in matched["matches"]) == ["1.0", "2.0", "4.0"]
    assert {one["schedd"] for one in matched["matches"]} == {"dirac"}
    again = pool("taskqueues", "import", dump)
    assert "2 jobs" in again.out and "skipping 3 jobs already running here" in again.out
    assert sorted(one["task_queue"] for one in pool("taskqueues", "--json")) == [13, 15]
    assert run("state", "check").code == 0


def test_an_old_dump_does_not_queue_again_what_ended_since(pool, tmp_path):
    queues = [{"TQId": 7, "Owner": "ann", "OwnerGroup": "u", "CPUTime": 360, "Jobs": 3}]
    made = {"task_queues": queues, "jobs": [{"JobId": number, "TQId": 7} for number in (1, 2, 3)]}
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps({**made, "time": 1000}))
    new.write_text(json.dumps({**made, "time": 9000}))
    pool("taskqueues", "import", old, now=1000)
    pool("taskqueues", "match", "--site", "X", "--cputime", 360, "--selection", "strict", now=2000)
    pool("finish", "1.0", now=3000)
    again = pool("taskqueues", "import", old, now=4000)
    assert "1 task queue, 2 jobs, skipping 1 job already running here or ended since the dump was made" in again.out
    assert [queue["jobs"] for queue in pool("taskqueues", "--json", now=4000)] == [2]
    pool("taskqueues", "import", new, now=9000)
    assert [queue["jobs"] for queue in pool("taskqueues", "--json", now=9000)] == [3]


def test_reports_are_old_after_the_correctors_period(run, pool, state, dump):
    history = {"": {"3600": {"u": 1.0}}}
    dump.write_text(json.dumps({"time": NOW, "task_queues": [], "history": history}))
    pool("taskqueues", "import", dump)
    block = '[shares.ShareCorrections]\nShareCorrectorsToStart = "WMSHistory"\n'
    block += "[shares.ShareCorrections.WMSHistory.All]\n"
    slices = "HourSlice = { TimeSpan = 3600 }\n"
    settings(state, block + slices)
    assert "are 1000 seconds old" in pool("taskqueues", "shares", now=NOW + 1000).err
    settings(state, block + "UpdateHistoryPeriod = 1800\n" + slices)
    assert "seconds old" not in pool("taskqueues", "shares", now=NOW + 1000).err


def test_averages_are_enough_and_what_is_listed_can_be_imported(run, pool, tmp_path):
    text = (
        "TQId,Owner,OwnerGroup,CPUTime,Sites,Tags,MinRAM,Jobs,AveragePriority,Priority\n"
        '7,alice,g,86400,"B, A",,0,4,2.5,1\n8,bob,g,360,,GPU,2000,2,,\n9,carl,g,360,,,,0,,3\n'
    )
    (tmp_path / "queues.csv").write_text(text)
    pool("taskqueues", "import", tmp_path / "queues.csv")
    listed = pool("taskqueues", "--json")
    shown = [
        (one["task_queue"], one["owner"], one.get("sites"), one["jobs"], one["average_priority"]) for one in listed
    ]
    assert shown == [(7, "alice", "A, B", 4, 2.5), (8, "bob", None, 2, 1.0)]
    assert [one["stored_priority"] for one in listed] == [1, None]
    (tmp_path / "again.csv").write_text(run("taskqueues", "--csv").out)
    (tmp_path / "again.json").write_text(json.dumps(listed))
    for name in ("again.csv", "again.json"):
        pool("taskqueues", "import", tmp_path / name)
        assert [one["jobs"] for one in pool("taskqueues", "--json")] == [4, 2]
    assert "all 2 task queues" in pool("taskqueues", "shares", "--check", tmp_path / "again.json").err


def test_a_corrector_of_a_plugin_is_found_by_its_entry_point(run, pool, state, tmp_path, monkeypatch):
    (tmp_path / "halving.py").write_text(
        "from fairq.engine.shares.corrector import Correction\n"
        "class Halving:\n"
        "    notes = ()\n"
        "    def __init__(self, corrector, instance, options, rules):\n"
        "        self.group, self.by = '', float(options['By'])\n"
        "    def update(self, reports, now): pass\n"
        "    def correct(self, expected): return Correction({n: s / self.by for n, s in expected.items()})\n"
    )
    info = tmp_path / "halving-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halving\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fairq.share_correctors]\nHalving = halving:Halving\nBroken = halving:No\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    block = """
[shares.ShareCorrections]
ShareCorrectorsToStart = ["{0}"]
[shares.ShareCorrections.{0}.Everybody]
By = {1}
"""
    submit(run, "anna", "a")
    settings(state, block.format("Halving", 4))
    assert pool("taskqueues", "shares", "--json")["groups"][0]["share"] == 250
    settings(state, block.format("Broken", 4))
    assert "the share corrector 'Broken' cannot be started" in pool("taskqueues", "shares", code=76).err
    settings(state, block.format("Halving", '"much"'))
    assert "ValueError" in pool("taskqueues", "shares", code=76).err
    settings(state, block.format("Doubling", 4))
    assert "known are: " in pool("taskqueues", "shares", code=64).err


TOML = """
[shares.ShareCorrections]
ShareCorrectorsToStart = "WMSHistory"

[shares.ShareCorrections.WMSHistory.GroupsInstance]
MaxGlobalCorrectionFactor = 3

[shares.ShareCorrections.WMSHistory.GroupsInstance.WeekSlice]
TimeSpan = 604800
Weight = 80
MaxCorrection = 2

[shares.ShareCorrections.WMSHistory.lhcb_userInstance]
Group = "lhcb_user"
MaxGlobalCorrectionFactor = 3

[shares.ShareCorrections.WMSHistory.lhcb_userInstance.WeekSlice]
TimeSpan = 604800
Weight = 80
MaxCorrection = 2
"""


@pytest.mark.parametrize("rules", ["", '[shares]\nrules = "dirac"\nenable_shares_correction = true\n'])
def test_the_schemas_example_in_toml_works_before_anybody_has_configured_groups(rules, run, pool, state):
    settings(state, rules + TOML)
    assert run("config", "check").code == 0
    assert pool("taskqueues", "shares", "--json")["groups"] == []
    submit(run, "anna", "lhcb_user")
    assert [one["owner_group"] for one in pool("taskqueues", "shares", "--json")["groups"]] == ["lhcb_user"]


def test_corrections_that_can_do_nothing_are_told(run, pool, state):
    settings(state, TOML + "[shares.groups.lhcb_user]\njob_sharing = true\n")
    submit(run, "anna", "lhcb_user")
    assert "a corrector is for the users of lhcb_user, but job sharing" in pool("taskqueues", "shares").err
    settings(state, '[shares]\nrules = "dirac"\nenable_shares_correction = true\n' + TOML)
    assert 'To correct by name, set shares.in_group_key = "name"' in pool("taskqueues", "shares").err


def test_an_accounting_group_is_known_without_shares_of_its_own(run, pool, state):
    settings(state, TOML + "[groups.lhcb_user]\nquota = 5\n[shares.groups.lhcb_prod]\njob_share = 5\n")
    assert pool("taskqueues", "shares", "--json")["rules"] == "documented"
    assert pool("taskqueues", "match", *PILOT, "--group", "lhcb_user", "--json")["matches"] == []
    settings(state, TOML + "[shares.groups.lhcb_prod]\njob_share = 5\n")
    assert "the group lhcb_user has no share and no task queue" in pool("taskqueues", "shares").err
