"""``fairq userprio`` from the outside: views and edits over a state file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from fairq.common.quantities import shown_time
from fairq.common.records import AccountingRecord, Claim, SlotRecord
from fairq.state import claims, history, meta, slots, submitters
from fairq.state.connection import reading, writing

NOW = 1_795_200_000
HOUR = 3600


@pytest.fixture
def pool(state):
    """Ann runs on one slot, bob is idle since an hour, old since a hundred days."""
    with writing(state) as opened:
        submitters.store(
            opened,
            [
                AccountingRecord("<none>", True, priority_factor=1000.0, resources_used=1,
                                 weighted_resources_used=4.0, last_usage_time=NOW),
                AccountingRecord("ann@pool", priority=4.0, priority_factor=1000.0, resources_used=1,
                                 weighted_resources_used=4.0, accumulated_usage=7200.0,
                                 weighted_accumulated_usage=28800.0, begin_usage_time=NOW - 2 * HOUR,
                                 last_usage_time=NOW),
                AccountingRecord("bob@pool", priority=0.7, priority_factor=10.0, accumulated_usage=60.0,
                                 weighted_accumulated_usage=1 / 3, begin_usage_time=NOW - 3 * HOUR,
                                 last_usage_time=NOW - HOUR),
                AccountingRecord("old@pool", priority_factor=1000.0, accumulated_usage=1.0,
                                 weighted_accumulated_usage=1.0, begin_usage_time=1,
                                 last_usage_time=NOW - 100 * 24 * HOUR),
            ],
        )  # fmt: skip
        (slot,) = slots.add(opened, [SlotRecord(1, "slot1@n1.pool", {"Name": "slot1@n1.pool"})])
        claims.store(opened, [Claim(slot, "ann@pool", NOW - 2 * HOUR, 4.0)])
        meta.set(opened, "last_update", str(NOW))
    return state


@pytest.fixture
def userprio(run, pool):
    """Run userprio on the pool, a minute after its last update."""

    def userprio(*words):
        return run("--state", pool, "userprio", "--now", NOW + 60, *words)

    return userprio


def record(path, name):
    with reading(path) as opened:
        return submitters.load(opened, name)


def stored(path):
    return path.read_bytes()


def test_a_missing_state_shows_nothing(run):
    ended = run("userprio", "-allusers")
    assert (ended.code, ended.out) == (0, "")
    assert run("userprio", "--json").out == "[]\n"


def test_the_default_view_shows_who_was_active_within_the_last_day(userprio):
    lines = userprio().out.splitlines()
    assert [line.split()[0] for line in lines[4:-2]] == ["bob@pool", "ann@pool"]
    assert lines[-1].startswith("Number of users: 2")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["-allusers"], ["<none>", "ann@pool", "bob@pool", "old@pool"]),
        (["old"], ["old@pool"]),
        (["old@pool", "ann@pool"], ["ann@pool", "old@pool"]),
        (["OLD@pool"], []),
        (["<none>"], ["<none>"]),
        (["-activefrom", "1", "1", "20"], ["<none>", "ann@pool", "bob@pool", "old@pool"]),
        (["-activefrom", "1", "1", "2030"], []),
        (["-allusers", "--constraint", "ResourcesUsed > 0 && !IsAccountingGroup"], ["ann@pool"]),
    ],
)
def test_which_records_are_shown(userprio, words, names):
    assert [ad["Name"] for ad in json.loads(userprio(*words, "--json").out)] == names


def test_a_name_without_a_record_is_told(userprio):
    ended = userprio("bob", "nobody@pool")
    assert "bob@pool" in ended.out
    assert (ended.code, ended.err) == (0, "fairq: there is no accounting record of nobody@pool\n")


def test_json_has_htcondors_attributes_at_full_precision(userprio):
    (bob,) = json.loads(userprio("bob@pool", "--json").out)
    assert bob == {
        "Name": "bob@pool",
        "AccountingGroup": "<none>",
        "IsAccountingGroup": False,
        "Priority": 7.0,
        "RealPriority": 0.7,
        "PriorityFactor": 10.0,
        "ResourcesUsed": 0,
        "WeightedResourcesUsed": 0.0,
        "AccumulatedUsage": 60.0,
        "WeightedAccumulatedUsage": 1 / 3,
        "BeginUsageTime": NOW - 3 * HOUR,
        "LastUsageTime": NOW - HOUR,
        "Ceiling": -1,
        "Floor": 0,
        "SubmitterShare": 0.0,
        "SubmitterLimit": 0.0,
        "LastUpdate": NOW,
    }


def test_csv_and_autoformat_and_long_show_the_same_records(userprio):
    (row,) = csv.DictReader(io.StringIO(userprio("bob", "--csv").out))
    assert (row["Name"], row["Priority"], row["WeightedAccumulatedUsage"]) == ("bob@pool", "7.0", str(1 / 3))
    assert userprio("bob", "-af", "Name", "Ceiling").out == "bob@pool -1\n"
    long = userprio("-l", "bob").out
    assert 'Name = "bob@pool"\nPriority = 7.0\n' in long
    assert long.endswith("\n\n")


def test_a_view_writes_nothing(userprio, pool):
    before = stored(pool)
    for words in (["-all", "-allusers"], ["-getreslist", "ann@pool"], ["--json"], ["-grouprollup"]):
        assert userprio(*words).code == 0
    assert stored(pool) == before


def test_getreslist_shows_the_slots_in_use(userprio):
    lines = userprio("-getreslist", "ann@pool").out.splitlines()
    assert lines[2].startswith("slot1@n1.pool ")
    assert lines[2].endswith("  0+02:01:00")
    assert lines[-1] == "Number of Resources Used: 1"
    assert json.loads(userprio("--getreslist", "ann@pool", "--json").out) == [
        {"Name": "slot1@n1.pool", "StartTime": NOW - 2 * HOUR, "SlotWeight": 4.0}
    ]
    assert userprio("-getreslist", "ann@pool", "-l").out.startswith('Name1 = "slot1@n1.pool"\nStartTime1 = ')


EDITS: list[tuple[list[str], str, str, Any]] = [
    (["-setprio", "bob@pool", "3"], "The priority of bob@pool was set to 3.000000", "priority", 3.0),
    (["-setfactor", "bob@pool", "2"], "The priority factor of bob@pool was set to 2.000000", "priority_factor", 2.0),
    (["--setfactor", "bob@pool", "1e3"], "The priority factor of bob@pool was set to 1000.000000", "priority_factor",
     1e3),
    (["-setfloor", "bob@pool", "4"], "The floor of bob@pool was set to 4", "floor", 4),
    (["-setceiling", "bob@pool", "-1"], "The ceiling of bob@pool was set to -1", "ceiling", -1),
    (["-setceil", "bob@pool", "9", "-dur", "60"], "Set ceiling lease on bob@pool to 9 for 1m", "ceiling", 9),
    (["-setfl", "bob@pool", "9", "-d", "60"], "Set floor lease on bob@pool to 9 for 1m", "floor", 9),
    (
        ["-setfac", "bob@pool", "9", "-d", "60"],
        "Set priority-factor lease on bob@pool to 9.000000 for 1m",
        "priority_factor",
        9.0,
    ),
    (
        ["-setaccum", "bob@pool", "90.5"],
        "The Accumulated Usage of bob@pool was set to 90.500000",
        "weighted_accumulated_usage",
        90.5,
    ),
    (["-setaccum", "bob@pool", "10h"], "The Accumulated Usage of bob@pool was set to 36000.000000",
     "weighted_accumulated_usage", 36000.0),
    (["-setbegin", "bob@pool", "1795200000"], f"The Begin Usage Time of bob@pool was set to {shown_time(1795200000)}",
     "begin_usage_time", 1795200000),
    (["-setlast", "bob@pool", "1795200001"], f"The Last Usage Time of bob@pool was set to {shown_time(1795200001)}",
     "last_usage_time", 1795200001),
    (["-resetusage", "bob@pool"], "The accumulated usage of bob@pool was reset", "accumulated_usage", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message", "attribute", "value"), EDITS, ids=lambda value: str(value)[:40])
def test_an_edit_says_what_it_did_and_is_in_the_history(userprio, pool, words, message, attribute, value):
    former = record(pool, "bob@pool")
    ended = userprio(*words)
    assert (ended.code, ended.out, ended.err) == (0, message + "\n", "")
    assert getattr(record(pool, "bob@pool"), attribute) == value
    with reading(pool) as opened:
        (entry,) = history.load(opened)
    assert (entry.subject, entry.time) == ("bob@pool", NOW + 60)
    assert former is not None
    if getattr(former, attribute) != value:
        assert value in entry.after.values()
        # What stood there is told as of the edit: a priority has decayed a little by then.
        assert any(value == pytest.approx(getattr(former, attribute), rel=1e-3) for value in entry.before.values())


@pytest.mark.parametrize("words", [words for words, *_ in EDITS] + [["-resetall"], ["-delete", "bob@pool"]])
def test_a_dry_run_of_an_edit_changes_no_byte(userprio, pool, words):
    before = stored(pool)
    ended = userprio(*words, "--dry-run")
    assert ended.code == 0
    assert "ould " in ended.out
    assert ended.err == ""
    assert stored(pool) == before


def test_resetting_keeps_the_priority(userprio, pool):
    """It is accounted for up to the edit; a slot in use is last used then."""
    userprio("-resetusage", "ann@pool")
    ann = record(pool, "ann@pool")
    assert ann is not None
    assert (ann.accumulated_usage, ann.weighted_accumulated_usage, ann.begin_usage_time) == (0, 0, NOW + 60)
    assert (ann.last_usage_time, ann.resources_used) == (NOW + 60, 1)
    assert ann.priority == pytest.approx(4.0, rel=1e-3)


def test_resetall_resets_everybody(userprio, pool):
    assert userprio("-resetall").out == "The accumulated usage was reset for all users\n"
    with reading(pool) as opened:
        assert {record.weighted_accumulated_usage for record in submitters.load_all(opened)} == {0.0}


def test_a_value_for_somebody_never_seen_makes_the_record(run, state):
    run("--state", state, "userprio", "-setfactor", "new@pool", "5")
    (new,) = json.loads(run("--state", state, "userprio", "new@pool", "--json").out)
    assert (new["PriorityFactor"], new["Priority"], new["LastUsageTime"]) == (5.0, 2.5, 0)


def test_a_priority_below_the_best_counts_as_the_best(userprio):
    userprio("-setprio", "bob@pool", "0")
    (bob,) = json.loads(userprio("bob@pool", "--json").out)
    assert bob["RealPriority"] == 0.5


def test_a_group_can_be_edited(userprio, pool):
    assert userprio("-setfactor", "<none>", "3").code == 0
    assert record(pool, "<none>").priority_factor == 3.0


def test_a_lease_is_not_granted_twice_and_can_be_cancelled(userprio, pool):
    userprio("-setceiling", "bob@pool", "5", "-duration", "100")
    refused = userprio("-setceiling", "bob@pool", "6", "-duration", "100")
    assert (refused.code, refused.out) == (53, "")
    assert "already has a ceiling lease until " in refused.err
    assert userprio("-cancelceilinglease", "bob@pool").out == "Cancelled ceiling lease for bob@pool\n"
    assert record(pool, "bob@pool").ceiling == -1
    assert userprio("-cancelceilinglease", "bob@pool").code == 54


def test_a_submitter_whose_jobs_run_is_deleted_by_force_only(userprio, pool):
    refused = userprio("-delete", "ann@pool")
    assert refused.code == 55
    assert "1 of its jobs" in refused.err
    assert record(pool, "ann@pool") is not None
    assert userprio("-delete", "ann@pool", "--force").out == "The accountant record named ann@pool was deleted\n"
    assert record(pool, "ann@pool") is None


def test_deleting_somebody_unknown_says_who_may_be_meant(userprio, pool):
    before = stored(pool)
    ended = userprio("-delete", "anne@pool")
    assert ended.code == 56
    assert "did you mean 'ann@pool'?" in ended.err
    assert stored(pool) == before


def test_pruning_deletes_whoever_was_idle_for_so_long(userprio, pool):
    ended = userprio("--prune", "90d", "--json")
    assert [change["name"] for change in json.loads(ended.out)["changes"]] == ["old@pool"]
    assert record(pool, "old@pool") is None
    assert record(pool, "bob@pool") is not None
    assert userprio("--prune", "90d").out == "0 accountant records idle for 90 days deleted\n"


def test_several_edits_are_made_in_condor_userprios_order(userprio, pool):
    ended = userprio("-resetall", "-setprio", "bob", "3", "-setfactor", "ann", "5", "-setfactor", "bob", "6")
    assert ended.out.splitlines() == [
        "The priority of bob@pool was set to 3.000000",
        "The priority factor of ann@pool was set to 5.000000",
        "The priority factor of bob@pool was set to 6.000000",
        "The accumulated usage was reset for all users",
    ]
    assert record(pool, "bob@pool").priority_factor == 6.0
    assert record(pool, "bob@pool").accumulated_usage == 0.0


@pytest.mark.parametrize(
    ("words", "code", "culprit"),
    [
        (["-setprio", "bob@pool", "abc"], 25, "abc"),
        (["-setprio", "bob@pool", "nan"], 25, "nan"),
        (["-setprio", "bob@pool", "-1"], 25, "-1"),
        (["-setprio", "bob@pool", "1e999"], 25, "1e999"),
        (["-setfactor", "bob@pool", "0.5"], 25, "0.5"),
        (["-setfactor", "bob@pool", "1,5"], 25, "1,5"),
        (["-setfloor", "bob@pool", "-1"], 25, "-1"),
        (["-setfloor", "bob@pool", "1.5"], 25, "1.5"),
        (["-setceiling", "bob@pool", "-2"], 25, "-2"),
        (["-setceiling", "bob@pool", "99999999999"], 25, "99999999999"),
        (["-setceiling", "bob@pool", "5", "-duration", "0"], 25, "0"),
        (["-setceiling", "bob@pool", "5", "-duration", "soon"], 25, "soon"),
        (["-setaccum", "bob@pool", "-5"], 25, "-5"),
        (["-setbegin", "bob@pool", "soon"], 24, "soon"),
        (["-setlast", "bob@pool", "-5"], 27, "-5"),
        (["-setprio", "joe", "3"], 26, "joe"),
        (["-setprio", "b b@pool", "3"], 26, "b b@pool"),
        (["-setprio", "", "3"], 26, "''"),
        (["-setprio", "bob@pool"], 2, "setprio"),
        (["-cancelfloorlease", "nobody@pool"], 56, "nobody@pool"),
        (["-resetusage", "nobody@pool"], 56, "nobody@pool"),
        (["--prune", "never"], 25, "never"),
        (["-activefrom", "2", "30", "2026"], 2, "2 30 2026"),
        (["-duration", "60"], 2, "duration"),
        (["-setprio", "bob@pool", "3", "-duration", "60"], 2, "duration"),
        (["--force"], 2, "force"),
        (["--dry-run"], 2, "dry-run"),
        (["-nonsense"], 2, "nonsense"),
        (["4you"], 2, "4you"),
        (["--constraint", "Priority >"], 21, "Priority >"),
    ],
)
def test_wrong_input_is_refused_in_one_line_and_changes_nothing(userprio, pool, words, code, culprit):
    before = stored(pool)
    ended = userprio(*words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.count("\n") == 1
    assert culprit in ended.err
    assert stored(pool) == before


def test_the_htcondor_rules_leave_blank_what_its_accountant_has_no_entry_for(run, state, tmp_path):
    config = tmp_path / "fairq.toml"
    run("--state", state, "userprio", "-setfactor", "new@pool", "5")
    shown = {}
    for rules in ("documented", "htcondor"):
        config.write_text(f'[negotiator]\nrules = "{rules}"\n')
        out = run("--state", state, "--config", config, "userprio", "-allusers").out
        shown[rules] = next(line for line in out.splitlines() if line.startswith("new@pool")).split()
    assert shown == {
        "documented": ["new@pool", "2.50", "5.00", "0", "0.00"],
        "htcondor": ["new@pool", "2.50", "5.00", "-0.00"],
    }


def test_rolled_up_groups_hold_the_use_of_all_below_them(run, state, tmp_path):
    config = tmp_path / "fairq.toml"
    config.write_text("[groups.g]\nquota = 5\n[groups.'g.h']\nquota = 2\n")
    with writing(state) as opened:
        submitters.store(
            opened,
            [
                AccountingRecord(name, True, resources_used=used, weighted_resources_used=float(used),
                                 accumulated_usage=100.0 * used, weighted_accumulated_usage=100.0 * used,
                                 begin_usage_time=1000 - used, last_usage_time=NOW - used)
                for name, used in (("<none>", 1), ("g", 2), ("g.h", 4))
            ],
        )  # fmt: skip
    words = ("--state", state, "--config", config, "userprio", "-allusers", "--json")
    used = {ad["Name"]: ad["ResourcesUsed"] for ad in json.loads(run(*words, "-grouprollup").out)}
    assert used == {"<none>": 7, "g": 6, "g.h": 4}
    rolled = {ad["Name"]: ad for ad in json.loads(run(*words, "-grouprollup").out)}["<none>"]
    assert (rolled["BeginUsageTime"], rolled["LastUsageTime"], rolled["Priority"]) == (996, NOW - 1, 0.0)
    assert rolled["WeightedAccumulatedUsage"] == 700.0


def test_only_an_expression_costs_the_start_of_the_classad_library(fairq, pool):
    """A view, an edit or plain attributes start neither NumPy nor HTCondor's library."""
    probe = "import sys; from fairq.cli.app import main; main(sys.argv[1:]); " \
            "print([m for m in ('numpy', 'classad2', 'rich') if m in sys.modules], file=sys.stderr)"  # fmt: skip
    import subprocess
    import sys

    for words in (["-all", "-allusers"], ["-allusers", "-af", "Name", "Priority"], ["-setprio", "bob@pool", "3"]):
        ended = subprocess.run(
            [sys.executable, "-c", probe, "--state", str(pool), "userprio", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stderr == "[]\n"
