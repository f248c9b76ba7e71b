"""``fairq status``, and the queue of one user."""

import json

import pytest

NOW = 1_795_000_000


@pytest.fixture
def fairq(run, state, monkeypatch):
    """Two slots; anna has one and waits for more, bert has one, carl's job is held."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended

    fairq("slots", "add", "node", "--count", "2", "--now", NOW)
    for name, count in (("anna", 4), ("bert", 1), ("carl", 1)):
        fairq("submit", "--count", count, "--accounting-group-user", name, "--now", NOW, "--", "/bin/true")
    fairq("hold", "3", "--now", NOW)
    fairq("negotiate", "--now", NOW + 60)
    return fairq


def test_a_screenful_says_how_the_pool_stands(fairq):
    lines = fairq("status", "--now", NOW + 360).out.splitlines()
    assert lines[1:4] == [
        "Slots       2 slots; weight 2.00 of 2.00 in use (100.0%)",
        "Jobs        3 idle, 2 running, 1 held",
        lines[3],
    ]
    assert lines[3].startswith("Last cycle  1, 5m ago (")
    assert lines[3].endswith("): 2 matches")
    assert [line.split()[0] for line in lines[-4:]] == ["SUBMITTER", "anna@x", "bert@x", "carl@x"]
    assert lines[-3].split()[1:7] == ["3", "1", "0", "1.00", "1.00", "50.0%"]


def test_the_document_has_all_of_it(fairq):
    found = json.loads(fairq("status", "--limit", "1", "--now", NOW + 360, "--json").out)
    assert (found["idle"], found["running"], found["held"], found["cycle_time"]) == (3, 2, 1, NOW + 60)
    assert [submitter["submitter"] for submitter in found["submitters"]] == ["anna@x", "bert@x", "carl@x"]


def test_an_empty_pool_has_a_status_too(run):
    ended = run("status")
    assert ended.code == 0
    assert "Last cycle  none; 'fairq negotiate' holds one" in ended.out


def test_the_queue_of_one_user(fairq):
    assert {ad["ClusterId"] for ad in json.loads(fairq("queue", "--user", "bert@x", "--json").out)} == {2}
    assert {ad["ClusterId"] for ad in json.loads(fairq("queue", "--mine", "--json").out)} == {1, 2, 3}
    assert fairq("queue", "-user", "nobody").out.startswith("0 jobs")


def test_nothing_is_watched_without_a_terminal(run, state):
    for words in (["status", "--watch"], ["slots", "--watch", "5"], ["taskqueues", "--watch=2m"]):
        ended = run("--state", state, *words)
        assert ended.code == 2
        assert "--watch needs a terminal" in ended.err
    assert "give 1 second or more" in run("--state", state, "queue", "--watch", "0").err
