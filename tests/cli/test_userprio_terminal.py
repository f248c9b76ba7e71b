"""``fairq userprio`` for people: every view fits a terminal, and who sees nobody is told why."""

import re

import pytest

NOW = 1_795_200_000


@pytest.fixture
def userprio(run, state):
    """Run userprio on a pool in which ann has used a slot for an hour."""
    assert run("--state", state, "slots", "add", "node").code == 0
    words = ("--accounting-group-user", "ann@pool", "--now", NOW, "--", "/bin/sleep", "5")
    assert run("--state", state, "submit", *words).code == 0
    for now in (NOW, NOW + 3600):
        assert run("--state", state, "negotiate", "--now", now).code == 0
    return lambda *words: run("--state", state, "userprio", "--now", NOW + 3660, *words)


def test_who_sees_nobody_is_told_why(userprio, run, state):
    assert "--allusers shows everybody" in userprio("-activefrom", 1, 1, 2030).err
    assert userprio("nobody@x").err == "fairq: there is no accounting record of nobody@x\n"
    other = state.with_name("other.db")
    assert run("--state", other, "slots", "add", "node").code == 0
    ended = run("--state", other, "userprio")
    assert (ended.code, ended.out) == (0, "")
    assert "there are no accounting records yet" in ended.err


@pytest.mark.parametrize("cells", [60, 80])
@pytest.mark.parametrize("view", ["-all", "-usage", "-classic", "-classic -all", "-classic -usage"])
def test_a_terminal_shows_each_view_within_its_width(userprio, monkeypatch, view, cells):
    """The old tables as well; a time loses its year before another column goes. --plain is exact."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(cells))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", userprio(*view.split()).out)
    assert max(map(len, shown.splitlines())) <= cells
    assert "ann@pool" in shown
    if view == "-usage" and cells == 60:
        assert re.search(r"\d\d/\d\d \d\d:\d\d\n", shown.partition("\n")[2])
    exact = userprio(*view.split(), "--plain").out
    monkeypatch.delenv("FORCE_COLOR")
    assert exact == userprio(*view.split()).out


def test_records_that_were_never_used_are_no_obstacle(userprio, run, state):
    """The htcondor rules leave the times of use out of their ads."""
    assert run("--state", state, "userprio", "--setfactor", "bob@pool", "5", "--now", NOW).code == 0
    assert run("--state", state, "config", "set", "negotiator.rules", "htcondor").code == 0
    assert userprio().code == 0
    assert "bob@pool" in userprio("-allusers").out
