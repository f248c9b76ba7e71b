"""Expressions that do not return, or take all memory, end without harm to anybody else."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes.live import NOW, start

from fairq.engine.classad.budget import Ending
from fairq.steps.evaluation.guard import guarded

SQUARED = {f"C{n}": f'/Expr(replaceAll("x", C{n - 1}, C{n - 1}))/' for n in range(1, 8)} | {"C0": "x" * 10}
DOUBLED = {f"A{n}": f"/Expr(A{n - 1} + A{n - 1})/" for n in range(1, 61)} | {"A0": 1}
HOSTILE = {
    "pattern": ({"S": "a" * 40}, 'regexp("^(a+)+$", strcat(S, Name))', "budget of the job"),
    "doubling": (DOUBLED, "A60 > size(Name)", "budget of the job"),
    "memory": (SQUARED, "size(C7) > size(Name)", "memory"),
    "crash": ({}, "countMatches(true, split(Name)) >= 0", "the ClassAd library ended"),
    "selecting": ({}, "split(Name).x =?= 1", "the ClassAd library ended"),
}
"""What a job has, its Requirements, and what these use up."""


def fill(run, state, attributes, requirements, slots=300):
    """Fill *state* with slots, 20 jobs of alice, and 2 hostile ones of mallory."""
    job = {"JobStatus": 1, "QDate": NOW - 60, "RequestMemory": 10}
    fits = "TARGET.Memory >= RequestMemory"
    ads = [{**job, "ClusterId": 1, "ProcId": n, "Owner": "alice", "Requirements": f"/Expr({fits})/"} for n in range(20)]
    bad = {**job, **attributes, "Owner": "mallory", "Requirements": f"/Expr({requirements})/"}
    ads += [{**bad, "ClusterId": 2, "ProcId": n} for n in range(2)]
    pool = [
        {"Name": f"slot{n}@host", "Memory": 100, "Requirements": "/Expr(TARGET.RequestMemory <= Memory)/"}
        for n in range(slots)
    ]
    for name, content in (("slots", pool), ("jobs", ads)):
        (state.parent / f"{name}.json").write_text(json.dumps(content))
    files = ["--slots", state.parent / "slots.json", "--jobs", state.parent / "jobs.json"]
    assert run("--state", state, "import", *files, "--now", NOW).code == 0


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    """Let nobody wait."""
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_EVALUATION_BUDGET", "0.5")
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")


def ends_the_library(expression):
    """Tell whether evaluating *expression* ends the process: not with every version of the library."""
    code = """
import sys
import htcondor2
import classad2
ad = classad2.ClassAd({"Name": "slot1@host"})
classad2.ExprTree(sys.argv[1]).eval(ad)
"""
    return subprocess.run([sys.executable, "-c", code, expression], check=False).returncode < 0


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_cycle_goes_on_and_names_the_expression(kind, fairq, run, state, monkeypatch):
    """
    The others' jobs are matched; the decision, its record and `why` tell which expression took too long.
    """
    attributes, requirements, limit = HOSTILE[kind]
    if limit == "the ClassAd library ended" and not ends_the_library(requirements):
        pytest.skip("this version of the ClassAd library evaluates it")
    if limit == "memory":
        monkeypatch.setenv("FAIRQ_NEGOTIATOR_EVALUATION_BUDGET", "60")
    fill(run, state, attributes, requirements)

    decision = json.loads(fairq("--state", state, "negotiate", "--json", "--now", NOW).out)
    record = json.loads(run("--state", state, "state", "cycle", 1, "--json").out)
    why = fairq("--state", state, "why", "2.0", "--now", NOW).out

    assert {match["submitter"] for match in decision["matches"]} == {"alice@example.org"}
    assert len(decision["matches"]) == 20
    (overrun,) = decision["overruns"]
    assert (overrun["submitter"], overrun["name"]) == ("mallory@example.org", "requirements")
    assert (overrun["expression"], overrun["job"], overrun["limit"]) == (requirements, "2.0", limit)
    assert record["overruns"] == decision["overruns"]
    assert "requirements took too long to evaluate" in why
    assert requirements in why


def test_the_table_of_a_cycle_names_the_expression(run, state):
    """
    Whoever reads what cron mails sees it.
    """
    attributes, requirements, _ = HOSTILE["pattern"]
    fill(run, state, attributes, requirements)

    shown = run("--state", state, "negotiate", "--now", NOW).out

    assert "Expressions that exceeded their time limit (count as errors)" in shown
    assert requirements in shown


@pytest.mark.parametrize(
    "setting", ["NEGOTIATOR_PRE_JOB_RANK", "NEGOTIATOR_POST_JOB_RANK", "SLOT_WEIGHT", "NEGOTIATOR_SLOT_CONSTRAINT"]
)
def test_an_expression_of_the_settings_is_named(setting, run, state, monkeypatch):
    """
    It has a budget, too, whatever job or slot it is evaluated for.
    """
    hostile = f'regexp("^(a+)+$", strcat("{"a" * 40}", Name))'
    monkeypatch.setenv(f"FAIRQ_NEGOTIATOR_{setting}", hostile)
    fill(run, state, {}, "true")

    decision = json.loads(run("--state", state, "negotiate", "--json", "--now", NOW).out)

    assert setting in {overrun["name"] for overrun in decision["overruns"]}


def test_one_slot_does_not_keep_jobs_from_the_others(run, fairq, state):
    """
    A START that does not return keeps that slot alone from being matched.
    """
    fill(run, state, {}, "true", slots=30)
    bad = {"Name": "slot0@host", "Memory": 100, "Requirements": "/Expr(START)/", "START": "/Expr(size(C7) > 1)/"}
    pool = [{**bad, **SQUARED}, *json.loads((state.parent / "slots.json").read_text())[1:]]
    (state.parent / "slots.json").write_text(json.dumps(pool))
    assert run("--state", state, "import", "--slots", state.parent / "slots.json", "--now", NOW).code == 0

    decision = json.loads(fairq("--state", state, "negotiate", "--json", "--now", NOW).out)

    assert len(decision["matches"]) == 22
    assert "slot0@host" not in {match["slot"] for match in decision["matches"]}
    assert decision["overruns"]
    assert all(overrun["of_slots"] for overrun in decision["overruns"])


@pytest.mark.parametrize(
    "words",
    [
        ("queue", "--constraint", "size(C7) > 1"),
        ("queue", "--af", "ClusterId", "C7"),
        ("queue", "--af", "strcat(C7, C7)"),
        ("hold", "--constraint", "size(C7) > 1"),
        ("slots", "--constraint", 'regexp("^(a+)+$", strcat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Name))'),
    ],
)
def test_a_listing_ends_with_an_error_of_its_own(words, fairq, run, state):
    """
    The error names the expression and the setting.
    """
    fill(run, state, SQUARED, "true")

    ended = fairq("--state", state, *words)

    assert ended.code == 22
    assert words[-1] in ended.err
    assert "negotiator.evaluation_budget" in ended.err


def children(process):
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_nothing_outlives_a_cycle_that_is_killed(run, state, monkeypatch):
    """
    The process that evaluates ends with its parent, and the next cycle finds nobody in its way.
    """
    attributes, requirements, _ = HOSTILE["pattern"]
    fill(run, state, attributes, requirements)
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_EVALUATION_BUDGET", "600")
    cycle = start(state, "negotiate", "--now", NOW)
    while not (found := children(cycle.pid)):
        assert cycle.poll() is None
        time.sleep(0.01)

    cycle.kill()
    cycle.communicate()

    while any(Path(f"/proc/{child}").exists() for child in found):
        time.sleep(0.01)
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_EVALUATION_BUDGET", "0.5")
    assert run("--state", state, "negotiate", "--now", NOW).code == 0


def test_the_state_stays_locked_while_and_after_something_is_guarded(tmp_path):
    """
    The child shares the parent's files; neither its work nor its end lets go of the lock.
    """
    path = tmp_path / "some.db"
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("CREATE TABLE some (one)")
    held.execute("BEGIN IMMEDIATE")
    held.execute("INSERT INTO some VALUES (1)")

    assert guarded(lambda: iter([1, "two"]), 5.0).results == [1, "two"]

    script = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr
    held.execute("COMMIT")
    assert held.execute("SELECT * FROM some").fetchall() == [(1,)]
    held.close()


def test_work_is_ended_by_the_kernel_whatever_it_does():
    """
    What it yielded before stands.
    """

    def spins():
        yield 1
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
        while True:
            pass

    def takes_memory():
        yield 1
        yield len(bytearray(2**32))

    def crashes():
        yield 1
        os.kill(os.getpid(), signal.SIGTRAP)

    def fails():
        yield 1
        raise ValueError

    def tells_too_much():
        while True:
            yield "x" * 2**20

    endings = {work.__name__: guarded(work, 20.0) for work in (takes_memory, crashes, fails, tells_too_much)}
    endings["spins"] = guarded(spins, 0.2)

    assert {name: of.ending for name, of in endings.items()} == {
        "spins": Ending.TIME,
        "takes_memory": Ending.MEMORY,
        "crashes": Ending.CRASH,
        "fails": Ending.CRASH,
        "tells_too_much": Ending.MEMORY,
    }
    assert all(of.results[0] == 1 for name, of in endings.items() if name != "tells_too_much")


def test_two_hundred_hostile_kinds_of_jobs_cost_no_more_than_a_few(run, state):
    """
    One submitter gets twice the budget of one kind; the rest of its kinds wait, and the others are matched.
    """
    attributes, requirements, _ = HOSTILE["pattern"]
    fill(run, state, attributes, requirements)
    ads = json.loads((state.parent / "jobs.json").read_text())
    ads += [{**ads[-1], "ClusterId": 3 + n, "S": "a" * (41 + n)} for n in range(199)]
    (state.parent / "jobs.json").write_text(json.dumps(ads))
    assert run("--state", state, "import", "--jobs", state.parent / "jobs.json", "--now", NOW).code == 0

    decision = json.loads(run("--state", state, "negotiate", "--json", "--now", NOW).out)

    assert len(decision["matches"]) == 20
    assert len(decision["overruns"]) == 200
    assert sum(overrun["seconds"] for overrun in decision["overruns"]) < 3 * 0.5
