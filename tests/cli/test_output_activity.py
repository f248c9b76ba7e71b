"""What a long command says on a terminal while it works, and the colours of tables there."""

import re
from pathlib import Path

import pytest
from tests.cli.test_output_terminal import on_terminal

NOW = 1_795_200_000

IMPATIENT = """
import sys
from fairq.cli.output import activity
from fairq.cli.app import main
activity.PATIENCE = activity._EVERY = 0.001
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def pool(run, state, monkeypatch):
    """Two slots in use, an idle and a held job, and a group above its quota."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    Path(f"{state}.toml").write_text("[groups.physics]\nquota = 1\naccept_surplus = true\n[groups.bio]\nquota = 1\n")
    for words in (
        ["slots", "add", "node", "--count", "2"],
        ["submit", "--count", "4", "--accounting-group", "physics", "--now", NOW, "--", "/bin/sleep", "5"],
        ["hold", "1.3", "--now", NOW],
        ["negotiate", "--now", NOW],
    ):
        assert run("--state", state, *words).code == 0
    return state


def test_a_long_command_says_what_it_is_doing_and_takes_the_line_away(pool):
    """On stderr only; what is printed stands alone."""
    words = ["-c", IMPATIENT, "--state", str(pool), "negotiate", "--dry-run"]
    shown = on_terminal(words, 80, "stderr")
    assert "matching jobs with slots: " in shown
    assert shown.endswith("\r\x1b[K")
    shown = on_terminal(["-c", IMPATIENT, "--state", str(pool), "why", "1.1"], 80, "stderr")
    assert "why: 0 s" in shown


def test_the_line_fits_the_terminal(pool):
    shown = on_terminal(["-c", IMPATIENT, "--state", str(pool), "negotiate", "--dry-run"], 20, "stderr")
    assert max(len(line) for line in re.split(r"\r\x1b\[K|\n", shown)) < 20


@pytest.mark.parametrize(("more", "environment"), [(["-q"], {}), ([], {"TERM": "dumb"})])
def test_quiet_and_dumb_terminals_see_nothing_of_it(pool, more, environment):
    words = ["-c", IMPATIENT, "--state", str(pool), "negotiate", "--dry-run", *more]
    assert on_terminal(words, 80, "stderr", **environment) == ""


def test_a_pipe_sees_nothing_of_it(run, pool, monkeypatch):
    monkeypatch.setattr("fairq.cli.output.activity.PATIENCE", 0.001)
    assert run("--state", pool, "negotiate", "--dry-run").err == ""


def fairq(pool, *words, **environment):
    return on_terminal(["-m", "fairq", "--state", str(pool), *words], 120, **environment)


def coloured(text, shown):
    """The colours that *text* has in *shown*, by their numbers."""
    return set(re.findall(rf"\x1b\[(3\d)m\s*{re.escape(text)}", shown))


def test_a_terminal_shows_states_in_colour(pool):
    shown = fairq(pool, "queue")
    assert (coloured("M", shown), coloured("I", shown), coloured("H", shown)) == ({"36"}, {"33"}, {"31"})
    assert coloured("Claimed", fairq(pool, "slots")) == {"32"}
    assert coloured("2", fairq(pool, "quotas")) == {"33"}, "above its quota"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(pool, environment):
    for command in ("queue", "slots", "quotas"):
        assert not re.search(r"\x1b\[3\d", fairq(pool, command, **environment))


@pytest.fixture
def unequal(run, state, monkeypatch):
    """Four slots in use by ann alone, since before bob asked for his half; nothing may be preempted."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_NEGOTIATOR_CONSIDER_PREEMPTION", "false")
    for words in (
        ["slots", "add", "node", "--count", "4"],
        ["submit", "--count", "9", "--accounting-group-user", "ann", "--now", NOW, "--", "/bin/true"],
        ["negotiate", "--now", NOW],
        ["submit", "--count", "9", "--accounting-group-user", "bob", "--now", NOW + 1, "--", "/bin/true"],
    ):
        assert run("--state", state, *words).code == 0
    return state


def test_use_above_and_below_the_share_is_in_colour(run, unequal):
    """Ann has four slots and bob none; each is entitled to two."""
    cycle = run("--state", unequal, "negotiate", "--now", NOW + 60).out
    assert (coloured("4", cycle), coloured("0", cycle)) == ({"33"}, {"36"})
    table = run("--state", unequal, "userprio", "-all", "-allusers").out
    assert (coloured("4", table), coloured("0", table)) == ({"33"}, {"36"})


def test_use_of_the_share_itself_has_no_colour(run, unequal):
    run("--state", unequal, "remove", "--constraint", 'AcctGroupUser == "ann"', "--now", NOW + 2)
    run("--state", unequal, "negotiate", "--now", NOW + 60)
    assert not re.search(r"\x1b\[3\d", run("--state", unequal, "userprio", "-all", "-allusers").out)
