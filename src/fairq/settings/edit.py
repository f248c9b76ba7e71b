"""Change one value in a TOML document; its other text stays unchanged."""

from __future__ import annotations

import re
from typing import Any

from fairq.settings.statements import KEY_PATTERN, statements

Path = tuple[str, ...]


def set_value(text: str, path: Path, value: Any) -> tuple[str, bool]:
    """Return the valid document *text* with *value* at *path*, and whether comments and order were kept.

    The case of group and limit names does not matter. If the value cannot be edited in place, for example inside an
    inline table, the document is rewritten.
    """
    import tomllib

    import tomli_w

    document = tomllib.loads(text)
    path = _as_spelled(document, path)
    _set_in_document(document, path, value)
    edited = _set_in_text(text, path, value)
    try:
        if tomllib.loads(edited) == document:
            return edited, True
    except tomllib.TOMLDecodeError:
        pass
    return tomli_w.dumps(document), False


def remove(text: str, path: Path) -> tuple[str, bool] | None:
    """Return the valid document *text* without the value or table at *path*, and whether comments were kept.

    Returns None if *path* does not exist. A table that loses its last value stays, because an empty table may declare
    a group; a table that loses its last table is removed.
    """
    import tomllib

    import tomli_w

    document = tomllib.loads(text)
    path = _as_spelled(document, path)
    table: Any = document
    for key in path[:-1]:
        table = table.get(key) if isinstance(table, dict) else None
    if not isinstance(table, dict) or path[-1] not in table:
        return None
    was_table = isinstance(table.pop(path[-1]), dict)
    if was_table and len(path) == 2 and not table:
        del document[path[0]]
    edited = _without(text, path)
    try:
        if tomllib.loads(edited) == document:
            return edited, True
    except tomllib.TOMLDecodeError:
        pass
    return tomli_w.dumps(document), False


def _without(text: str, path: Path) -> str:
    """Return *text* without the statements at and below *path*, lines between them, and blank lines before tables."""
    lines = text.split("\n")
    end: int | None = None
    for statement in reversed(statements(text)):
        if statement.path[: len(path)] != path:
            end = None
            continue
        end = statement.last if end is None else end
        first = statement.first
        while statement.is_header and first and not lines[first - 1].strip():
            first -= 1
        del lines[first : end + 1]
        end = first - 1
    return "\n".join(lines)


def _as_spelled(document: dict[str, Any], path: Path) -> Path:
    """Return *path* in the spelling of *document*, which may split names at their dots."""
    lower_name = ".".join(path).lower()
    pending: list[tuple[Path, Any]] = [((), document)]
    deepest: Path = ()
    while pending:
        prefix, value = pending.pop()
        name = ".".join(prefix).lower()
        if name == lower_name:
            return prefix
        if isinstance(value, dict) and (not prefix or lower_name.startswith(name + ".")):
            deepest = max(deepest, prefix, key=lambda keys: len(".".join(keys)))
            pending += [((*prefix, key), inner) for key, inner in value.items()]
    if path[0] == "groups" and ".".join(deepest).lower() == ".".join(path[:-1]).lower():
        return (*deepest, path[-1])
    return path


def _set_in_document(document: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        document = document.setdefault(key, {})
    document[path[-1]] = value


def _set_in_text(text: str, path: Path, value: Any) -> str:
    all_statements = statements(text)
    lines = text.split("\n")
    for statement in all_statements:
        if not statement.is_header and statement.path == path:
            old_lines = lines[statement.first : statement.last + 1]
            lines[statement.first : statement.last + 1] = [_replacement(old_lines, value)]
            return "\n".join(lines)
    last: int | None = None
    table: Path | None = None
    for statement in all_statements:
        if statement.is_header:
            table = statement.path
        if table == path[:-1]:
            last = statement.last
    line = f"{_key(path[-1])} = {_value(value)}"
    if last is not None:
        lines.insert(last + 1, line)
        return "\n".join(lines)
    header = f"[{'.'.join(_key(key) for key in path[:-1])}]"
    body = text.rstrip("\n")
    return f"{body}\n\n{header}\n{line}\n" if body else f"{header}\n{line}\n"


def _replacement(lines: list[str], value: Any) -> str:
    """Return a line to replace the statement in *lines*: the same key and comment, the new value."""
    import tomllib

    head = re.match(rf"\s*{KEY_PATTERN}(?:\s*\.\s*{KEY_PATTERN})*\s*=\s*", lines[0])
    assert head is not None  # always matches: the statement was found by its key
    comment = ""
    if len(lines) == 1:
        document = tomllib.loads(lines[0])
        for match in re.finditer(r"\s*#", lines[0][head.end() :]):
            start = head.end() + match.start()
            try:
                if tomllib.loads(lines[0][:start]) == document:
                    comment = lines[0][start:]
                    break
            except tomllib.TOMLDecodeError:
                continue
    return head.group() + _value(value) + comment


def _key(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]


def _value(value: Any) -> str:
    import tomli_w

    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
