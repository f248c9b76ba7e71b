"""`queue --start`, `why` and dry runs know jobs that wait for others, for a time, or for a limit of their own."""

import json

import pytest

NOW = 1_795_200_000
HOUR = 3600


@pytest.fixture
def fairq(run, state):
    def fairq(*words, now=NOW):
        end = list(words).index("--") if "--" in words else len(words)
        ended = run("--state", state, *words[:end], "--now", now, *words[end:])
        assert ended.code == 0, ended.err
        return ended.out

    fairq("slots", "add", "a", "--count", 2)
    return fairq


def starts(fairq):
    """Hours after now at which each job is likely to start."""
    found = json.loads(fairq("queue", "--start", "--json"))
    hours = {f"{ad['ClusterId']}.{ad['ProcId']}": ad.get("EstimatedStart") for ad in found}
    return {job: None if time is None else round((time - NOW) / HOUR, 1) for job, time in hours.items()}


def submit(fairq, *words):
    fairq("submit", *words, "--", "/bin/true")


def test_starts_follow_the_ends_of_others_times_and_caps(fairq):
    submit(fairq, "--time", "1h", "--count", 2)
    submit(fairq, "--time", "2h", "--after-ok", "1")
    submit(fairq, "--time", "1h", "--begin", "+6h")
    submit(fairq, "--time", "1h", "--count", 3, "--max-running", 1, "--priority", "-1")
    submit(fairq, "--after-failed", "2")
    submit(fairq, "--after", "2.0,4")
    submit(fairq, "--after", "3")
    fairq("hold", "3")
    fairq("negotiate")
    assert starts(fairq) == {"2.0": 1, "4.0": 1, "4.1": 2, "4.2": 3, "5.0": None, "6.0": 4, "7.0": None}
    fairq("release", "3")
    assert starts(fairq)["3.0"] == 6
    assert starts(fairq)["7.0"] == 7
    why = json.loads(fairq("why", "6", "--json"))
    assert (why["reason"], why["start"]["start_time"]) == ("waiting", NOW + 4 * HOUR)
    assert fairq("why", "5").rstrip() == (
        "Job 5.0 is in no cycle yet, because it waits: after_failed 2. "
        "It has no estimated start, because estimates take all jobs to succeed."
    )
    assert "its limit of 1 running" in fairq("why", "4.2")
    assert "all jobs that others wait for succeed" in fairq("why", "4.2")


def test_nodes_of_a_category_start_as_it_has_room(fairq, tmp_path):
    (tmp_path / "n.sub").write_text("executable = /bin/true\nallowed_execute_duration = 3600\nqueue\n")
    nodes = "".join(f"JOB {name} {tmp_path}/n.sub\n" for name in "ABC")
    (tmp_path / "x.dag").write_text(f"{nodes}CATEGORY ALL_NODES big\nMAXJOBS big 1\nPRIORITY C 3\n")
    fairq("submit", tmp_path / "x.dag")
    fairq("negotiate")
    assert starts(fairq) == {"2.0": 2, "3.0": 1}


def test_a_dry_run_counts_a_job_whose_time_has_come_and_changes_nothing(fairq):
    submit(fairq, "--begin", "+1h")
    later = NOW + HOUR
    assert json.loads(fairq("negotiate", "--dry-run", "--json", now=NOW + 60))["matches"] == []
    assert [match["job"] for match in json.loads(fairq("negotiate", "--dry-run", "--json", now=later))["matches"]] == [
        "1.0"
    ]
    assert "WaitsFor" in json.loads(fairq("queue", "--json", now=later))[0]
