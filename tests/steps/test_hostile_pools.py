"""Pools whose ads and records say absurd things: cycles go on, accounts stay numbers, exports come back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.steps.import_cases import NOW, dump, job, slot, user

OPEN = {"Requirements": "/Expr(true)/", "Memory": 1024}

CYCLE: dict[str, Any] = {"Requirements": "/Expr(First)/", "First": "/Expr(Second)/", "Second": "/Expr(First)/"}


@pytest.fixture
def pool(run, state, tmp_path):
    def pool(slots, jobs, accounting=None):
        words = ["--slots", dump(tmp_path, "slots", *slots), "--jobs", dump(tmp_path, "jobs", *jobs)]
        if accounting is not None:
            words += ["--accounting", dump(tmp_path, "accounting", *accounting)]
        ended = run("--state", state, "import", *words, "--now", NOW)
        assert ended.code == 0, ended.err

    return pool


@pytest.fixture
def cycle(run, state):
    def cycle(now=NOW):
        ended = run("--state", state, "negotiate", "--json", "--now", now)
        assert ended.code == 0
        assert all(line.startswith("no accounting records: ") for line in ended.err.splitlines())
        return [(match["job"], match["slot"]) for match in json.loads(ended.out)["matches"]]

    return cycle


def comes_back(run, state, tmp_path):
    """Export the state, import it into another, and tell whether that exports the same."""
    documents = []
    for source in (state, tmp_path / "copy.db"):
        documents.append(tmp_path / f"{source.name}.json")
        assert run("--state", source, "export", "--output", documents[-1]).code == 0
        assert run("--state", tmp_path / "copy.db", "import", documents[0]).code == 0
    return documents[0].read_bytes() == documents[1].read_bytes()


@pytest.mark.parametrize("rank", ['real("NaN")', 'real("INF")', '-real("INF")', "1/0", "Rank", '"x"', "error", "1e308"])
def test_a_rank_that_is_no_number_stops_nobody(rank, run, state, tmp_path, pool, cycle):
    """Neither a job's nor a machine's; and what was stored can be exported and imported again."""
    expression = f"/Expr({rank})/"
    pool([slot("a", **OPEN), slot("b", Rank=expression, **OPEN)], [job(1, 0, Rank=expression), job(1, 1), job(1, 2)])
    assert sorted(cycle()) in ([("1.0", "a"), ("1.1", "b")], [("1.0", "b"), ("1.1", "a")])
    assert run("--state", state, "state", "check").code == 0
    assert comes_back(run, state, tmp_path)


@pytest.mark.parametrize(
    "requirements",
    [
        "/Expr(undefined)/",
        "/Expr(error)/",
        "/Expr(Requirements)/",
        "/Expr(TARGET.Name)/",
        "/Expr({true})/",
        "/Expr(no_such_function(1))/",
        '/Expr(regexp("(", TARGET.Name))/',
        '/Expr(substr("a", 1/0))/',
        "true",
        None,
        CYCLE,
    ],
)
def test_requirements_that_are_not_true_match_nothing_and_harm_nobody_else(requirements, pool, cycle):
    more = requirements if isinstance(requirements, dict) else {"Requirements": requirements}
    pool([slot("a", **OPEN)], [job(1, 0, JobPrio=9, **more), job(2, 0, Requirements="/Expr(true // for all)/")])
    assert cycle() == [("2.0", "a")]


def test_a_job_without_requirements_matches_nothing(pool, cycle):
    bare = job(1, 0)
    del bare["Requirements"]
    pool([slot("a", **OPEN)], [bare])
    assert cycle() == []


def test_priorities_beyond_all_numbers_leave_the_others_their_shares(run, state, tmp_path, pool, cycle):
    """The product of real priority and factor would be infinite; its owner gets what nobody else wants."""
    pool(
        [slot(name, **OPEN) for name in "abcd"],
        [job(1, n) for n in range(2)] + [job(2, n, Owner="bob", User="bob@example.org") for n in range(3)],
        [user("bob@example.org", Priority=1e308, PriorityFactor=1e300), user("alice@example.org")],
    )
    assert [job for job, _ in cycle()] == ["1.0", "1.1", "2.0", "2.1"]
    ended = run("--state", state, "userprio", "--allusers", "--json", "--now", NOW)
    priorities = {entry["Name"]: entry["Priority"] for entry in json.loads(ended.out)}
    assert 1000.0 == priorities["alice@example.org"] < priorities["bob@example.org"] < float("inf")
    assert comes_back(run, state, tmp_path)


def test_no_slots_no_jobs_or_neither_is_no_error(pool, cycle):
    for slots in ([], [slot("a", **OPEN)]):
        for jobs in ([], [job(1, 0)]):
            pool(slots, jobs)
            assert len(cycle()) == min(len(slots), len(jobs))


def test_a_pool_that_is_all_draining_matches_nothing_until_one_takes_jobs_again(run, state, pool, cycle):
    pool([slot("a", **OPEN), slot("b", **OPEN)], [job(1, n) for n in range(3)])
    assert run("--state", state, "slots", "drain", "a", "b").code == 0
    assert cycle() == []
    assert run("--state", state, "slots", "drain", "--cancel", "b").code == 0
    assert cycle() == [("1.0", "b")]


@pytest.mark.parametrize("owner", ["o'brien", 'a"b', "müller", "<none>", "a,b;c", "-x", "1.0", "группа", "x" * 200])
def test_odd_names_go_all_the_way(owner, run, state, tmp_path, pool, cycle):
    pool([slot("a", **OPEN)], [job(1, 0, Owner=owner, User=f"{owner}@example.org")])
    name = f"{owner}@example.org"
    assert cycle() == [("1.0", "a")]
    assert cycle(NOW + 3600) == []
    ended = run("--state", state, "userprio", "--json", "--now", NOW + 3600, "--constraint", "!IsAccountingGroup")
    assert [entry["Name"] for entry in json.loads(ended.out)] == [name]
    assert run("--state", state, "userprio", "--setfactor", name, "5").code == 0
    assert run("--state", state, "userprio", "--getreslist", name).out.count("a  ") == 1
    assert run("--state", state, "state", "history", "--subject", name, "--json").out.count('"user": ') == 1
    assert comes_back(run, state, tmp_path)
    assert run("--state", state, "remove", "1.0", "--now", NOW + 3600).code == 0
    assert run("--state", state, "userprio", "--delete", name).code == 0


def test_the_largest_job_there_is_can_be_named(run, state, pool, cycle):
    pool([slot("a", **OPEN)], [job(2**31 - 1, proc, Requirements="/Expr(true)/") for proc in (0, 2**31 - 1)])
    assert cycle() == [("2147483647.0", "a")]
    assert run("--state", state, "queue", "2147483647", "--af:j", "JobStatus").out.split()[1::2] == ["2", "1"]
    assert run("--state", state, "remove", "2147483647.2147483647").code == 0
    assert run("--state", state, "finish", "2147483647.0-2147483647.2147483647").code == 0
