"""The README shows what fairq really prints, and its commands are those that the checks run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from fairq.cli.tree import REGISTRY

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def session() -> list[tuple[str, str]]:
    """Return the commands of the README's console blocks, each with what it prints."""
    steps: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.DOTALL | re.MULTILINE):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition("\n")
            if "<<" in command:
                body, end, printed = printed.partition("END\n")
                command += f"\n{body}{end}"
            steps.append((command, printed))
    return steps


def test_the_session_prints_what_the_readme_shows(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "fairq"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairq "$@"\n')
    program.chmod(0o755)
    mark = "-- the next command --"
    script = "".join(f"{command}\necho '{mark}'\n" for command, _ in session())
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    printed = ended.stdout.split(f"{mark}\n")[:-1]
    assert [
        (command, _trimmed(text)) for (command, _), text in zip(session(), printed, strict=True)
    ] == session()


def _trimmed(text: str) -> str:
    """Return *text* without blanks at the ends of its lines, which an editor would not keep."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def test_every_command_named_there_exists():
    calls = r"(?:`|\$ |\| |bin/|^    )fairq (?:--?\w+(?: \w+\.db)? )*([a-z]+)"
    named = set(re.findall(calls, README, re.MULTILINE))
    assert named
    assert named <= REGISTRY.keys()


def test_the_checks_run_the_readmes_command():
    assert README.count("pip install -e '.[test]'") == 1
    assert "pip install -e '.[test]'" in (ROOT / ".ci" / "run").read_text()
