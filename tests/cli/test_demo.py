"""The demo shows the real commands and touches nothing of the user's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairq.steps.demo import SCENES


def test_every_command_of_the_demo_is_shown_and_works(fairq: Callable[..., Any], tmp_path: Path) -> None:
    """Two users at one to two get 8 and 4 of 12 slots; a deleted record is gone from the last table."""
    ended = fairq("demo")

    assert ended.code == 0, ended.err
    assert ended.out.count("$ fairq ") == len(SCENES)
    assert "12 matches in 1 spin over 12 slots" in ended.out
    first = ended.out.split("Matches")[0].splitlines()
    assert [line.split()[6] for line in first if line.startswith(("alice@", "bob@"))] == ["8", "4"]
    last = ended.out.rsplit("userprio -allusers", 1)[1]
    assert "alice@lab.example" in last
    assert "Number of users: 1 " in last


def test_a_kept_demo_can_be_looked_at_afterwards(fairq: Callable[..., Any], tmp_path: Path) -> None:
    """The state stays where --keep says, is sound, and the user's own state is not made."""
    kept = tmp_path / "demo"
    assert fairq("demo", "--keep", kept).code == 0
    assert fairq("--state", kept / "state.db", "state", "check").code == 0

    again = fairq("demo", "--keep", kept)

    assert (again.code, again.out) == (60, "")
    assert "cannot be created" in again.err
    assert "Traceback" not in again.err
