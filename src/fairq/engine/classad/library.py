"""HTCondor's own ClassAd library, loaded when first needed: the authority on what an expression means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

from fairq.common.depth import DEEPEST
from fairq.common.expression_form import expression_text
from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.parser import wrapped_integer

_NOT_UNICODE = "[\ud800-\udfff]"
_UNWRITABLE = "[\0\ud800-\udfff]"


@lru_cache(maxsize=1)
def library() -> ModuleType:
    """Return ``classad2``; importing ``htcondor2`` first registers HTCondor's own functions with it."""
    import htcondor2  # noqa: F401 - it registers stringListMember and others, and bare names' second look-up
    import classad2  # isort: skip

    loaded: ModuleType = classad2
    return loaded


@lru_cache(maxsize=20_000)
def tree(text: str) -> Any:
    """Return *text* parsed by the library."""
    # The library recognises a comment at the end of a text only with a line break after it.
    return library().ExprTree(text + "\n")


def to_library(value: Any) -> Any:
    """Return an ad's JSON-form value as the library's ads accept it; a value nested too deeply is the error value."""
    return _to_library(value, DEEPEST)


def _to_library(value: Any, levels: int) -> Any:  # noqa: PLR0911 - one per case
    text = expression_text(value)
    if text is not None:
        return readable_tree(text)
    if value is None or value is UNDEFINED:
        return library().Value.Undefined
    if value is ERROR:
        return library().Value.Error
    if isinstance(value, list | tuple):
        return [_to_library(item, levels - 1) for item in value] if levels else library().Value.Error
    if isinstance(value, Mapping):
        return _to_ad(value, levels - 1) if levels else library().Value.Error
    if isinstance(value, str):
        return writable(value)
    return wrapped_integer(value) if type(value) is int else value


def to_ad(ad: Mapping[str, Any]) -> Any:
    """Return a library ad with the attributes of *ad*."""
    return _to_ad(ad, DEEPEST)


def _to_ad(ad: Mapping[str, Any], levels: int) -> Any:
    result = library().ClassAd()
    for name, value in ad.items():
        if has_name(name):
            result[name] = _to_library(value, levels)
    return result


def readable_tree(text: str) -> Any:
    """Return *text* parsed by the library; unreadable text, as in unchecked records, is the error value."""
    try:
        return tree(text)
    except (library()._class_ad.ClassAdException, ValueError):
        return library().Value.Error


def writable(text: str) -> str:
    """Return *text* with U+FFFD for each character on which the library crashes or cuts the text off.

    These characters are NUL, and bytes that are not UTF-8, which Python holds as lone surrogates.
    """
    return re.sub(_UNWRITABLE, "\ufffd", text) if "\0" in text or not text.isascii() else text


def has_name(name: str) -> bool:
    """Return whether the library can hold an attribute called *name*; no expression can refer to any other."""
    return bool(name) and "\0" not in name and (name.isascii() or is_unicode(name))


def is_unicode(text: str) -> bool:
    """Return whether *text* is valid Unicode: Python holds bytes that are not UTF-8 as lone surrogates."""
    return text.isascii() or re.search(_NOT_UNICODE, text) is None


def from_library(value: Any) -> Any:
    """Return a value that the library computed, with fairq's UNDEFINED and ERROR for the library's."""
    if type(value) in (str, int, float, bool):  # loading the library takes time, and these need it not
        return value
    value_class = library().Value
    if value is value_class.Undefined:
        return UNDEFINED
    if value is value_class.Error:
        return ERROR
    return value


def evaluate_or_raise(parsed: Any, my: Any, target: Any) -> Any:
    """Evaluate *parsed* with the library's ads *my* and *target*; raises one of `gave_up`."""
    return from_library(parsed.eval(my, target))


def gave_up() -> tuple[type[Exception], ...]:
    """Return the exceptions that the library raises for deeply nested expressions and for text that is not UTF-8."""
    return (library()._class_ad.ClassAdException, UnicodeError)


def evaluate_tree(parsed: Any, my: Any, target: Any) -> Any:
    """Evaluate *parsed* with the library's ads *my* and *target*; ERROR where the library gives up."""
    try:
        return evaluate_or_raise(parsed, my, target)
    except gave_up():
        return ERROR
