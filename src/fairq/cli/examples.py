"""Example command lines, laid out for help and man pages of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WIDTH = 73
"""Width in cells of an example: a man page has seven blanks before it."""

_WORD = re.compile(r"""\s*(?:'[^']*'|"[^"]*"|[^\s'"])+""")


def laid_out(lines: Iterable[str]) -> Iterator[str]:
    """Yield *lines*; in a line that is too long, the meaning goes above the command, and the command is continued."""
    for line in lines:
        if len(line) <= _WIDTH:
            yield line
            continue
        command, separator, meaning = re.fullmatch(r"(.*?)(\s+#\s+|$)(.*)", line).groups()  # type: ignore[union-attr]
        if separator:
            yield f"# {meaning}"
        yield from _continued(command)


def _continued(command: str) -> Iterator[str]:
    """Yield the lines of a command, broken between words."""
    line = ""
    for word in _WORD.findall(command):
        if len(line + word) > _WIDTH - len(" \\"):
            yield f"{line} \\"
            line = f"   {word}"
        else:
            line += word
    yield line
