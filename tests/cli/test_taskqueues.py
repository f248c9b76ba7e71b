"""``fairq taskqueues``: jobs become task queues, groups' shares their priorities, and pilots get jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOW = 1_795_210_080
PILOT = ("--site", "LCG.CERN.cern", "--cputime", 100000)


@pytest.fixture
def pool(run, state, monkeypatch):
    """Runs fairq on a state of its own at NOW (or later), and returns what it prints, as JSON if asked for."""
    monkeypatch.setenv("FAIRQ_STATE", str(state))
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")

    def pool(*words, now=NOW, code=0):
        ended = run(*words, "--now", now)
        assert ended.code == code, ended.err
        return json.loads(ended.out) if "--json" in words else ended

    return pool


def submit(run, owner, group=None, count=1, now=NOW, **asked):
    """Queue *count* jobs of *owner*; *asked* are attributes of the job."""
    words: list[object] = ["--count", count, "--accounting-group-user", owner, "--now", now]
    if group:
        words += ["--accounting-group", group]
    for name, value in asked.items():
        words += ["--attribute", f"{name}={value}"]
    ended = run("submit", *words, "--", "/bin/true")
    assert ended.code == 0, ended.err


def settings(state, text):
    Path(f"{state}.toml").write_text(text)


def queues(pool):
    found: list[dict[str, Any]] = pool("taskqueues", "--json")
    return found


def test_jobs_that_ask_for_the_same_share_a_queue_whatever_the_order(run, pool):
    submit(run, "anna", "u", 2, Sites='"A, B"', CPUTime="50000")
    submit(run, "anna", "u", 1, Site='"B,A"', CPUTime="80000")
    submit(run, "anna", "u", 1, Sites='{ "B", "A", "A", " " }')
    submit(run, "anna", "u", 1, Sites='"ANY"')
    submit(run, "bert", "u", 1, Sites='"A, B"')

    found = queues(pool)

    assert [(one["owner"], one.get("sites"), one["cpu_time"], one["jobs"]) for one in found] == [
        ("anna", "A, B", 86400, 4),
        ("anna", None, 86400, 1),
        ("bert", "A, B", 86400, 1),
    ]


def test_what_is_requested_becomes_tags_and_memory(run, pool):
    words = ["--request-cpus", 8, "--request-memory", "4GB", "--request-gpus", 1, "--accounting-group-user", "anna"]
    assert run("submit", *words, "--attribute", 'Tag="SGX"', "--", "/bin/true").code == 0
    submit(run, "anna", None, 1, WholeNode="true", MinRAM="0")

    one, other = queues(pool)

    assert (one["tags"], one["min_ram"]) == ("8Processors, GPU, MultiProcessor, SGX", 4096)
    assert (other["tags"], other.get("min_ram")) == ("MultiProcessor, WholeNode", None)
    assert one["owner_group"] == "<none>"


def test_priorities_of_jobs_become_user_priorities(run, pool, state):
    submit(run, "anna", "u", UserPriority="5", JobName='"a"')
    submit(run, "bert", "u")
    assert run("prio", "7", "2.0").code == 0
    submit(run, "carl", "u")
    assert run("prio", "-p", "-3", "3.0").code == 0 or run("prio", "--", "-3", "3.0").code == 0
    submit(run, "dora", "u")
    submit(run, "emil", "u", UserPriority="12")
    averages = {one["owner"]: one["average_priority"] for one in queues(pool)}
    assert averages == {"anna": 5.0, "bert": 7.0, "carl": 1e-30, "dora": 1.0, "emil": 12.0}
    settings(state, '[shares]\nrules = "dirac"\n')
    averages = {one["owner"]: one["average_priority"] for one in queues(pool)}
    assert averages == pytest.approx({"anna": 5.0, "bert": 7.0, "carl": 1e-5, "dora": 1.0, "emil": 1e6})


def test_private_groups_divide_by_users_and_sharing_ones_by_queues(run, pool, state):
    settings(state, "[shares.groups.u]\njob_share = 1000\n[shares.groups.p]\njob_share = 3000\njob_sharing = true\n")
    submit(run, "anna", "u")
    submit(run, "bert", "u")
    submit(run, "bert", "u", UserPriority="3", CPUTime="300")
    submit(run, "prod", "p")
    submit(run, "prod2", "p")

    report = pool("taskqueues", "shares", "--json")

    assert report["rules"] == "documented"
    priorities = [(one["owner"], one["priority"]) for one in report["task_queues"]]
    assert priorities == [("prod", 1500), ("prod2", 1500), ("anna", 500), ("bert", 125), ("bert", 375)]
    assert [one["stored_priority"] for one in queues(pool)] == [500, 125, 375, 1500, 1500]


def test_queues_keep_their_numbers_and_no_number_is_given_twice(run, pool):
    for owner in ("anna", "bert", "carl"):
        submit(run, owner, "u")
    pool("taskqueues", "shares")
    assert run("remove", "2", "3").code == 0
    pool("taskqueues", "shares")
    submit(run, "dora", "u")
    assert [(one["task_queue"], one["owner"]) for one in queues(pool)] == [(1, "anna"), (4, "dora")]


def test_a_full_queue_splits(run, pool, state):
    settings(state, "[shares]\nmax_jobs_in_task_queue = 4\n")
    submit(run, "anna", "u", 10)
    assert [one["jobs"] for one in queues(pool)] == [4, 4, 2]
    matched = pool("taskqueues", "match", *PILOT, "--count", 12, "--json")
    assert sorted(one["job"] for one in matched["matches"]) == sorted(f"1.{proc}" for proc in range(10))


def test_a_pilot_gets_a_job_which_runs_until_it_is_finished(run, pool):
    submit(run, "anna", "u", 2)

    matched = pool("taskqueues", "match", *PILOT, "--pilot", "https://pilot/7", "--json")

    assert {name: matched[name] for name in ("rules", "selection", "asked", "queues", "matching", "limited")} == {
        "rules": "documented", "selection": "proportional", "asked": 1, "queues": 1, "matching": 1, "limited": {},
    }  # fmt: skip
    (one,) = matched["matches"]
    assert one == {
        "job": "1.0", "submitter": "u.anna@example.org", "owner": "anna", "group": "u", "task_queue": 1,
        "priority": 1000.0, "user_priority": 1, "chance": 1.0, "slot": "pilot_1.0@LCG.CERN.cern",
    }  # fmt: skip
    (slot,) = pool("slots", "--json")
    assert (slot["State"], slot["RemoteUser"], slot["Pilot"]) == ("Claimed", "u.anna@example.org", "https://pilot/7")
    pool("finish", "1.0", now=NOW + 3600)
    assert pool("slots", "--json", now=NOW + 3600) == []
    pool("negotiate", now=NOW + 3600)
    (record,) = pool("userprio", "--allusers", "--json", "--constraint", "!IsAccountingGroup", now=NOW + 3600)
    assert record["WeightedAccumulatedUsage"] == 3600
    assert run("state", "check").code == 0


def test_a_cycle_leaves_pilots_alone_and_charges_them(run, pool):
    assert run("slots", "add", "node").code == 0
    submit(run, "anna", "u", 3)
    pool("taskqueues", "match", *PILOT)
    cycle = pool("negotiate", "--json", now=NOW + 60)
    assert [(one["job"], one["slot"]) for one in cycle["matches"]] == [("1.1", "node")]
    assert pool("negotiate", "--json", now=NOW + 120)["matches"] == []
    assert len(pool("slots", "--json")) == 2
    assert run("state", "check").code == 0


def test_a_site_that_is_not_in_use_gets_test_jobs_alone(run, pool, state):
    submit(run, "ann", JobType='"MC"')
    submit(run, "bob", JobType='"Test"')
    settings(state, '[shares]\nusable_sites = "LCG.CERN.cern, LCG.RAL.uk"\n')
    why = pool("taskqueues", "why", 1, "--site", "LCG.CNAF.it", "--cputime", 10**6).out
    assert "add LCG.CNAF.it to shares.usable_sites" in why
    asked = ("taskqueues", "match", "--cputime", 10**6, "--count", 9, "--json", "--site")
    assert [one["owner"] for one in pool(*asked, "LCG.CNAF.it")["matches"]] == ["bob"]
    assert [one["owner"] for one in pool(*asked, "LCG.RAL.uk")["matches"]] == ["ann"]


def test_a_pilot_of_a_vo_takes_the_jobs_of_its_groups(run, pool, state):
    settings(state, '[shares.groups]\nu = { vo = "lhcb" }\np = { vo = "lhcb" }\nw = { vo = "belle" }\n')
    for group in "upw":
        submit(run, "ann", group)
    asked = ("taskqueues", "match", "--site", "X", "--cputime", 10**6, "--count", 9, "--vo")
    assert {one["group"] for one in pool(*asked, "lhcb", "--json")["matches"]} == {"u", "p"}
    assert "no group belongs to the VO 'cms'" in pool(*asked, "cms", code=67).err
    assert {one["group"] for one in pool(*asked, "lhcb", "--group", "w", "--json")["matches"]} == {"w"}


def test_an_import_of_machines_keeps_the_pilots(run, pool, tmp_path):
    submit(run, "anna", "u", 2)
    pool("taskqueues", "match", *PILOT)
    (tmp_path / "slots.json").write_text('[{"Name": "a"}, {"Name": "b"}]')
    pool("import", "--slots", tmp_path / "slots.json", now=NOW + 5)
    assert [slot["Name"] for slot in pool("slots", "--json")] == ["a", "b", "pilot_1.0@LCG.CERN.cern"]
    assert run("state", "check").code == 0
    pool("finish", "1.0", now=NOW + 9)
    assert [slot["Name"] for slot in pool("slots", "--json")] == ["a", "b"]


def test_holding_or_removing_a_job_ends_its_pilots_slot(run, pool):
    submit(run, "anna", "u", 3)
    pool("taskqueues", "match", *PILOT, "--count", 3)
    pool("hold", "1.0", now=NOW + 1)
    pool("remove", "1.1", now=NOW + 1)
    assert run("slots", "remove", "--force", "pilot_1.2@LCG.CERN.cern").code == 0
    assert pool("slots", "--json") == []
    assert [(one["jobs"]) for one in queues(pool)] == [1]
    assert run("state", "check").code == 0


def test_the_same_seed_draws_the_same(run, pool):
    for owner in ("anna", "bert", "carl", "dora"):
        submit(run, owner, "u", 5)
    draws = [
        [one["job"] for one in pool("taskqueues", "match", *words, "--seed", seed, "--json")["matches"]]
        for words in [(*PILOT, "--count", 9, "--dry-run")]
        for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]
    assert pool("slots", "--json") == []


@pytest.mark.parametrize(("selection", "chance"), [("proportional", 2 / 3), ("dirac", 0.75), ("strict", 1.0)])
def test_each_way_of_drawing_has_its_chances(selection, chance, run, pool, state):
    settings(state, "[shares.groups.a]\njob_share = 2000\n[shares.groups.b]\njob_share = 1000\n")
    submit(run, "anna", "a")
    submit(run, "bert", "b")
    why = pool("taskqueues", "why", "1", *PILOT, "--json")
    assert why["offered"] is True and why["chance"] == pytest.approx(2 / 3)
    matched = pool("taskqueues", "match", *PILOT, "--selection", selection, "--seed", 3, "--count", 2, "--json")
    first = {one["owner"]: one["chance"] for one in matched["matches"][:1]}
    assert first == {"anna": pytest.approx(chance)} or first == {"bert": pytest.approx(1 - chance)}


def test_running_limits_of_a_site_hold_within_one_call_and_between_calls(run, pool, state):
    settings(state, '[shares.RunningLimit."LCG.CERN.cern".JobType]\nMC = 2\n')
    submit(run, "anna", "u", 5, JobType='"MC"')
    submit(run, "bert", "u", 1, JobType='"User"')
    first = pool("taskqueues", "match", *PILOT, "--count", 5, "--json")
    assert sorted(one["owner"] for one in first["matches"]) == ["anna", "anna", "bert"]
    second = pool("taskqueues", "match", *PILOT, "--json")
    assert (second["matches"], second["limited"]) == ([], {"JobType": ["MC"]})
    assert len(pool("taskqueues", "match", "--site", "Other", "--cputime", 1e5, "--json")["matches"]) == 1
    ended = pool("taskqueues", "why", "1", *PILOT)
    assert "JobType MC" in ended.out and "2 of at most 2 running" in ended.out
    pool("finish", "1.0", now=NOW + 1)
    assert len(pool("taskqueues", "match", *PILOT, "--json", now=NOW + 2)["matches"]) == 1


def test_matching_delays_of_a_site_are_remembered(run, pool, state):
    settings(state, '[shares.MatchingDelay."LCG.CERN.cern".JobType]\nMC = 100\n')
    submit(run, "anna", "u", 5, JobType='"MC"')
    got = [
        len(pool("taskqueues", "match", *PILOT, "--count", 2, "--json", now=NOW + late)["matches"])
        for late in (0, 99, 100, 150, 200)
    ]
    assert got == [1, 0, 1, 0, 1]


def test_why_names_every_condition_that_fails_with_both_values_and_the_change(run, pool):
    asked = {"Sites": '"A, B"', "Platform": '"el9"', "JobType": '"MC"', "Tag": '"GPU"', "MinRAM": "4000"}
    submit(run, "anna", "u", 1, CPUTime="100000", **asked)
    pilot = ["--site", "C", "--cputime", 1000, "--platform", "el8", "--job-type", "User", "--max-ram", 2000,
             "--group", "u", "--owner", "bert"]  # fmt: skip

    why = pool("taskqueues", "why", "1.0", *pilot, "--json")

    assert (why["task_queue"], why["offered"], why["matching"]) == (1, False, 0)
    told = {one["condition"]: (one["wanted"], one["offered"], one["pilot_change"]) for one in why["failures"]}
    assert told == {
        "Owner": ("anna in u", "bert in u", "--owner anna"),
        "CPUTime": ("172800", "1000", "--cputime 172800"),
        "Site": ("A, B", "C", "--site (one of A, B)"),
        "Platform": ("el9", "el8", "--platform el9"),
        "JobType": ("MC", "User", "--job-type MC"),
        "Tag": ("GPU", "none", "--tag GPU"),
        "MaxRAM": ("4000", "2000", "--max-ram 4000"),
    }
    mended = ["--site", "A", "--cputime", 172800, "--platform", "el9", "--job-type", "MC", "--max-ram", 4000,
              "--group", "u", "--owner", "anna", "--tag", "GPU"]  # fmt: skip
    assert pool("taskqueues", "why", "1.0", *mended, "--json")["offered"] is True
    assert len(pool("taskqueues", "match", *mended, "--json")["matches"]) == 1
    assert "it is running on pilot_1.0@A" in pool("taskqueues", "why", "1.0", *mended).out


def test_a_job_that_asks_for_nonsense_is_in_no_queue_and_why_says_so(run, pool):
    submit(run, "anna", "u", 1, CPUTime='"long"')
    submit(run, "bert", "u")
    listed = pool("taskqueues")
    assert "1 idle job is in no task queue" in listed.err and "CPUTime" in listed.err
    told = pool("taskqueues", "why", "1.0", *PILOT).out
    assert "the CPUTime of the job, 'long', is not a whole number of 0 or more" in told
    assert len(pool("taskqueues", "match", *PILOT, "--count", 5, "--json")["matches"]) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RequestMemory", "1e400 * 1"),
        ("RequestCpus", "0 - 1"),
        ("MinRAM", "undefined"),
        ("Sites", "{ }"),
        ("Tag", "1.5"),
        ("WholeNode", '"x"'),
        ("RealPriority", "1e400"),
        ("AccountingGroup", "time()"),
        ("CPUTime", "2 * 30"),
    ],
)
def test_odd_values_of_a_job_are_no_trouble(name, value, run, pool):
    submit(run, "anna", "u", 1, **{name: value})
    assert pool("taskqueues", "shares", "--json")["rules"] == "documented"
    assert len(pool("taskqueues", "match", *PILOT, "--tag", "any", "--json")["matches"]) == 1
    assert run("state", "check").code == 0


def test_a_state_that_does_not_exist_has_no_queues_and_is_not_made(pool, state):
    assert queues(pool) == []
    assert pool("taskqueues", "match", *PILOT, "--json")["matches"] == []
    assert pool("taskqueues", "shares", "--json")["task_queues"] == []
    assert not state.exists()


def test_a_group_that_nobody_knows_is_refused_once_groups_are_configured(run, pool, state):
    submit(run, "anna", "u")
    assert pool("taskqueues", "match", *PILOT, "--group", "lhcb", "--json")["matches"] == []
    settings(state, "[shares.groups.lhcb_user]\njob_share = 1\n")
    refused = pool("taskqueues", "match", *PILOT, "--group", "lhcb_usr", code=68)
    assert refused.err == "fairq: --group: there is no group 'lhcb_usr'; did you mean 'lhcb_user'?\n"
    refused = pool("taskqueues", "why", 1, *PILOT, "--proxy", "ann@lhcb_usr", code=68)
    assert refused.err == "fairq: --proxy: there is no group 'lhcb_usr'; did you mean 'lhcb_user'?\n"
    assert pool("taskqueues", "shares", "--group", "nobody", code=68).err.endswith("known are lhcb_user, u\n")


def test_why_counts_the_older_jobs_that_go_first(run, pool):
    submit(run, "anna", "u", 3)
    submit(run, "anna", "u", 2, UserPriority="5")
    submit(run, "anna", "u", 3)
    ahead = [pool("taskqueues", "why", job, *PILOT, "--json")["ahead"] for job in ("1.0", "1.2", "2.1", "3.1")]
    assert ahead == [0, 2, 1, 4]
    matched = pool("taskqueues", "match", *PILOT, "--count", 8, "--json")["matches"]
    order = [one["job"] for one in matched if one["user_priority"] == 1]
    assert order == ["1.0", "1.1", "1.2", "3.0", "3.1", "3.2"]


def test_background_work_gets_the_floor_and_each_site_variant_a_part(run, pool, state):
    """With site_families, as DIRAC has it, queues that differ only in sites get the sum of their parts."""
    group = "[shares.groups.u]\njob_share = 900\nallow_background_tqs = true\n"
    settings(state, group)
    submit(run, "anna", "u", Sites='"A"')
    submit(run, "anna", "u", Sites='"B"')
    submit(run, "anna", "u", CPUTime="300")
    submit(run, "anna", "u", CPUTime="300", UserPriority="0.1", JobType='"Later"')
    assert [one["priority"] for one in queues(pool)] == [300, 300, 300, 0.001]
    report = pool("taskqueues", "shares", "--json")["task_queues"]
    assert [(one["background"], one["family"]) for one in report] == [(False, 1)] * 3 + [(True, 1)]
    settings(state, group + "[shares]\nsite_families = true\n")
    assert [one["priority"] for one in queues(pool)] == [600, 600, 300, 0.001]


@pytest.mark.parametrize("given", ["0", "-2", "1 - 1", '"high"'])
def test_a_user_priority_that_is_not_above_0_is_refused(given, run, pool, state):
    asked = ("submit", "--attribute", f"UserPriority={given}", "--", "/bin/true")
    refused = run(*asked)
    assert refused.code == 66 and "UserPriority" in refused.err and "give a number above 0" in refused.err
    assert queues(pool) == []
    settings(state, '[shares]\nrules = "dirac"\n')
    assert run(*asked).code == 0


@pytest.mark.parametrize("name", ["owner_group", "OwnerGroup", "ownergroup", "Owner_Group"])
def test_a_member_is_found_in_every_spelling(run, pool, name):
    submit(run, "anna", "u")
    submit(run, "bert", "v")
    found = pool("taskqueues", "list", "--constraint", f'{name} == "v"', "--af", name, f"strcat({name}, 1)")
    assert found.out == "v v1\n"
