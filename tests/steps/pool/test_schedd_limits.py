"""MaxJobsRunning of a schedd bounds what its jobs get, in cycles, explanations and forecasts."""

import json
from collections import Counter

import pytest
from tests.steps.import_cases import NOW, claimed, dump, job, slot

FIRST, SECOND = "s1.example.org", "s2.example.org"


def at(schedd, cluster, count, owner, **more):
    who = {"Owner": owner, "User": f"{owner}@example.org", "Requirements": True}
    return [job(cluster, n, GlobalJobId=f"{schedd}#{cluster}.{n}#1", **who, **more) for n in range(count)]


def schedd(name, most, kind="Scheduler"):
    if kind == "Submitter":
        return {"MyType": kind, "Name": "ann@example.org", "ScheddName": name, "MaxJobsRunning": most}
    return {"MyType": kind, "Name": name, "MaxJobsRunning": most}


@pytest.fixture
def fairq(run, state, tmp_path):
    """Import ads by the kind of their dump, or run a command."""

    def fairq(*words, **ads):
        for name, found in ads.items():
            words += (f"--{name}", dump(tmp_path, f"{name}.json", *found))
        now = () if words[0] == "config" else ("--now", NOW)
        ended = run("--state", state, *words, *now)
        assert ended.code == 0, ended.err
        return json.loads(ended.out) if "--json" in words else ended

    return fairq


def got(found):
    return Counter(match["submitter"].partition("@")[0] for match in found["matches"])


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
@pytest.mark.parametrize("kind", ["Scheduler", "Submitter"])
@pytest.mark.parametrize("among_slots", [False, True])
def test_a_schedd_gets_no_more(fairq, rules, kind, among_slots):
    """Two users share what one schedd may run, also in the last dealing; the other schedd has no maximum."""
    slots = [slot(f"slot1@m{n}") for n in range(12)]
    told = [schedd(FIRST, 3, kind), schedd("unknown.example.org", 1, kind)]
    jobs = [*at(FIRST, 1, 9, "ann"), *at(FIRST, 2, 9, "bob"), *at(SECOND, 3, 9, "cyd")]
    fairq("config", "set", "negotiator.rules", rules)
    more = {"slots": [*slots, *told]} if among_slots else {"slots": slots, "schedds": told}
    assert "MaxJobsRunning" in fairq("import", jobs=jobs, **more).err
    found = fairq("negotiate", "--json", "--dry-run")
    users = got(found)
    assert users["ann"] + users["bob"] == 3
    assert users["cyd"] >= (9 if rules == "documented" else 4)
    assert {one["stopped"] for one in found["submitters"] if one["schedd"] == FIRST} == {
        "MaxJobsRunning of the schedd reached"
    }
    why = fairq("why", "1.8").out
    assert "MaxJobsRunning = 3" in why


@pytest.mark.parametrize(("most", "matched"), [(0, 0), (1, 0), (2, 0), (4, 2), (99, 8)])
def test_running_jobs_count(fairq, most, matched):
    """A pool with one schedd, whose jobs need not name it: two run, eight wait for eight free slots."""
    busy = [claimed(f"slot1@b{n}", "ann@example.org", f"1.{n}") for n in range(2)]
    running = [job(1, n, JobStatus=2, Requirements=True) for n in range(2)]
    waiting = [job(2, n, Requirements=True) for n in range(8)]
    free = [slot(f"slot1@m{n}") for n in range(8)]
    fairq("import", slots=[*busy, *free], jobs=[*running, *waiting], schedds=[schedd(FIRST, most)])
    assert len(fairq("negotiate", "--json")["matches"]) == matched
    assert fairq("negotiate", "--json")["matches"] == []


def test_without_a_number_there_is_no_maximum(fairq):
    fairq(
        "import",
        slots=[slot(f"slot1@m{n}") for n in range(3)],
        jobs=at(FIRST, 1, 3, "ann"),
        schedds=[{"MyType": "Scheduler", "Name": FIRST}, schedd(SECOND, -1)],
    )
    assert got(fairq("negotiate", "--json")) == {"ann": 3}
