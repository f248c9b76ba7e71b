"""The README and the pages of docs/ show what fairq really prints; what they name exists."""

import re

import pytest
from tests import sessions
from tests.picture import drawn

from fairq.cli.output.text import width
from fairq.cli.registry import REGISTRY

ROOT = sessions.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def of_page(page):
    return page.stem


@pytest.mark.parametrize("page", sessions.PAGES, ids=of_page)
def test_a_terminal_shows_what_the_page_and_its_listings_show(page):
    """The page has a terminal of 80 columns; the listings have narrow and wide ones."""
    at = sessions.printed(page)
    advice = "run python -m tests.sessions, and read what it changed"
    for now, then in zip(sessions.uncoloured(at[80]), sessions.shown(page), strict=True):
        assert now == then, advice
    for cells in (60, 120):
        assert sessions.as_text(sessions.uncoloured(at[cells])) == sessions.listing(page, cells).read_text(), advice
    if page == sessions.PICTURED:
        # Versions of Rich differ in how they draw it, not in what it says.
        assert words_of(drawn(at[80])) == words_of(sessions.PICTURE.read_text()), advice


def words_of(picture):
    return re.findall(r">([^<]+)</text>", picture)


@pytest.mark.parametrize("cells", [60, 80, 120])
@pytest.mark.parametrize("page", sessions.PAGES, ids=of_page)
def test_no_table_and_no_sentence_is_wider_than_its_terminal(page, cells):
    shown = sessions.shown(page) if cells == 80 else sessions.steps(sessions.listing(page, cells).read_text())
    for command, text in shown:
        if command.startswith("fairq ") and not sessions.is_piped(command):
            assert max(map(width, text.splitlines()), default=0) <= cells, command


@pytest.mark.parametrize("page", PAGES, ids=of_page)
def test_commands_to_paste_fit_a_terminal_of_80_columns(page):
    """Lines for a shell or a crontab; those of a session are what somebody types."""
    pasted = re.findall(r"^ {4,}((?:\S+ \* \* \* |fairq |condor_).*)", page.read_text(), re.MULTILINE)
    assert not [line for line in pasted if len(line) > 80]


def test_the_readme_is_short_and_its_text_fits_80_columns():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    assert not [line for line in lines if len(line) > 80 and not re.match(r"\||\$ |    python3", line)]


@pytest.mark.parametrize("page", PAGES, ids=of_page)
def test_every_command_named_there_exists(page):
    calls = r"(?:`|^\$ |^\$ .*\| |bin/|^    )fairq (?:--?\w+(?: \w+\.db)? )*([a-z]+)"
    assert set(re.findall(calls, page.read_text(), re.MULTILINE)) <= {*REGISTRY, "help"}


@pytest.mark.parametrize("page", PAGES, ids=of_page)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert not [link for link in links if not (page.parent / link).exists()]


def test_the_checks_run_the_readmes_command():
    readme = (ROOT / "README.md").read_text()
    assert readme.count("pip install -e '.[test]'") == 1
    assert "pip install -e '.[test]'" in (ROOT / ".ci" / "run").read_text()
