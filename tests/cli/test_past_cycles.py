"""What a cycle decided can be read afterwards, for as many cycles as the settings say."""

import json
import sqlite3
from contextlib import closing

import pytest

from fairq.state.schema import guards

NOW = 1_795_210_080


@pytest.fixture
def pool(run, state, monkeypatch):
    """Two slots; ann wants three, and ben one on a machine that is not there."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_DECISIONS_KEPT", "2")
    run("--state", state, "slots", "add", "m", "--cpus", 1, "--memory", 1000, "--count", 2, "--now", NOW)
    for user, count, more in (("ann", 3, ()), ("ben", 1, ("--requirements", 'Arch == "ARM"'))):
        words = ["submit", "--count", count, "--accounting-group-user", user, *more, "--now", NOW, "--", "/bin/true"]
        done = run("--state", state, *words)
        assert done.code == 0, done.err
    return state


def negotiate(run, state, now, *words):
    done = run("--state", state, "negotiate", "--now", now, "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_stored_cycle_says_what_negotiate_said(pool, run):
    """Demanded, entitled, given and refused, and with --explain the slots lost to each test."""
    printed = negotiate(run, pool, NOW, "--explain")
    stored = json.loads(run("--state", pool, "state", "cycle", "--json").out)
    for name in printed.keys() - {"matches"}:
        assert stored[name] == printed[name]
    kept = ("assigned", "submitter", "slot", "reason", "preempted")
    assert [[match[name] for name in kept] for match in stored["matches"]] == [
        [match[name] for name in kept] for match in printed["matches"]
    ]
    (lost,) = (rejection["lost"] for rejection in stored["explanation"] if rejection["submitter"] == "ben@x")
    assert lost["job_requirements"] == 2
    table = run("--state", pool, "state", "cycle", 1).out
    assert table == run("--state", pool, "state", "cycle").out
    assert "Slots lost to each test" in table and "Refused" in table


def test_old_decisions_are_forgotten_and_matches_are_not(pool, run):
    """Of three cycles the last two are kept whole; that the first took place, and its matches, stay."""
    for number in range(3):
        negotiate(run, pool, NOW + 60 * number)
    listed = json.loads(run("--state", pool, "state", "cycles", "--json").out)
    assert [(record["cycle"], record["time"], record["matches"], record["kept"]) for record in listed] == [
        (1, NOW, 2, False), (2, NOW + 60, 0, True), (3, NOW + 120, 0, True),
    ]  # fmt: skip
    assert len(json.loads(run("--state", pool, "state", "cycles", "--limit", 2, "--json").out)) == 2
    first = run("--state", pool, "state", "cycle", 1)
    assert first.err == "the decision of cycle 1 has been pruned; only its matches remain\n"
    assert first.out.count("no-preemption") == 2 and first.out.startswith("Matches\n")
    document = json.loads(run("--state", pool, "state", "cycle", 1, "--json").out)
    assert document.keys() == {"cycle", "time", "rules", "matches"}
    assert run("--state", pool, "state", "check").code == 0


def test_what_was_there_is_never_changed(pool, run):
    """A decision may be forgotten, not rewritten."""
    negotiate(run, pool, NOW)
    with closing(sqlite3.connect(pool)) as opened:
        guards.register(opened)
        for change in ("decision = '{\"pie\": 1}'", "time = 0", "number = 7, decision = '{}'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                opened.execute(f"UPDATE cycle SET {change}")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            opened.execute("DELETE FROM cycle")


@pytest.mark.parametrize(("words", "known"), [((), "there was none yet"), ((9,), "there was none yet")])
def test_no_such_cycle(words, known, run, state):
    done = run("state", "cycle", *words)
    assert done.code == 62
    assert done.err == f"fairq: there is no negotiation cycle{' 9' if words else ''}; {known}\n"
