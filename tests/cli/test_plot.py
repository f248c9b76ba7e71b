"""``fairq plot``: pictures of block letters that say what they show, and files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairq.cli import blocks

Run = Callable[..., Any]

NOW = 1_795_003_200
HOUR = 3600


@pytest.fixture
def fairq(run: Run, state: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Anna has two of three slots for half a day, bert one; no cycle ran for four hours in it."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    monkeypatch.setenv("COLUMNS", "80")

    def fairq(*words: object) -> Any:
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended

    fairq("slots", "add", "node", "--count", "3", "--now", NOW)
    fairq("submit", "--count", "6", "--accounting-group-user", "anna", "--now", NOW, "--", "/bin/true")
    fairq("submit", "--accounting-group-user", "bert", "--now", NOW, "--", "/bin/true")
    for hour in (0, 1, 2, 3, 7, 8, 9, 10, 11, 12):
        fairq("negotiate", "--now", NOW + hour * HOUR)
    return fairq


WINDOW = ("--since", NOW, "--until", NOW + 12 * HOUR, "--now", NOW + 12 * HOUR)


def test_use_is_drawn_on_one_scale(fairq: Run) -> None:
    lines = fairq("plot", "usage", *WINDOW).out.splitlines()
    assert lines[0].startswith("Slot weight in use, by submitter, 2026-")
    assert lines[1] == "a letter is 1h; a full one is 2 (slot weight)"
    assert lines[3].split() == ["anna", "█" * 12, "mean", "2", "max", "2"]
    assert lines[4].split() == ["bert", "▄" * 12, "mean", "1", "max", "1"]
    assert max(map(len, lines)) <= 80


def test_what_no_cycle_saw_is_unknown_and_not_none(fairq: Run) -> None:
    queue = fairq("plot", "queue", "--by", "pool", *WINDOW).out.splitlines()
    assert queue[3].split()[:2] == ["idle", "█" * 4 + "···" + "█" * 5]
    assert queue[4].split()[:2] == ["running", "▆" * 4 + "···" + "▆" * 5]


def test_shares_compare_use_with_what_was_due(fairq: Run) -> None:
    document = json.loads(fairq("plot", "shares", *WINDOW, "--json").out)
    assert [(one["name"], one["used"]) for one in document["shares"]] == [("anna@x", 2 / 3), ("bert@x", 1 / 3)]
    assert fairq("plot", "shares", *WINDOW).out.splitlines()[3].startswith("anna ")


def test_letters_of_ascii_are_enough(fairq: Run) -> None:
    text = fairq("plot", "usage", "--ascii", "--top", "1", *WINDOW).out
    assert text.isascii()
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["anna", "others"]
    assert fairq("plot", "priority", "--ascii", *WINDOW).out.isascii()


def test_the_numbers_are_there_for_programs(fairq: Run) -> None:
    found = json.loads(fairq("plot", "usage", "--by", "group", *WINDOW, "--json").out)
    assert (found["step"], found["unit"]) == (HOUR, "slot weight")
    assert {one["value"] for one in found["values"]} == {3.0}
    assert fairq("plot", "usage", *WINDOW, "--csv").out.splitlines()[0] == "name,time,value"


def test_a_label_is_cut_in_the_middle_and_a_bar_to_an_eighth() -> None:
    assert blocks.label("group_atlas.production.user", 11) == "group…user"[:5] + "….user"
    assert blocks.bar(0.5, 3, plain=False) == "█▌"
    assert blocks.spark([0, 0.01, 1, None], 1, plain=False) == " ▁█·"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["moon"], 2, "is not known; give one of usage, shares, priority, queue"),
        (["shares", "--by", "pool"], 2, "pool for usage and queue only"),
        (["usage", "--out", "x.pdf"], 2, "give a file that ends so"),
    ],
)
def test_wrong_use_is_told(run: Run, state: Path, words: list[str], code: int, said: str) -> None:
    ended = run("--state", state, "plot", *words)
    assert ended.code == code
    assert said in ended.err


def test_an_empty_pool_has_nothing_to_show(run: Run, state: Path) -> None:
    for what in ("usage", "shares", "priority", "queue"):
        ended = run("--state", state, "plot", what)
        assert (ended.code, ended.out) == (0, "nothing is known of this time\n")


def test_without_matplotlib_a_file_is_refused_with_the_cure(
    run: Run, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ended = run("--state", state, "plot", "usage", "--out", tmp_path / "a.svg")
    assert ended.code == 113
    assert "pip install 'fairq[plot]'" in ended.err


@pytest.mark.parametrize("what", ["usage", "shares"])
def test_the_same_picture_has_the_same_bytes(fairq: Run, tmp_path: Path, what: str) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg", "one.png"):
        fairq("plot", what, "--out", tmp_path / name, *WINDOW)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
