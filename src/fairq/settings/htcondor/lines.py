"""Join physical lines into logical ones."""

from __future__ import annotations

from collections.abc import Iterator


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the trimmed lines that are neither blank nor comments, each with the number of its first physical line.

    A backslash at the end continues a line, but not a comment. A comment among continued lines is dropped; it ends
    the logical line unless it also ends with a backslash. Source: HTCondor's ``getline_implementation``.
    """
    first: int | None = None
    parts: list[str] = []
    for number, physical in enumerate(text.split("\n"), 1):
        stripped = physical.strip()
        if stripped.startswith("#"):
            if first is None:
                continue
            stripped = "\\" if stripped.endswith("\\") else ""
        if stripped.endswith("\\"):
            first = first or number
            parts.append(stripped[:-1])
            continue
        if line := "".join([*parts, stripped]).strip():
            yield first or number, line
        first, parts = None, []
    if line := "".join(parts).strip():
        yield first or 1, line
