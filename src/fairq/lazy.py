"""Values that an object computes when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")
T_co = TypeVar("T_co", covariant=True)


class lazy(Generic[Owner, T_co]):  # noqa: N801 - reads as the decorator that it is used as
    """`functools.cached_property` without its lock, which takes longer than most of what is computed (Python 3.11).

    The object must have a dictionary, and belong to one thread.
    """

    def __init__(self, compute: Callable[[Owner], T_co]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Owner, kind: Any = None) -> T_co:
        # Asked for once more, the value is found in the dictionary before this.
        found = owner.__dict__[self._name] = self._compute(owner)
        return found
