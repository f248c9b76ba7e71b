"""Copies of the state for people who may not open it."""

import os
import sqlite3
from contextlib import closing

import pytest

from fairq.cli.app import main
from fairq.state import job_events, jobs
from fairq.state.connection import reading, writing
from fairq.state.location import Elsewhere, read_elsewhere
from fairq.state.readers_copy import copy_for, public_copy, publish, time_of, withdraw
from fairq.state.schema import guards

NOW = 1_795_200_000
SECRETS = ("sec-arg", "sec-var", "sec-reason", "sec-out")


def fairq(state, *words):
    assert main(["--state", str(state), "-q", *map(str, words)]) == 0


@pytest.fixture
def pool(state):
    """Ann has cluster 1, with secrets in the queue, among the removed jobs and in the history; bob has cluster 2."""
    hidden = ("--environment", "A=sec-var", "--output", "sec-out.$(Process)", "--", "/bin/echo", "sec-arg")
    for count in (5, 2):
        fairq(state, "submit", "--count", count, "--now", NOW, *hidden)
    with writing(state) as opened:
        for cluster, user, last in ((1, "ann", 4), (2, "bob", 1)):
            jobs.change(opened, "", cluster, 0, last, owner=user, submitter=f"{user}@lab")
        opened.connection.execute("DROP TRIGGER history_no_update")
        opened.connection.execute("UPDATE history SET user = 'ann' WHERE subject = 'job 1'")
        opened.connection.execute("UPDATE history SET user = 'bob' WHERE subject = 'job 2'")
        opened.connection.execute("UPDATE undo SET user = 'ann'")
    for verb in ("hold", "remove"):
        fairq(state, verb, "1.0" if verb == "hold" else "1.1", "--reason", "sec-reason", "--now", NOW + 1)
    return state


def test_a_copy_is_made_again_only_after_a_change(pool):
    os.utime(pool, ns=(1, 5_000_000_000))
    first = publish(pool)
    assert first == public_copy(pool)
    assert (time_of(first), first.stat().st_mode & 0o777) == (time_of(pool), 0o644)
    same = first.stat().st_ino
    assert publish(pool) == first
    assert first.stat().st_ino == same
    fairq(pool, "prio", 7, "1.2", "--now", NOW + 2)
    publish(pool)
    assert first.stat().st_ino != same
    with reading(first) as opened:
        assert [job.priority for job in jobs.select(opened, cluster=1, proc=2)] == [7]


def test_a_copy_made_in_the_instant_of_a_change_counts_only_once(pool, monkeypatch):
    monkeypatch.setattr("fairq.state.readers_copy._TICK", 1e9)
    monkeypatch.setattr("time.sleep", lambda _: None)
    copy = publish(pool)
    assert copy is not None
    assert time_of(copy) != time_of(pool)


def test_copies_can_be_withdrawn(pool):
    copy = publish(pool)
    assert copy is not None
    withdraw(pool)
    assert not copy.exists()


def test_what_is_private_is_not_in_the_copy_of_others(pool):
    complete, _ = copy_for(pool, None)
    others, _ = copy_for(pool, "eve")
    own, _ = copy_for(pool, "ann")
    assert all(secret.encode() in complete and secret.encode() in own for secret in SECRETS)
    assert [secret for secret in SECRETS if secret.encode() in others] == []


def test_others_jobs_keep_what_matchmaking_needs(pool, tmp_path):
    copy = tmp_path / "copy.db"
    copy.write_bytes(copy_for(pool, "bob")[0])
    with reading(copy) as opened:
        (ann,) = jobs.select(opened, cluster=1, proc=3)
        (bob,) = jobs.select(opened, cluster=2, proc=0)
        from fairq.state.job_ads import ads

        shown = ads(opened, [ann.ad_id, bob.ad_id])
        assert not job_events.of_job(opened, 1)
    assert ann.ad_id != bob.ad_id
    assert {"RequestCpus", "Requirements", "JobUniverse"} <= shown[ann.ad_id].keys()
    assert not {"Cmd", "Arguments", "Iwd", "Environment", "Out"} & shown[ann.ad_id].keys()
    assert shown[bob.ad_id]["Arguments"] == "sec-arg"
    with closing(sqlite3.connect(copy)) as opened_again:
        guards.register(opened_again)
        assert opened_again.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


HIDDEN = {
    "job", "job_ad", "ended_job", "history", "undo", "request", "job_event", "launch", "job_kind",
    "job_need",
}  # fmt: skip
"""Tables with texts of users about their jobs, which `fairq.state.readers_copy` hides from others."""

PUBLIC = {
    "job_wait", "job_after", "job_cap",
    "meta", "submitter", "slot", "claim", "claim_terms", "run", "cycle", "match", "dynamic_slot", "task_queue",
    "share_group", "usage_report", "pilot_slot", "matching_delay", "slot_columns", "usage", "usage_edit",
    "job_ad_kind", "queue_need", "need_value",
}  # fmt: skip


def test_every_table_is_known_to_hide_or_to_show(pool):
    """A new table, or a new text of a table, must be looked at: does it hold what private_jobs keeps from others?"""
    with reading(pool) as opened:
        tables = {name for (name,) in opened.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        texts = {
            table: [row[1] for row in opened.connection.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"]
            for table in HIDDEN
        }
    assert {name for name in tables if not name.startswith(("broker_", "sqlite_"))} == HIDDEN | PUBLIC
    assert texts == {
        "job": ["schedd", "own", "template", "submitter", "owner", "reason"],
        "job_ad": ["ad"],
        "ended_job": ["schedd", "own", "template", "submitter", "owner", "slot", "reason", "hold_reason"],
        "history": ["user", "command", "subject", "before", "after", "reason"],
        "undo": ["user", "kind", "data"],
        "request": ["id", "attempt", "user"],
        "job_kind": ["content"],
        "job_event": ["schedd", "body", "log"],
        "launch": [
            "name", "launcher", "schedd", "slot", "phase", "boot", "after", "cores", "ordered", "ended", "output",
            "error", "engine_id", "reason",
        ],
        "job_need": ["owner", "priorities"],
    }  # fmt: skip


def test_a_state_that_is_read_elsewhere_is_not_changed(pool):
    class NotHereError(Exception):
        """Nothing is changed here."""

    copy = publish(pool)
    assert copy is not None
    read_elsewhere(pool, Elsewhere(lambda: copy, NotHereError))  # type: ignore[arg-type]
    try:
        with reading(pool) as opened:
            assert jobs.select(opened, cluster=1)
            assert opened.path == pool
        with pytest.raises(NotHereError), writing(pool):
            pass
    finally:
        read_elsewhere(pool, None)
