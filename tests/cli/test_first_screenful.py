"""With --limit, a large pool is not read as a whole, and what is shown is the beginning of the whole listing."""

import json

import pytest

NOW = 1_795_000_000


@pytest.fixture
def pool(run, state, made_once):
    """Six slots of two platforms, one of them in use by a job elsewhere; ten jobs of two clusters, three matched."""
    slots = [
        {"Name": f"slot1@n{n}", "OpSys": ("LINUX", "macOS")[n % 2], "Memory": 1000, "Requirements": n < 3, "Cpus": 1}
        for n in range(5)
    ]
    slots.append({"Name": "slot1@used", "State": "Claimed", "RemoteUser": "eve@x", "Arch": "ARM"})
    jobs = [
        {"ClusterId": c, "ProcId": p, "JobStatus": s, "User": f"{u}@example.org", "Requirements": True, "Cmd": f"/x{u}"}
        for c, u, s in ((1, "ann", 1), (2, "bob", 1), (3, "bob", 5))
        for p in range(4)
    ]

    def filled(folder):
        for name, ads in (("slots.json", slots), ("jobs.json", jobs)):
            (folder / name).write_text(json.dumps(ads))
        words = ["--slots", folder / "slots.json", "--jobs", folder / "jobs.json", "--now", NOW]
        assert run("--state", folder / state.name, "import", *words).code == 0
        assert run("--state", folder / state.name, "negotiate", "--now", NOW).code == 0

    made_once(filled)
    return state


@pytest.mark.parametrize("words", [["queue"], ["queue", "--procs"], ["queue", "-idle", "-hold"], ["slots"]])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_the_first_lines_are_those_of_the_whole_listing(pool, run, words, limit):
    at = ("--now", NOW + 60)
    whole = run("--state", pool, *words, "--json", *at).out
    first = run("--state", pool, *words, "--limit", limit, "--json", *at).out

    assert json.loads(first) == json.loads(whole)[:limit]


@pytest.mark.parametrize("words", [["queue"], ["queue", "-held"], ["queue", "-run"], ["slots"]])
def test_what_is_counted_below_is_all(pool, run, words):
    whole = run("--state", pool, *words, "--now", NOW).out.rpartition("\n\n")[2]
    first = run("--state", pool, *words, "--limit", 1, "--now", NOW).out.rpartition("\n\n")[2]

    assert first == whole


@pytest.mark.parametrize("change", [("drain", "slot1@n0"), ("drain", "slot1@used"), ("add", "big", "--partitionable")])
def test_slots_that_are_not_as_advertised_are_shown_as_they_are(pool, run, change):
    assert run("--state", pool, "slots", *change, "--now", NOW).code == 0

    whole = run("--state", pool, "slots", "--now", NOW).out
    first = run("--state", pool, "slots", "--limit", 1000, "--now", NOW).out

    assert first == whole


def test_a_constraint_is_tested_before_the_first_are_taken(pool, run):
    words = ("slots", "--constraint", 'OpSys == "macOS"', "--limit", 1, "--af", "Name", "--now", NOW)

    assert run("--state", pool, *words).out == "slot1@n1\n"
