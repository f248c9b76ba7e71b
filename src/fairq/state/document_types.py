"""Read JSON values as typed records, and name the exact place of an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from fairq.errors.pool import InvalidDocumentError

_LARGEST = 2**63 - 1
"""What SQLite can hold."""

_Reader = Callable[[Any, str], Any]


def read_records(record_type: type[Any], value: Any, place: str, *, may_lack: bool = False) -> list[Any]:
    """Return a list of objects as records of the record type *record_type*; see `read_record`.

    Raises:
        InvalidDocumentError: naming the place below *place*.
    """
    if not isinstance(value, list):
        raise InvalidDocumentError(place=place, problem=f"must be a list, not {_shown(value)}")
    return [
        read_record(record_type, item, f"{place}[{number}]", may_lack=may_lack) for number, item in enumerate(value)
    ]


def read_record(record_type: type[Any], value: Any, place: str, *, may_lack: bool = False) -> Any:
    """Return an object with exactly the fields of the record type *record_type* as such a record.

    With *may_lack*, fields that have a default may be missing.

    Raises:
        InvalidDocumentError: naming the place below *place*.
    """
    readers = _readers(record_type)
    if may_lack and isinstance(value, dict):
        optional = record_type.__struct_fields__[
            len(record_type.__struct_fields__) - len(record_type.__struct_defaults__) :
        ]
        readers = {name: read for name, read in readers.items() if name in value or name not in optional}
    members = read_object(value, place, readers.keys())
    return record_type(**{name: read(members[name], f"{place}.{name}") for name, read in readers.items()})


def as_object(record: Any) -> dict[str, Any]:
    """Return a record as the object it is read from; ads are not copied."""
    return {name: _as_value(getattr(record, name)) for name in record.__struct_fields__}


def _as_value(value: Any) -> Any:
    if isinstance(value, Struct):
        return as_object(value)
    if isinstance(value, list):
        return [_as_value(item) for item in value]
    return value


def read_object(value: Any, place: str, names: Any = None) -> dict[str, Any]:
    """Return *value* if it is an object, with exactly the members *names* if given.

    Raises:
        InvalidDocumentError: it is something else, or a member is missing or unknown.
    """
    if not isinstance(value, dict):
        raise InvalidDocumentError(place=place, problem=f"must be an object, not {_shown(value)}")
    if names is not None and value.keys() != set(names):
        for name in names:
            if name not in value:
                raise InvalidDocumentError(place=place, problem=f"{name} is missing")
        unknown = next(name for name in value if name not in names)
        raise InvalidDocumentError(place=place, problem=f"{unknown!r} is not known here")
    return value


_known: dict[type[Any], dict[str, _Reader]] = {}


def _readers(record_type: type[Any]) -> dict[str, _Reader]:
    if record_type not in _known:
        hints = get_type_hints(record_type)
        _known[record_type] = {name: _reader(hints[name]) for name in record_type.__struct_fields__}
    return _known[record_type]


def _reader(hint: Any) -> _Reader:
    """Return the reader of values of the type *hint*, one of the types of the records."""
    if hint is Any:
        return lambda value, _: value
    if isinstance(hint, UnionType):
        (other,) = (argument for argument in get_args(hint) if argument is not NoneType)
        read = _reader(other)
        return lambda value, place: None if value is None else read(value, place)
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        return lambda value, place: read_records(item, value, place)
    if get_origin(hint) is dict:
        return read_object
    if isinstance(hint, type) and hint not in _PLAIN:
        read_it = read_record if issubclass(hint, Struct) else _choice
        return lambda value, place: read_it(hint, value, place)
    return _PLAIN[hint]


def _choice(hint: Any, value: Any, place: str) -> Any:
    try:
        return hint(value)
    except ValueError:
        problem = f"must be one of {', '.join(hint)}, not {_shown(value)}"
        raise InvalidDocumentError(place=place, problem=problem) from None


def _string(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidDocumentError(place=place, problem=f"must be a string, not {_shown(value)}")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidDocumentError(place=place, problem=f"is not Unicode text: {_shown(value)}")
    return value


def _boolean(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidDocumentError(place=place, problem=f"must be true or false, not {_shown(value)}")
    return value


def _integer(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise InvalidDocumentError(place=place, problem=f"must be a whole number, not {_shown(value)}")
    return value


def _real(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidDocumentError(place=place, problem=f"must be a number, not {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidDocumentError(place=place, problem=f"must be a finite number, not {_shown(value)}")
    return number


_PLAIN: dict[Any, _Reader] = {str: _string, bool: _boolean, int: _integer, float: _real}


def require(is_right: bool, place: str, problem: str) -> None:
    """Raise InvalidDocumentError for *place* unless something is right."""
    if not is_right:
        raise InvalidDocumentError(place=place, problem=problem)


def once(place: str, keys: Iterable[Any]) -> None:
    """Raise InvalidDocumentError for the first of the *keys* of a list that is there twice."""
    seen: dict[Any, int] = {}
    for number, key in enumerate(keys):
        first = seen.setdefault(key, number)
        require(first == number, f"{place}[{number}]", f"the same as {place}[{first}]")


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."
