"""``fairq prio --top``: a job before all other jobs of its submitter."""

import json

import pytest


@pytest.fixture
def at(run, state):
    return lambda *words: run("--state", state, *words)


def priorities(at):
    return {f"{ad['ClusterId']}.{ad['ProcId']}": ad["JobPrio"] for ad in json.loads(at("queue", "--json").out)}


def test_a_job_moves_ahead_of_the_others_of_its_submitter_alone(at):
    at("submit", "--count", 2, "--priority", 5, "--", "/bin/true")
    at("submit", "--count", 3, "--", "/bin/true")
    at("submit", "--accounting-group", "g", "--priority", 70, "--", "/bin/true")
    at("hold", "1.1")
    at("prio", 9, "1.1")
    assert at("prio", "--top", "2.1").out == "Job 2.1 moved ahead of the submitter's other jobs\n"
    assert priorities(at) == {"1.0": 5, "1.1": 9, "2.0": 0, "2.1": 10, "2.2": 0, "3.0": 70}
    at("prio", "--top", "2.1")
    assert priorities(at)["2.1"] == 10, "it is ahead already"


def test_the_moved_jobs_keep_their_own_order(at):
    at("submit", "--count", 4, "--", "/bin/true")
    at("prio", 3, "1.3")
    at("prio", 4, "1.0")
    assert at("prio", "--top", "1.2-3", "--dry-run").out.endswith(
        "would be moved ahead of the submitter's other jobs\n"
    )
    at("prio", "--top", "1.2-3")
    assert priorities(at) == {"1.0": 4, "1.1": 0, "1.2": 5, "1.3": 8}


@pytest.mark.parametrize(
    "words", [("prio", "--top"), ("prio", "--top", "--by", "3", "1"), ("prio", "--top", "-p", "3", "1")]
)
def test_what_cannot_be_meant_is_refused(at, words):
    at("submit", "--", "/bin/true")
    assert at(*words).code == 2
