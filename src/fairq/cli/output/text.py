"""Values as text that can neither break a table nor control a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str, keep: str = "") -> str:
    """Return *text* with every control, bidirectional, invisible and undecodable character written as an escape.

    The characters in *keep* stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escaped(character) for character in text
    )


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Return how many terminal cells *text* takes: wide East Asian characters take two, marks none."""
    if text.isascii():
        return len(text)
    cells = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me"):
            continue
        cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def folded(text: str, cells: int) -> Iterator[str]:
    """Yield the pieces of *text*, each of at most *cells* cells; for an empty text, one empty piece."""
    piece, size = "", 0
    for character in text:
        needed = width(character)
        if size + needed > cells:
            yield piece
            piece, size = "", 0
        piece += character
        size += needed
    yield piece


def filled(text: str, cells: int) -> str:
    """Return *text* with blanks after it to *cells* cells; a wider text as it is."""
    return text + " " * (cells - width(text))


def cut(text: str, cells: int, dots: str = "…") -> str:
    """Return *text* in at most *cells* cells, with *dots* in its middle if it is longer."""
    if width(text) <= cells:
        return text
    available = max(cells - width(dots), 0)
    start = next(folded(text, available // 2))
    end = next(folded(text[::-1], available - width(start)))[::-1]
    return start + dots + end


def wrapped(text: str, cells: int, dots: str = "…") -> list[str]:
    """Return *text* in lines of at most *cells* cells, broken at blanks; a word that is too long loses its middle."""
    return [cut(line, cells, dots) for line in _broken(text, cells, "")]


def prose(line: str, cells: int | None) -> list[str]:
    """Return *line* in lines of at most *cells* cells, broken at blanks only, so that a path or command is not broken.

    Text after a label and two blanks is indented to it, as is text after the number of a list.
    """
    if cells is None or width(line) <= cells:
        return [line]
    label = re.match(r" *(?:\d+\. |[^ ]+(?: [^ ]+)* {2,})?", line)
    indent = width(label[0]) if label else 0
    return _broken(line, cells, " " * (indent if 2 * indent < cells else 0))


def _broken(text: str, cells: int, indent: str) -> list[str]:
    """Return the lines of *text*; *indent* begins every line but the first."""
    lines = [""]
    for word in re.findall(r" *[^ ]+", text):
        if width(lines[-1] + word) <= cells:
            lines[-1] += word
            continue
        if lines[-1].strip():
            lines.append(indent)
        lines[-1] += word.lstrip(" ")
    return lines


def unsigned(text: str) -> str:
    """Return the text of a number, a zero without its sign, so that "-0.00" is never shown."""
    return text[1:] if text.startswith("-") and "0" in text and not text.strip("-0.%") else text


def shown(value: Any) -> str:
    """Return the text of a table cell for *value*: empty for a missing one, booleans in lower case."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return unsigned(str(value)) if isinstance(value, float) else escape(str(value))
