"""The picture of the README: what its session shows, as a terminal of 80 columns has it, in colour."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

WIDTH = 80
SHOWN = ("fairq negotiate", "fairq userprio --now", "fairq why")
"""The commands of the README that are in the picture, by their first words."""
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


def drawn(steps: list[tuple[str, str]]) -> str:
    """Return the picture of a session's *steps*: commands with what they print, escape sequences included."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for command, text in steps:
        if command.startswith(SHOWN):
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(text))
    return console.export_svg(title="fairq", code_format=FRAME, unique_id="fairq")
