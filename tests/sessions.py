"""The console sessions of the README and of docs/: what the pages show, and what fairq prints now.

``python -m tests.sessions`` writes into the pages what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- the next command --"
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]
"""Every page with a session; a page is one session from its first block to its last."""

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


def shown(page: Path) -> list[Step]:
    """Return what *page* shows."""
    return [step for block in BLOCK.findall(page.read_text()) for step in steps(block)]


def printed(page: Path, directory: Path) -> list[Step]:
    """Run the commands of *page* in the empty *directory* and return what they print."""
    program = directory / "bin" / "fairq"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairq "$@"\n')
    program.chmod(0o755)
    commands = [command for command, _ in shown(page)]
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


def fill(page: Path, directory: Path) -> None:
    """Write into *page* what its commands print now."""
    now = iter(printed(page, directory))

    def block(found: re.Match[str]) -> str:
        renewed = [next(now) for _ in steps(found.group(1))]
        return "```console\n" + "".join(f"$ {command}\n{text}" for command, text in renewed) + "```"

    page.write_text(BLOCK.sub(block, page.read_text()))


if __name__ == "__main__":
    for one in PAGES:
        with tempfile.TemporaryDirectory() as scratch:
            fill(one, Path(scratch))
