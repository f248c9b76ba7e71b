"""A kind of record and its columns. Values are read as files have them: numbers and truth values may be texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from fairq.errors.nearest import nearest

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
"""The names of the types in messages."""

NESTED = frozenset({"list", "object", "objects"})
"""Types that the state holds as JSON text."""


class Column(Struct, frozen=True):
    """One column: its *name* as PanDA or CRIC spells it, in files and in what is shown.

    Args:
        type: the type of its values; a time is in seconds since 1970.
        help: its meaning, as a part of a sentence.
        unit: the unit of a number.
        key: whether it is part of the key that identifies a record.
        default: the value of an absent value or null; None means not known. A key without a default is required.
        minimum: the smallest number allowed.
        words: the texts allowed; empty allows any.
        aliases: other names for it in files.
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
        name: its plural, which names the command.
        singular: the name of a single record.
        summary: the command's summary.
        columns: in the order of the listing, keys first.
        help: more about it in a sentence or two.
        example: a line of the manual that imports records.
        plural: the name of several records if it is not *name*.
    """

    name: str
    singular: str
    summary: str
    columns: tuple[Column, ...]
    help: str = ""
    example: str = ""
    plural: str = ""

    @property
    def several(self) -> str:
        """The name of several records."""
        return self.plural or self.name

    @property
    def table(self) -> str:
        """The name of its table in the state."""
        return f"broker_{self.name}"

    @cached_property
    def keys(self) -> tuple[Column, ...]:
        """The columns that identify a record."""
        return tuple(column for column in self.columns if column.key)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The index of each column by its name."""
        return {column.name: index for index, column in enumerate(self.columns)}

    @cached_property
    def spellings(self) -> dict[str, Column]:
        """The columns by every name that files may use, in lower case."""
        return {name.lower(): column for column in self.columns for name in (column.name, *column.aliases)}

    @cached_property
    def _key_indexes(self) -> list[int]:
        return [self.positions[column.name] for column in self.keys]

    def key_of(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of the keys in a row of all columns."""
        return tuple([row[index] for index in self._key_indexes])

    def title(self, record: dict[str, Any]) -> str:
        """Return the name of *record* in messages: its kind and the values of its keys."""
        keys = [str(record[column.name]) for column in self.keys if record.get(column.name) not in (None, "")]
        return " ".join([self.singular, ", ".join(keys)]) if keys else self.singular


_LARGEST = 2**53
"""The largest whole number; up to it, all are exact as reals."""

LARGEST_REAL = 1e18
"""The largest quantity; sums and products of a few stay finite."""

_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "y": True, "n": False, "1": True, "0": False}


class UnfitError(ValueError):
    """A value that its column does not allow; the text says what it must be."""


def value_of(column: Column, value: Any) -> Any:
    """Return *value* converted to the type of *column*.

    Null is the column's default, and so is an empty text unless the column holds texts. Raises UnfitError.
    """
    if isinstance(value, str) and column.type != "text" and not value.strip():
        value = None
    if value is None:
        if column.default is None and column.key:
            raise UnfitError("must be given")
        return list(column.default) if isinstance(column.default, tuple) else column.default
    converted = _READERS[column.type](value)
    if column.minimum is not None and converted < column.minimum:
        raise UnfitError(f"must be at least {column.minimum:g}, not {shown(value)}")
    if column.words and converted not in column.words:
        close = nearest(str(converted), column.words)
        choices = f"; did you mean {close}?" if close else f"; it is one of {', '.join(column.words)}"
        raise UnfitError(f"cannot be {shown(converted)}{choices}")
    if column.key and converted == "" and column.default != "":
        raise UnfitError("must not be empty")
    return converted


def named_value(column: Column, value: Any) -> Any:
    """Return `value_of`; its error names the column."""
    try:
        return value_of(column, value)
    except UnfitError as error:
        raise UnfitError(f"{column.name} {error}") from None


def shown(value: Any) -> str:
    """Return *value* as messages show it."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _unfit(kind: Type, value: Any) -> UnfitError:
    article = "" if kind == "boolean" else "a "
    return UnfitError(f"must be {article}{WORDS[kind]}, not {shown(value)}")


def _text(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _unfit("text", value)
    return _unicode(value.strip())


def _unicode(value: str) -> str:
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UnfitError(f"is not Unicode text: {shown(value)}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _unfit("integer", value)
    if isinstance(value, str):
        value = _number(value, "integer")
    if isinstance(value, float):
        if not value.is_integer():
            raise _unfit("integer", value)
        value = int(value)
    if not -_LARGEST <= value <= _LARGEST:
        raise UnfitError(f"is too large a number: {shown(value)}")
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _unfit("real", value)
    parsed = _number(value, "real") if isinstance(value, str) else value
    try:
        number = float(parsed)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _unfit("real", value)
    if abs(number) > LARGEST_REAL:
        raise UnfitError(f"is too large a number: {shown(value)}")
    return number


def _number(text: str, kind: Type) -> int | float:
    if "_" in text:  # Python accepts it in numbers
        raise _unfit(kind, text)
    try:
        return int(text) if len(text) < 400 else float(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise _unfit(kind, text) from None
    if not math.isfinite(number):
        raise _unfit(kind, text)
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word not in _TRUTH:
        raise _unfit("boolean", value)
    return _TRUTH[word]


def _time(value: Any) -> int:
    """Read seconds since 1970 or an ISO 8601 time; without a zone it is UTC, as PanDA's times are."""
    if isinstance(value, str) and not value.strip().lstrip("-").replace(".", "", 1).isdecimal():
        try:
            parsed = datetime.fromisoformat(value.strip())
        except ValueError:
            raise UnfitError(f"must be seconds since 1970 or an ISO 8601 time, not {shown(value)}") from None
        return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())
    number = _real(value)
    if abs(number) > 253_402_300_799:
        raise UnfitError(f"must be seconds since 1970 or an ISO 8601 time, not {shown(value)}")
    return int(number)


def _list(value: Any) -> list[str]:
    """Read a list of texts, or one text with commas between them."""
    if isinstance(value, str):
        value = _json(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, (list, tuple)):
        raise _unfit("list", value)
    return [_text(item) for item in value]


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = _json(value)
    if not isinstance(value, dict):
        raise _unfit("object", value)
    return value


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        value = _json(value)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, dict) for item in value):
        raise _unfit("objects", value)
    return list(value)


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise UnfitError(f"is not JSON: {shown(text)}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_READERS: dict[Type, Callable[[Any], Any]] = {
    "text": _text,
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "time": _time,
    "list": _list,
    "object": _object,
    "objects": _objects,
}
