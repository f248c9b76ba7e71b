"""The console sessions of the README and of docs/: what the pages show, and what fairq prints on a terminal now.

The pages show 80 columns, `tests/data/listings` the same at 60 and 120, and the picture some of it. An archive with the
name of a page is there when its session begins. ``python -m tests.sessions [PAGE...]`` writes into them what is printed
now; PAGE is a name such as groups, by default all.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import at_widths
from tests.picture import drawn

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- the next command --"
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]
"""Every page with a session; a page is one session from its first block to its last."""

PICTURED, PICTURE = ROOT / "README.md", ROOT / "docs" / "fairq.svg"
"""The page whose session the picture shows."""

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


def printed(page: Path) -> dict[int, list[Step]]:
    """Run the commands of *page* on a terminal and return what they print at each width."""
    # Two names of one length: the page must not depend on where the session ran.
    directory, home = Path(tempfile.mkdtemp(prefix="", dir="/tmp")), "/home/ann/try"
    program = directory / "bin" / "fairq"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tests.at_widths "$@"\n')
    program.chmod(0o755)
    for file in page.parent.glob(f"{page.stem}.tar.gz"):
        shutil.copy(file, directory)
    commands = [command for command, _ in shown(page)]
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    try:
        script = "".join(f"{command}\necho '{MARK}'\n" for command in commands)
        text = _on_terminal(["bash", "-c", script], directory, environment).replace(str(directory), home)
    finally:
        shutil.rmtree(directory)
    texts = text.split(f"{MARK}\n")[:-1]
    return {
        cells: [(command, _at(cells, text)) for command, text in zip(commands, texts, strict=True)]
        for cells in at_widths.WIDTHS
    }


def uncoloured(steps: list[Step]) -> list[Step]:
    """Return *steps* as a page shows them, without the blanks at the ends of lines, which editors do not keep."""
    plain = ((command, re.sub(r"\x1b\[[0-9;]*m", "", text)) for command, text in steps)
    return [(command, "".join(line.rstrip() + "\n" for line in text.splitlines())) for command, text in plain]


def _on_terminal(words: list[str], directory: Path, environment: dict[str, str]) -> str:
    """Return what a program prints on a terminal, without lines that it took back."""
    outer, inner = pty.openpty()
    running = subprocess.Popen(
        words, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner
    )
    os.close(inner)
    printed = b""
    with os.fdopen(outer, "rb", buffering=0) as terminal:
        try:
            while piece := terminal.read(65536):
                printed += piece
        except OSError:  # so Linux tells the end of a terminal
            pass
    assert running.wait() == 0, printed.decode()
    return re.sub(r"[^\n]*\r\x1b\[K", "", printed.decode().replace("\r\n", "\n"))


def _at(cells: int, text: str) -> str:
    """Return what is printed at a width."""
    kept, is_shown = "", True
    for line in text.removesuffix("\n").split("\n") if text else ():
        if line.startswith(at_widths.MARK):
            is_shown = line[1:] in ("", str(cells))
        elif is_shown:
            kept += line + "\n"
    return kept


def is_piped(command: str) -> bool:
    """Return whether what *command* prints is for programs: as wide as its values are."""
    return bool(re.search(r" \| | --(af|json|csv|tsv)\b", command))


def listing(page: Path, cells: int) -> Path:
    """Return the file with what *page* would show at another width."""
    return ROOT / "tests" / "data" / "listings" / f"{page.stem}-{cells}.txt"


def as_text(steps: list[Step]) -> str:
    """Return the text of steps, as a terminal has it."""
    return "".join(f"$ {command}\n{text}" for command, text in steps)


def fill(page: Path) -> None:
    """Write into *page*, and into its listings at other widths, what its commands print now."""
    at = printed(page)
    if page == PICTURED:
        PICTURE.write_text(drawn(at[80]))
    now = iter(uncoloured(at.pop(80)))

    def block(found: re.Match[str]) -> str:
        return "```console\n" + as_text([next(now) for _ in steps(found.group(1))]) + "```"

    page.write_text(BLOCK.sub(block, page.read_text()))
    for cells, others in at.items():
        listing(page, cells).parent.mkdir(exist_ok=True)
        listing(page, cells).write_text(as_text(uncoloured(others)))


if __name__ == "__main__":
    for page in PAGES:
        if not sys.argv[1:] or page.stem in sys.argv[1:]:
            fill(page)
