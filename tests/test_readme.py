"""The README shows what fairq really prints, and its commands are those that the checks run."""

from __future__ import annotations

import re
from pathlib import Path

from tests import readme

from fairq.cli.tree import REGISTRY

ROOT = Path(__file__).parent.parent
README = readme.FILE.read_text()


def test_the_session_prints_what_the_readme_shows(tmp_path):
    for now, then in zip(readme.printed(tmp_path), readme.shown(), strict=True):
        assert now == then, "run python -m tests.readme, and read what it changed"


def test_every_command_named_there_exists():
    calls = r"(?:`|\$ |\| |bin/|^    )fairq (?:--?\w+(?: \w+\.db)? )*([a-z]+)"
    named = set(re.findall(calls, README, re.MULTILINE))
    assert named
    assert named <= REGISTRY.keys()


def test_the_checks_run_the_readmes_command():
    assert README.count("pip install -e '.[test]'") == 1
    assert "pip install -e '.[test]'" in (ROOT / ".ci" / "run").read_text()
