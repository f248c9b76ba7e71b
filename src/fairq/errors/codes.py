"""The classes of errors by their exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import fairq.errors
from fairq.errors.base import FairqError


def error_classes() -> list[type[FairqError]]:
    """Return every class of errors."""
    for module in iter_modules(fairq.errors.__path__):
        import_module(f"fairq.errors.{module.name}")
    return list(_subclasses(FairqError))


def error_class(code: int) -> type[FairqError]:
    """Return the class of errors with this exit *code*, `FairqError` if there is none."""
    return next((cls for cls in error_classes() if cls.exit_code == code), FairqError)


def _subclasses(cls: type[FairqError]) -> Iterator[type[FairqError]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
