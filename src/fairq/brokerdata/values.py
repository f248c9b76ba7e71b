"""Read the values of columns as files have them: texts for numbers, nulls, several words for true."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from fairq.brokerdata.column import WORDS, Column, Type
from fairq.errors.nearest import nearest

_LARGEST = 2**53
"""The largest whole number: all up to it are exact as reals, too."""

LARGEST_REAL = 1e18
"""The largest number of a quantity; what is computed from several of them stays finite."""

_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "y": True, "n": False, "1": True, "0": False}


class UnfitError(ValueError):
    """A value is not what its column takes; its text says what it must be."""


def value_of(column: Column, value: Any) -> Any:
    """Return *value* as *column* holds it: null is the column's default, an empty text too unless it takes texts.

    Raises UnfitError.
    """
    if isinstance(value, str) and column.type != "text" and not value.strip():
        value = None
    if value is None:
        if column.default is None and column.key:
            raise UnfitError("must be given")
        return list(column.default) if isinstance(column.default, tuple) else column.default
    found = _READERS[column.type](value)
    if column.minimum is not None and found < column.minimum:
        raise UnfitError(f"must be at least {column.minimum:g}, not {shown(value)}")
    if column.words and found not in column.words:
        close = nearest(str(found), column.words)
        meant = f"; did you mean {close}?" if close else f"; it is one of {', '.join(column.words)}"
        raise UnfitError(f"cannot be {shown(found)}{meant}")
    if column.key and found == "" and column.default != "":
        raise UnfitError("must not be empty")
    return found


def shown(value: Any) -> str:
    """Return *value* as a message shows it."""
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
    found = _number(value, "real") if isinstance(value, str) else value
    try:
        number = float(found)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _unfit("real", value)
    if abs(number) > LARGEST_REAL:
        raise UnfitError(f"is too large a number: {shown(value)}")
    return number


def _number(text: str, kind: Type) -> int | float:
    if "_" in text:  # Python's own numbers may have it
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
    """Seconds since 1970, or ISO 8601, which is UTC without a zone, as PanDA's times are."""
    if isinstance(value, str) and not value.strip().lstrip("-").replace(".", "", 1).isdecimal():
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            raise UnfitError(f"must be seconds since 1970 or an ISO 8601 time, not {shown(value)}") from None
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    number = _real(value)
    if abs(number) > 253_402_300_799:
        raise UnfitError(f"must be seconds since 1970 or an ISO 8601 time, not {shown(value)}")
    return int(number)


def _list(value: Any) -> list[str]:
    """A list of texts, or texts between commas in one."""
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
