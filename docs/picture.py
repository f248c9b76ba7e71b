"""Draws docs/fairq.svg: a cycle and the priorities after it, as a terminal shows them.

``python docs/picture.py`` runs the README's first commands on a scratch state and writes the picture.
"""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
SHOWN = (
    "fairq negotiate --now 2026-11-20T11:00Z",
    "fairq userprio --now 2026-11-20T11:00Z",
    "fairq queue --now 2026-11-20T11:00Z",
)
BEFORE = (
    "fairq slots add node1 --count 6 --memory 2GB",
    "fairq submit --count 20 --accounting-group-user alice --now 2026-11-20T09:00Z -- /bin/sleep 60",
    "fairq submit --count 50 --accounting-group-user bob --now 2026-11-20T09:00Z -- /bin/sleep 60",
    "fairq negotiate --now 2026-11-20T09:00Z",
    "fairq userprio -setfactor bob@example.org 2000 --now 2026-11-20T11:00Z",
    "fairq finish bob@example.org --now 2026-11-20T11:00Z",
)
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's frame without its web font: the picture asks for nothing from elsewhere."""


def on_a_terminal(command: str, environment: dict[str, str]) -> str:
    """Run *command* on a pseudo-terminal and return what it prints."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, shell=True, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux tells the end of a pseudo-terminal
                break
            if not part:
                break
            parts.append(part)
        running.wait()
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def main() -> None:
    """Run the session and write the picture."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "COLUMNS": str(WIDTH),
            "TZ": "UTC",
            "FAIRQ_STATE": f"{scratch}/pool.db",
            "FAIRQ_ACCOUNTING_UID_DOMAIN": "example.org",
        }
        for command in BEFORE:
            subprocess.run(command, shell=True, env=environment, check=True, stdout=subprocess.DEVNULL)
        console = Console(record=True, width=WIDTH, file=io.StringIO())
        for command in SHOWN:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(on_a_terminal(command, environment)))
    picture = Path(__file__).parent / "fairq.svg"
    picture.write_text(console.export_svg(title="fairq", code_format=FRAME, unique_id="fairq"))


if __name__ == "__main__":
    main()
