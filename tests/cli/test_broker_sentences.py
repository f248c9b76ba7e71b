"""The words of the brokerage: every reason has a meaning, and a remedy that can be filled in."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from fairq.cli.broker.sentences import findings, settings, software, timeouts
from fairq.cli.broker.sentences.reasons import WORDS, add_texts, change_of
from fairq.engine.brokerage.analysis import analysis_plan
from fairq.engine.brokerage.pool.config import KEYS
from fairq.engine.brokerage.production import production_plan
from fairq.engine.brokerage.software.hardware import Lack
from fairq.engine.brokerage.timeouts.table import ORDER


def test_every_reason_has_words_and_every_word_a_reason():
    tags = {entry.reason.tag for plan in (production_plan(), analysis_plan()) for entry in plan.reasons}
    assert tags == set(WORDS)
    assert {one.value for one in Lack} == set(software.WORDS)
    assert list(timeouts.WORDS) == list(ORDER)
    assert list(settings.WORDS) == list(KEYS)


@pytest.mark.parametrize("remedy", ["{nothing} known", "{0}", "{", "{site:d}"])
def test_a_remedy_that_cannot_be_filled_in_gives_way_to_the_meaning(remedy):
    told = change_of("asleep", {"site": "A"}, "it sleeps", remedy)
    assert told == "this was no longer true: it sleeps"


@pytest.mark.parametrize(
    ("most", "told"),
    [(1, "at most 1 job waits there (now 5)"), (1.0, "at most 1 job waits there"), (2, "at most 2 jobs wait there")],
)
def test_a_remedy_agrees_with_its_number(most, told):
    assert change_of("cap", {"cap": most, "nQueued": 5, "nRun": 1}, "").startswith(told)
    assert change_of("asleep", {"most": most}, "", "{most:pilot asks|pilots ask}").endswith(" ask" + "s" * (most == 1))


def test_a_record_is_told_in_words():
    record = {"reason": "cache", "stage": "SW/HW check", "meaning": "", "change": "", "compared": {"why": "no_gpu"}}
    add_texts(record)
    assert record["meaning"] == "the queue lacks the release, the container or the hardware"
    assert record["change"] == "the queue publishes what the task needs (it has no GPU)"


def test_every_finding_of_the_lint_has_words():
    """Each problem that the engine's code names has words; a kind with one problem is its own problem."""
    folder = Path(find_spec("fairq.engine.brokerage.lint").submodule_search_locations[0])
    texts = {
        node.value
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    composed = {f"no {what} to {role}" for what in ("storage", "datadisk") for role in ("read_lan", "write_lan")}
    assert set(findings.WORDS) - composed <= texts
