"""What goes wrong in a cycle is counted, mailed and answered, whoever runs it and with whatever mode mask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairq.host.verb.command import command_of
from fairq.host.verb.document import Request


@pytest.fixture(params=[0o002, 0o022, 0o077], ids=oct)
def umask(request):
    former = os.umask(request.param)
    yield request.param
    os.umask(former)


def test_broken_settings_are_mailed_whatever_the_umask(run, state, tmp_path, umask):
    mailer, box = tmp_path / "mailer", tmp_path / "box"
    mailer.write_text(f"#!/bin/sh\ncat >> {box}\n")
    mailer.chmod(0o755)
    run("--state", state, "slots", "add", "n")
    run("--state", state, "negotiate")
    run("--state", state, "config", "set", "mail.command", f"{mailer} {{subject}} {{to}}")
    run("--state", state, "config", "set", "mail.administrator", "a@b")
    run("--state", state, "pool", "check", "--mail")
    box.unlink(missing_ok=True)
    with Path(f"{state}.toml").open("a") as file:
        file.write("[negotiator\n")
    run("--state", state, "pool", "check", "--mail")
    assert "not valid TOML" in box.read_text()


def test_a_cycle_of_an_ordinary_user_is_counted(run, state, monkeypatch):
    run("--state", state, "slots", "add", "n")
    settings = Path(f"{state}.toml")
    settings.write_text("negotiator = 7\n")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert run("--state", state, "negotiate").code != 0
    settings.unlink()
    assert 'fairq_cycle_errors_total{kind="UnknownSetting"} 1' in run("--state", state, "metrics").out


def test_a_change_is_undone_for_as_long_as_the_settings_say(run, state):
    run("--state", state, "config", "set", "pool.undo_kept", "60")
    run("--state", state, "submit", "--now", "2026-03-01T00:00Z", "--", "/bin/true")
    late = run("--state", state, "undo")
    assert (late.code, "so old, cannot be undone" in late.err or "no change" in late.err) == (103, True)


def test_a_cycle_in_seventy_years_keeps_what_was_used_by_days(run, state):
    run("--state", state, "slots", "add", "n")
    run("--state", state, "submit", "--now", "2026-03-01T00:00Z", "--", "/bin/true")
    run("--state", state, "negotiate", "--now", "2026-03-01T00:00Z")
    assert run("--state", state, "negotiate", "--now", "2096-03-01T00:00Z").code == 0
    assert state.stat().st_size < 10 << 20
    assert run("--state", state, "state", "check").code == 0


@pytest.mark.parametrize("redirections", ["<&-", ">&-", "2>&-", ">/dev/full", "0>/dev/null", "<&- >&-"])
def test_the_narrow_verb_answers_odd_descriptors_in_one_line(tmp_path, redirections):
    site = tmp_path / "site.toml"
    site.write_text("[pool]\n")
    code = f"""
import sys
from pathlib import Path
from fairq.host.verb.main import main
sys.exit(main(Path({str(tmp_path / "pool.db")!r}), Path({str(site)!r})))
"""
    shell = f"exec {sys.executable} -I -c '{code.replace(chr(39), chr(34))}' {redirections}"
    done = subprocess.run(
        ["/bin/sh", "-c", shell], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode in (105, 106)
    assert (done.stdout + done.stderr).count("\n") == 1
    assert not (tmp_path / "pool.db").exists()


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("hold", {"jobs": ["1.0", "2"]}, "fairq hold 1.0 2"),
        ("release", {"jobs": None}, "fairq release --all"),
        ("prio", {"jobs": ["1"], "value": 5, "relative": True}, "fairq prio -p +5 1"),
        ("submit", {"ads": [{"Cmd": "/bin/a b", "Arguments": "x 'y z'"}], "groups": [{"last": 2}], "cluster": None},
         "fairq submit --count 3 -- '/bin/a b' x 'y z'"),
        ("userprio", {"edits": [{"kind": "setfactor", "name": "a@x", "value": 2.0, "seconds": None}]},
         "fairq userprio --setfactor a@x 2.0"),
        ("slots drain", {"names": ["n"], "schedule": "quick"}, "fairq slots drain --quick n"),
        ("undo", {"number": None}, "fairq undo"),
        ("pool pause", {"until": 1_900_000_000}, "fairq pool pause --until 1900000000"),
        ("hold", {"jobs": 7}, "fairq hold"),
    ],
)  # fmt: skip
def test_the_history_tells_what_was_applied(verb, arguments, words):
    assert command_of(Request("0" * 32, verb, "rm -rf /", None, arguments)) == words
