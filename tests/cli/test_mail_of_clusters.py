"""`--mail all` and `--notify-command`: one word when the last job of a cluster has ended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, signal, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([*sys.argv[2:], os.environ.get("FAIRQ_FAILED"), sys.stdin.read()]) + "\\n")
if os.path.exists("kill"):
    os.remove("kill")
    os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.fixture
def fairq(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mail.py").write_text(PROGRAM)
    command = f"{sys.executable} {tmp_path}/mail.py {tmp_path}/box {{to}} {{subject}}"
    Path(f"{state}.toml").write_text(f'[mail]\ncommand = "{command}"\n')

    def fairq(*words, code=0):
        ended = run("--state", state, *words)
        assert ended.code == code, ended.err
        return ended

    fairq("slots", "add", "a", "--count", "4")
    return fairq


def told():
    return [json.loads(line) for line in Path("box").read_text().splitlines()] if Path("box").exists() else []


def test_one_mail_comes_when_the_last_job_has_ended(fairq):
    fairq("submit", "--count", "3", "--mail", "all", "--name", "sweep", "--output", "o.$(Process)", "--", "/bin/true")
    fairq("negotiate")
    fairq("finish", "1.0", "--exit-code", "0")
    fairq("finish", "1.1", "--exit-code", "5")
    fairq("negotiate")
    assert told() == []
    fairq("remove", "1.2", "--reason", "enough")
    fairq("negotiate")
    fairq("negotiate")
    ((_, subject, _, text),) = told()
    assert subject == "fairq: 3 jobs of cluster 1 ended, 2 without success"
    assert "Batch:     sweep" in text and f"{Path.cwd()}/o.0 and those of the others" in text
    assert "1.1 ended with exit code 5\n1.2 was removed: enough\n" in text


def test_a_command_in_its_place(fairq, tmp_path):
    command = f"{sys.executable} {tmp_path}/mail.py {tmp_path}/box"
    assert "mails nothing" not in fairq("submit", "--notify-command", command, "--", "/bin/true").err
    fairq("negotiate")
    fairq("finish", "1")
    fairq("negotiate")
    ((failed, text),) = told()
    assert failed == "0" and text.startswith("1 job of cluster 1 ended, none without success.\n")
    assert "No closing quotation" in fairq("submit", "--notify-command", "/bin/cat 'x", "--", "/bin/true", code=38).err
    fairq("submit", "--notify-command", "/nonexistent x", "--", "/bin/true")
    fairq("remove", "2")
    assert "NotifyCommand of cluster 2 failed: " in fairq("negotiate").err
    assert "NotifyCommand" not in fairq("negotiate").err


def test_after_a_crash_it_is_told_again_rather_than_never(fairq, state):
    fairq("submit", "--mail", "all", "--", "/bin/true")
    fairq("remove", "1")
    Path("kill").touch()
    line = [sys.executable, "-m", "fairq", "--state", str(state), "-q", "negotiate"]
    assert subprocess.run(line, env={**os.environ}, capture_output=True, check=False).returncode == -9
    assert len(told()) == 1
    fairq("negotiate")
    fairq("negotiate")
    assert len(told()) == 2
