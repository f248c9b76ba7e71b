"""The README and the pages of docs/ show what fairq really prints; what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests import sessions

from fairq.cli.tree import REGISTRY

ROOT = sessions.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def of_page(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", sessions.PAGES, ids=of_page)
def test_a_session_prints_what_the_page_shows(page, tmp_path):
    for now, then in zip(sessions.printed(page, tmp_path), sessions.shown(page), strict=True):
        assert now == then, "run python -m tests.sessions, and read what it changed"


@pytest.mark.parametrize("page", PAGES, ids=of_page)
def test_every_command_named_there_exists(page):
    calls = r"(?:`|^\$ |^\$ .*\| |bin/|^    )fairq (?:--?\w+(?: \w+\.db)? )*([a-z]+)"
    assert set(re.findall(calls, page.read_text(), re.MULTILINE)) <= REGISTRY.keys()


@pytest.mark.parametrize("page", PAGES, ids=of_page)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert not [link for link in links if not (page.parent / link).exists()]


def test_the_checks_run_the_readmes_command():
    readme = (ROOT / "README.md").read_text()
    assert readme.count("pip install -e '.[test]'") == 1
    assert "pip install -e '.[test]'" in (ROOT / ".ci" / "run").read_text()
