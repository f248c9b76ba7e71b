"""Find the lines of each key in the text of a TOML document."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from fairq.common.inputs import read_text_once

KEY_PATTERN = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
"""One part of a key."""


class Statement(Struct, frozen=True):
    """A table's header, or a key with its value: the *path* it sets; lines *first* to *last*, from 0."""

    path: tuple[str, ...]
    first: int
    last: int
    is_header: bool


def statements(text: str) -> list[Statement]:
    """Return the headers and keys of a valid TOML document in their order."""
    result: list[Statement] = []
    table: tuple[str, ...] = ()
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        first = index
        if not lines[index].strip() or lines[index].lstrip().startswith("#"):
            index += 1
            continue
        chunk = lines[index]
        while (path := _path_of(chunk)) is None and index + 1 < len(lines):
            index += 1
            chunk += "\n" + lines[index]
        is_header = chunk.lstrip().startswith("[")
        if is_header:
            table = path or ()
        result.append(Statement(table if is_header else (*table, *(path or ())), first, index, is_header))
        index += 1
    return result


def _path_of(chunk: str) -> tuple[str, ...] | None:
    """Return the path of one statement; None if the statement is not complete yet."""
    import tomllib

    try:
        document = tomllib.loads(chunk)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    value: object = document
    is_header = chunk.lstrip().startswith("[")
    depth = None if is_header else _dots(chunk)
    while isinstance(value, dict) and len(value) == 1 and (depth is None or len(path) < depth):
        ((key, value),) = value.items()
        path.append(key)
    return tuple(path)


def _dots(chunk: str) -> int:
    """Return the number of parts of the key before the ``=``."""
    key = re.match(rf"\s*{KEY_PATTERN}(?:\s*\.\s*{KEY_PATTERN})*", chunk)
    return len(re.findall(KEY_PATTERN, key.group())) if key else 1


def line_of(file: Path, path: tuple[str, ...]) -> int | None:
    """Return the line, from 1, at which *file* sets *path*, or begins it if it is a table; None if there is none."""
    try:
        all_statements = statements(read_text_once(file))
    except (OSError, ValueError):
        return None
    for statement in all_statements:
        is_inline = not statement.is_header and path[: len(statement.path)] == statement.path
        if is_inline or statement.path[: len(path)] == path:
            return statement.first + 1
    return None
