"""Whether others than fairq may have registered entry points, told from the directories that Python searches."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from fairq.registered import may_register_others

OWN = {("fairq.sample", "fairq.own:THING")}
GROUPS = ("fairq.sample",)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory that Python searches, beside one that does not exist."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    return tmp_path


def install(place: Path, text: str, ending: str = "dist-info") -> None:
    distribution = place / f"sample-1.0.{ending}"
    distribution.mkdir()
    (distribution / "entry_points.txt").write_text(text)


@pytest.mark.parametrize("ending", ["dist-info", "egg-info"])
@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("[fairq.sample]\nthing = fairq.own:THING\n\n[console_scripts]\nfairq = fairq:main\n", False),
        ("# [fairq.sample]\n[another]\nmine = mine:THING\n", False),
        ("[another]\na = b:c\n\n[fairq.sample]\n# comment = x:y\n  mine=mine:THING\n", True),
        ("", False),
    ],
)
def test_values_of_the_groups_are_compared_with_ones_own(place: Path, text: str, ending: str, others: bool) -> None:
    install(place, text, ending)
    assert may_register_others(OWN, GROUPS) is others


def test_archives_and_other_finders_may_hold_anything(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not may_register_others(OWN, GROUPS)
    with zipfile.ZipFile(place / "sample.zip", "w"):
        pass
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(place / "sample.zip")])
        assert may_register_others(OWN, GROUPS)

    class Finder:
        @staticmethod
        def find_distributions(context: object) -> list[object]:
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_register_others(OWN, GROUPS)


def test_files_of_distributions_that_cannot_be_read_are_left_out(place: Path) -> None:
    install(place, "")
    (place / "sample-1.0.dist-info" / "entry_points.txt").write_bytes(b"[fairq.sample]\n\xff = x:y\n")
    (place / "single.egg-info").write_text("Name: single\n")
    assert not may_register_others(OWN, GROUPS)
