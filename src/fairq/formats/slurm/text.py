"""Read the output of Slurm's commands; refuse a text that was cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairq.errors.pool import InvalidDumpError
from fairq.formats.source import Held


def lines(held: Held) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank.

    Raises InvalidDumpError for zero bytes, and if the last line has no end.
    """
    if b"\0" in held.content:
        raise InvalidDumpError(
            source=held.name, where="somewhere", problem="it is not text", cure="give what the command prints"
        )
    text = held.content.decode("utf-8-sig", "replace")
    all_lines = text.split("\n")
    if all_lines[-1].strip():
        raise InvalidDumpError(
            source=held.name, where=f"line {len(all_lines)}", problem="it is cut off", cure="write the file again"
        )
    for number, line in enumerate(all_lines, 1):
        if line.strip():
            yield number, line.rstrip("\r")


def table(held: Held, needed: Sequence[tuple[str, str]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the fields of each line of a table that ``|`` separates, below its headings.

    *needed* are the names of required fields, each with its purpose. Raises InvalidDumpError; for a missing field, with
    its purpose.
    """
    rows = lines(held)
    first, heading = next(rows, (1, ""))
    names = [name.strip() for name in heading.split("|")]
    for name, purpose in needed:
        if name not in names:
            raise missing_field(held.name, f"line {first}", name, purpose)
    for number, line in rows:
        values = line.split("|")
        if len(values) != len(names):
            problem = f"{len(values)} values under {len(names)} headings"
            cure = "write the file again with -P (--parsable2)"
            raise InvalidDumpError(source=held.name, where=f"line {number}", problem=problem, cure=cure)
        yield number, dict(zip(names, values, strict=True))


def missing_field(source: str, where: str, name: str, purpose: str) -> InvalidDumpError:
    """Return the error of a record without the field *name*, which is needed for *purpose*."""
    return InvalidDumpError(
        source=source, where=where, problem=f"no field {name}, needed for {purpose}", cure="write the file with it"
    )
