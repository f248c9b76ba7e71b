"""Jobs that have ended run again as a new cluster, and others follow it."""

import json

import pytest

SHARED = "/bin/true"


@pytest.fixture
def fairq(run, state, tmp_path, monkeypatch):
    """A pool in which 1.0 and 1.2 have failed, 1.1 and 1.3 not; 2 waits for all of them in vain, 3 for 1.2 to fail."""
    monkeypatch.chdir(tmp_path)

    def fairq(*words, code=0):
        ended = run("--state", state, *words)
        assert ended.code == code, ended.err
        return ended

    fairq("slots", "add", "a", "--count", "4")
    fairq("submit", "--count", "4", "--name", "scan", "--output", "out.$(Process)", "--", SHARED, "$(Process)")
    fairq("submit", "--after-ok", "scan", "--", SHARED)
    fairq("negotiate")
    fairq("finish", "1.1", "1.3", "--exit-code", "0")
    fairq("finish", "1.0", "1.2", "--exit-code", "3")
    return fairq


def shown(fairq):
    """What each job in the queue waits for, or its status."""
    ads = json.loads(fairq("queue", "--json").out)
    return {f"{ad['ClusterId']}.{ad['ProcId']}": ad.get("WaitsFor", ad["JobStatus"]) for ad in ads}


def test_failed_jobs_run_again_with_their_numbers_and_attributes(fairq):
    assert shown(fairq) == {"2.0": 5}
    assert fairq("rerun", "1", "--failed").out == "2 jobs of cluster 1 run again as cluster 3\n"
    assert shown(fairq) == {"2.0": "after_ok 3.0, after_ok 3.2", "3.0": 1, "3.2": 1}
    ads = {ad["ProcId"]: ad for ad in json.loads(fairq("queue", "3", "--json").out)}
    assert [ads[2][name] for name in ("RerunOf", "Arguments", "JobBatchName")] == [1, "2", "scan"]
    assert ads[2]["Out"].endswith("out.2")
    assert len(json.loads(fairq("history", "1", "--json").out)) == 4
    assert "no job like this has failed" in fairq("rerun", "1", "--failed", code=29).err
    fairq("negotiate")
    fairq("finish", "3.0", "--exit-code", "0")
    fairq("finish", "3.2", "--exit-code", "4")
    assert shown(fairq) == {"2.0": 5}
    assert fairq("rerun", "--failed", "--name", "scan").out == "1 job of cluster 3 runs again as cluster 4\n"
    fairq("negotiate")
    fairq("finish", "4", "--exit-code", "0")
    assert shown(fairq) == {"2.0": 1}


def test_a_whole_cluster_takes_its_followers_along_and_undo_brings_them_back(fairq):
    fairq("submit", "--after-failed", "1.3", "--", SHARED)
    assert shown(fairq) == {"2.0": 5, "3.0": 5}
    before = shown(fairq)
    fairq("rerun", "1")
    assert shown(fairq) == {"2.0": "after_ok 4", "3.0": "after_failed 4.3", **{f"4.{proc}": 1 for proc in range(4)}}
    fairq("undo")
    assert shown(fairq) == before
    fairq("rerun", "1.0")
    assert shown(fairq)["2.0"] == 5  # 1.2 has failed as well
    fairq("rerun", "1.2")
    assert shown(fairq)["2.0"] == "after_ok 5.0, after_ok 6.2"
    fairq("hold", "6")
    assert "came after it" in fairq("undo", numbers(fairq)[-2], code=103).err
    for _ in range(3):
        fairq("undo")
    assert shown(fairq) == {"2.0": 5, "3.0": 5}
    fairq("rerun", "1", "--failed")
    fairq("negotiate")
    assert "is running" in fairq("undo", code=103).err


def numbers(fairq):
    return [str(entry["number"]) for entry in json.loads(fairq("state", "history", "--json").out)]


def test_chains_that_run_again_keep_their_order(fairq):
    fairq("remove", "2")
    fairq("rerun", "--all")
    assert shown(fairq) == {"3.0": 1, "3.1": 1, "3.2": 1, "3.3": 1, "4.0": "after_ok 3.0, after_ok 3.1 and 2 more"}


def test_what_is_overwritten_is_named(fairq, tmp_path):
    (tmp_path / "out.2").write_text("kept")
    ended = fairq("rerun", "1", "--failed", "--dry-run")
    assert ended.out == "2 jobs of cluster 1 would run again\n"
    assert f"the new runs overwrite {tmp_path}/out.2\n" in ended.err
    assert shown(fairq) == {"2.0": 5}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("rerun", 2, "no jobs are selected"),
        ("rerun 2", 29, "'fairq queue 2' shows what is in the queue"),
        ("rerun 9", 29, "'fairq history' lists"),
        ("rerun 1 --constraint ProcId>7", 29, "no job like this has ended"),
        ("rerun 1 --constraint ((", 21, "is not a ClassAd expression"),
        ("rerun x.y", 29, ""),
        ("rerun 1.3-1", 36, "is not a job"),
    ],
)
def test_what_cannot_run_again(fairq, words, code, said):
    before = fairq("queue", "--json").out
    ended = fairq(*words.split(), code=code)
    assert said in ended.err
    assert fairq("queue", "--json").out == before


def test_a_constraint_selects_by_the_record_of_the_end(fairq):
    assert (
        fairq("rerun", "--constraint", "ExitCode == 0 && ProcId > 1").out
        == "1 job of cluster 1 runs again as cluster 3\n"
    )
    assert fairq("rerun", "1.3", "1.1-3").out == "3 jobs of cluster 1 run again as cluster 4\n"
