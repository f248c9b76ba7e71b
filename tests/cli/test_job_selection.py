"""The options that select jobs mean the same for all commands that change them."""

import json

import pytest

NOW = 1_795_200_000


@pytest.fixture
def fairq(run, state, made_once):
    """A pool: cluster 1 (batch sweep) of four jobs, two of them held, 2 of anna, 3 submitted a day later."""

    def fairq(*words, now=NOW, at=state):
        end = list(words).index("--") if "--" in words else len(words)
        return run("--state", at, *words[:end], "--now", now, *words[end:])

    def filled(folder):
        made = folder / state.name
        fairq("submit", "--count", 4, "--name", "sweep", "--", "/bin/true", at=made)
        fairq("submit", "--accounting-group-user", "anna", "--name", "Sweep", "--", "/bin/true", at=made)
        fairq("submit", "--begin", "+3d", "--", "/bin/true", now=NOW + 86_400, at=made)
        fairq("hold", "1.0", "1.2", at=made)

    made_once(filled)
    return fairq


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--idle", ["1.1", "1.3", "2.0", "3.0"]),
        ("--held", ["1.0", "1.2"]),
        ("--idle --held --name sweep", ["1.0", "1.1", "1.2", "1.3"]),
        ("--name sweep --idle", ["1.1", "1.3"]),
        ("--name sweep --constraint ProcId>0&&ProcId<3", ["1.1", "1.2"]),
        ("1.1-2 --held", ["1.2"]),
        ("--user anna", ["2.0"]),
        ("1 2 --user anna", ["2.0"]),
        ("--since 2026-11-21", ["3.0"]),
        ("--since 2026-11-21 --all", ["3.0"]),
        ("--all", ["1.0", "1.1", "1.2", "1.3", "2.0", "3.0"]),
    ],
)
@pytest.mark.parametrize("command", ["prio 7", "remove"])
def test_a_selection_means_the_same_for_every_command(fairq, command, words, expected):
    ended = fairq(*command.split(), *words.split())
    assert ended.code == 0, ended.err
    left = {f"{ad['ClusterId']}.{ad['ProcId']}": ad["JobPrio"] for ad in json.loads(fairq("queue", "--json").out)}
    gone = sorted({"1.0", "1.1", "1.2", "1.3", "2.0", "3.0"} - left.keys())
    assert expected == ([job for job, value in left.items() if value == 7] if command == "prio 7" else gone)


def test_the_report_says_what_was_asked_for(fairq):
    assert fairq("hold", "--user", "anna", "--idle").out == "1 job of anna (idle) has been held\n"
    said = fairq("release", "1", "--since", "2026-11-20", "--held", "--dry-run").out
    assert said.startswith("2 jobs in cluster 1 (held, submitted since 2026-11-20")


@pytest.mark.parametrize("command", ["remove", "hold", "prio 1", "release", "finish"])
def test_nothing_selected_is_an_error_with_the_condition(fairq, command):
    ended = fairq(*command.split(), "--running", "--since", "2026-11-20")
    assert ended.code == 35 and "only running, submitted since" in ended.err
    assert fairq(*command.split(), "--name", "none").code == 35
    assert fairq(*command.split()).code == 2


def test_the_name_of_a_pool_is_none_of_a_batch(fairq):
    assert "choose it with --state" in fairq("remove", "-name", "sweep").err
    assert fairq("remove", "-user", "anna").out == "1 job of anna has been removed\n"


def test_queue_and_history_know_batches(fairq):
    def shown(*words):
        return fairq(*words, "--af", "ClusterId").out.split()

    assert shown("queue", "--name", "sweep", "--held") == ["1", "1"]
    assert shown("queue", "--name", "sweep", "--user", "anna") == []
    assert shown("queue", "--since", "2026-11-21") == ["3"]
    fairq("remove", "--name", "Sweep")
    assert shown("history", "--name", "Sweep") == ["2"] and shown("history", "--name", "sweep") == []
