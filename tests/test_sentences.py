"""Sentences agree with their numbers, have no more digits than a reader needs, and propose nothing that was typed."""

import pytest

from fairq.cli.broker.sentences.reasons import change_of
from fairq.common.quantities import counted, rounded
from fairq.engine.explain.pieces import TooLarge
from fairq.settings.names import unknown, unknown_section
from fairq.steps.why.advice import too_large_sentence
from fairq.steps.why.idle_job import free_sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.0, "3"),
        (11.7695, "11.8"),
        (0.529411, "0.529"),
        (1234.56, "1235"),
        (-0.2265, "-0.227"),
        (1e6, "1000000"),
    ],
)
def test_a_number_in_a_sentence_has_three_digits_unless_it_is_whole(value, text):
    assert rounded(value) == text


def test_a_noun_agrees_with_its_number():
    assert [counted(number, "job") for number in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
    assert counted(1, "match", "matches") == "1 match"


@pytest.mark.parametrize(
    ("tag", "details", "text"),
    [
        ("cap", {"cap": 1, "nQueued": 1, "nRun": 0},
         "at most 1 job waits there (now 1); the cap is twice the running jobs (now 0)"),
        ("cap", {"nQueue_max": 1, "nQueue": 4, "nRunning": 1},
         "at most 1 job of the share waits there (now 4, with 1 running)"),
        ("links_full", {"at_most": 1, "nucleus": "CERN", "queued": 11}, "at most 1 file is queued for CERN (now 11)"),
        ("over_pledged", {"pledgedcpu": 1, "cores": 11}, "fewer than 1 core is in use (now 11)"),
    ],
)  # fmt: skip
def test_a_remedy_agrees_with_its_limit(tag, details, text):
    assert change_of(tag, details, "") == text
    assert change_of(tag, {name: 2 if value == 1 else value for name, value in details.items()}, "") != text


@pytest.mark.parametrize(
    ("found", "parts"),
    [
        (
            TooLarge("Memory", 12288, 12052, 12052),
            ["No machine has more than 11.8 GB of memory; you ask for 12.", "larger"],
        ),
        (TooLarge("Memory", 12053, 12052, 12052), ["No machine has more than 12052 MB of memory; you ask for 12053."]),
        (TooLarge("Cpus", 4, 1, 8), ["No slot has more than 1 core; you ask for 4.", "--partitionable"]),
        (
            TooLarge("GPUs", 1, 0, 0),
            ["No machine has GPUs; you ask for 1. An administrator can add a machine with GPUs."],
        ),
        (TooLarge("GPUs", 0.5, 0, 0), ["you ask for 0.5. A GPU is not divided among jobs", "add a machine with GPUs."]),
        (TooLarge("GPUs", 4, 2, 2), ["at most request_gpus = 2. An administrator can add a larger machine."]),
    ],
)
def test_what_is_too_large_names_the_cure(found, parts):
    sentence = too_large_sentence([found])
    for part in parts:
        assert part in sentence


def test_many_slots_are_counted():
    assert free_sentence(["slot1@a"]) == "slot1@a is free"
    assert free_sentence(["slot1@a", "slot2@a"]) == "slot1@a and slot2@a are free"
    assert free_sentence([f"slot{n}@a" for n in range(8)]) == "8 slots of a are free, slot0@a among them"
    assert free_sentence([f"slot1@{n}" for n in range(8)]) == "8 slots are free, slot1@0 among them"


@pytest.mark.parametrize("text", ["negotiator", "[negotiator]", "launch.slurm", "groups", "negotiator.Rule", "x"])
def test_nothing_that_was_typed_is_proposed(text):
    assert f"did you mean {text}?" not in str(unknown(text, "config"))
    assert f"did you mean [{text}]?" not in str(unknown_section(text, "a.toml:1"))


def test_a_table_is_called_a_table():
    assert str(unknown("[negotiator]", "config")).endswith(
        "it is a table; name a setting in it, such as negotiator.rules"
    )
    assert str(unknown_section("negotiator", "a.toml:1")).endswith(
        "it is a table; write [negotiator] above its settings"
    )
