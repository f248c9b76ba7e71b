"""The console session of the README: what it shows, and what fairq prints now.

``python -m tests.readme`` writes into the README what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- the next command --"

Step = tuple[str, str]
"""A command as typed, with the lines of its here-document, and what it prints."""


def steps(block: str) -> list[Step]:
    """Return the steps of one console block."""
    found = []
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = step.partition("\n")
        if "<<" in command:
            body, end, printed = printed.partition("END\n")
            command += f"\n{body}{end.rstrip()}"
        found.append((command, printed))
    return found


def shown() -> list[Step]:
    """Return what the README shows."""
    return [step for block in BLOCK.findall(FILE.read_text()) for step in steps(block)]


def printed(directory: Path) -> list[Step]:
    """Run the README's commands in the empty *directory* and return what they print."""
    program = directory / "bin" / "fairq"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairq "$@"\n')
    program.chmod(0o755)
    commands = [command for command, _ in shown()]
    ended = subprocess.run(
        ["bash", "-c", "".join(f"{command}\necho '{MARK}'\n" for command in commands)],
        cwd=directory,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "TZ": "UTC"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    texts = ended.stdout.split(f"{MARK}\n")[:-1]
    return [(command, _trimmed(text)) for command, text in zip(commands, texts, strict=True)]


def _trimmed(text: str) -> str:
    """Return *text* without the blanks at the ends of its lines, which editors do not keep."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def fill(directory: Path) -> None:
    """Write into the README what its commands print now."""
    now = iter(printed(directory))

    def block(found: re.Match[str]) -> str:
        renewed = [next(now) for _ in steps(found.group(1))]
        return "```console\n" + "".join(f"$ {command}\n{text}" for command, text in renewed) + "```"

    FILE.write_text(BLOCK.sub(block, FILE.read_text()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch))
