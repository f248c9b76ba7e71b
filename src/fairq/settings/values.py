"""Reading and writing the value of one setting: from TOML, from text, back to text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from fairq.common import quantities
from fairq.settings.key import Key

LARGEST_INTEGER = 2**63 - 1


class BadValueError(ValueError):
    """The value is invalid for the key; the caller, which knows its origin, raises a SettingValueError instead."""


class BadNumberError(BadValueError):
    """The text is not a plain number; it may be one with a unit."""


def from_toml(key: Key, value: Any) -> Any:
    """Return the TOML *value* in the form of the setting *key*; raises BadValueError.

    The empty text unsets a setting that may be unset. An expression may be written as a bare number or boolean.
    """
    if key.unset and (value is False or (isinstance(value, str) and value.lower() == key.unset)):
        return None
    if value == "" and isinstance(value, str) and may_be_unset(key):
        return None
    if isinstance(value, str) and (amount := _amount(key, value)) is not None:
        value = amount
    return _READERS[key.type](key, value)


def _amount(key: Key, text: str) -> int | float | str | None:
    """Return the number for *key* from *text* with a unit (``12h``, ``2GB``, ``50%``); None if it is not one."""
    if key.type not in ("integer", "real") and key.unit != "seconds":
        return None
    amount: float | None = None
    if key.unit == "seconds":
        amount = quantities.duration(text)
    elif key.unit == "MiB":
        amount = quantities.size(text, 1024**2)
    elif key.is_fraction:
        amount = quantities.percentage(text)
    if amount is None:
        return None
    amount = int(amount) if float(amount).is_integer() else amount
    return str(amount) if key.type == "expression" else amount


def from_text(key: Key, text: str) -> Any:
    """Return the value for *key* from *text* on the command line or in a variable; raises BadValueError."""
    text = text.strip()
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):  # not UTF-8, which TOML requires
        raise BadValueError
    if key.unset and text.lower() == key.unset:
        return None
    match key.type:
        case "integer" | "real":
            try:
                return from_toml(key, read_integer(text) if key.type == "integer" else read_real(text))
            except BadNumberError:
                return from_toml(key, text)
        case "option":
            return from_toml(key, _as_number(text))
        case "boolean" if text.lower() in ("true", "false"):
            return text.lower() == "true"
        case _:
            return from_toml(key, _array(text) if key.type == "list" and text.startswith("[") else text)


def _array(text: str) -> Any:
    """Return the TOML array *text*, as people copy it from a settings file; raises BadValueError."""
    import tomllib

    try:
        document = tomllib.loads(f"array = {text}")
    except tomllib.TOMLDecodeError:
        raise BadValueError from None
    if len(document) > 1:
        raise BadValueError
    return document["array"]


def _as_number(text: str) -> Any:
    """Return *text* as a number if it is one, else *text*."""
    for read in (read_integer, read_real):
        try:
            return read(text)
        except BadValueError:
            continue
    return text


def read_integer(text: str) -> int:
    """Return a whole number of 64 bits; raises BadValueError."""
    if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or abs(int(text)) > LARGEST_INTEGER:
        raise BadNumberError
    return int(text)


def read_real(text: str) -> float:
    """Return a finite number in C's notation, without words such as ``nan``; raises BadValueError."""
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        raise BadNumberError
    if not math.isfinite(value := float(text)):
        raise BadNumberError
    return value


def may_be_unset(key: Key) -> bool:
    """Return whether the empty text unsets *key*."""
    return key.type in ("expression", "string") and (key.optional or key.default is None)


def to_toml(key: Key, value: Any) -> Any:
    """Return *value* of *key* in a form for TOML; the inverse of `from_toml`."""
    if value is None:
        return key.unset
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)  # as people write it: quota = 20
    return list(value) if isinstance(value, tuple) else value


def to_text(key: Key, value: Any) -> str:
    """Return *value* of *key* for people, in a form that `from_text` reads; empty if it is unset."""
    if value is None:
        return key.unset
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _number(key: Key, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int if key.type == "integer" else (int, float)):
        raise BadValueError
    if abs(value) > LARGEST_INTEGER if isinstance(value, int) else not math.isfinite(value):
        raise BadValueError
    if key.minimum is not None and value < key.minimum:
        raise BadValueError
    if key.maximum is not None and value > key.maximum:
        raise BadValueError
    return value if key.type == "integer" else float(value)


def _boolean(key: Key, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValueError
    return value


def _string(key: Key, value: Any) -> str:
    if not isinstance(value, str) or (not key.spaces and re.search(r"\s", value)):
        raise BadValueError
    return value


def _choice(key: Key, value: Any) -> str:
    if not isinstance(value, str) or value not in key.choices:
        raise BadValueError
    return value


def _expression(key: Key, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if not isinstance(value, str) or not value.strip():
        raise BadValueError
    return value


def _names(key: Key, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(re.split(r"[,\s]+", value.strip(", \t\r\n"))) if value.strip(", \t\r\n") else ()
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise BadValueError
    return tuple(value)


def _option(key: Key, value: Any) -> Any:
    if isinstance(value, list):
        return _names(key, value)
    if not isinstance(value, (str, bool, int, float)):
        raise BadValueError
    if not isinstance(value, (str, bool)):
        _number(replace(key, type="real"), value)
    return value


_READERS: dict[str, Callable[[Key, Any], Any]] = {
    "integer": _number,
    "real": _number,
    "boolean": _boolean,
    "string": _string,
    "expression": _expression,
    "list": _names,
    "choice": _choice,
    "option": _option,
}
