"""One column of a kind of record, and one kind of record."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

Type = Literal["text", "integer", "real", "boolean", "time", "list", "object", "objects"]

WORDS: dict[Type, str] = {
    "text": "text",
    "integer": "whole number",
    "real": "number",
    "boolean": "true or false",
    "time": "time",
    "list": "list of texts",
    "object": "JSON object",
    "objects": "JSON list of objects",
}
"""What a type is called for people."""

NESTED = frozenset({"list", "object", "objects"})
"""Types that the state holds as JSON text."""


class Column(Struct, frozen=True):
    """One column: its *name* as PanDA or CRIC spells it, in files and in what is shown.

    Args:
        type: what values it takes; a time is in seconds since 1970.
        help: what it says, as a part of a sentence.
        unit: what a number counts.
        key: whether it tells records apart, together with the other columns that do.
        default: what an absent value or null stands for; None is *not known*. A key without it must be given.
        minimum: the smallest number.
        words: the texts that it takes; empty takes any.
        aliases: other names under which files have it.
        shown: whether the table for people has it.
    """

    name: str
    type: Type
    help: str
    unit: str = ""
    key: bool = False
    default: Any = None
    minimum: float | None = None
    words: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    shown: bool = False


class Kind(Struct, frozen=True, dict=True):
    """One kind of record.

    Args:
        name: its plural, the command's word.
        one: what a single record is called.
        summary: the command's line.
        columns: in the order of the listing, keys first.
        help: more about it, a sentence or two.
        example: a line of the manual that imports some.
        plural: what several records are called, if not by *name*.
    """

    name: str
    one: str
    summary: str
    columns: tuple[Column, ...]
    help: str = ""
    example: str = ""
    plural: str = ""

    @property
    def several(self) -> str:
        """What several records are called."""
        return self.plural or self.name

    @property
    def table(self) -> str:
        """The table of the state that holds it."""
        return f"broker_{self.name}"

    @cached_property
    def keys(self) -> tuple[Column, ...]:
        """The columns that tell records apart."""
        return tuple(column for column in self.columns if column.key)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The place of each column by its name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    @cached_property
    def spellings(self) -> dict[str, Column]:
        """The columns by every name that files may use for them, in lower case."""
        return {name.lower(): column for column in self.columns for name in (column.name, *column.aliases)}

    def title(self, record: dict[str, Any]) -> str:
        """Return what *record* is called in messages: its kind and the values of its keys."""
        keys = [str(record[column.name]) for column in self.keys if record.get(column.name) not in (None, "")]
        return " ".join([self.one, ", ".join(keys)]) if keys else self.one
