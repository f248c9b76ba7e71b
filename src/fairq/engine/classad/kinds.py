"""The kinds of a ClassAd value, and the two values without a counterpart in Python."""

from __future__ import annotations

from enum import Enum
from typing import Final

UNDEFINED_KIND: Final = 0
ERROR_KIND: Final = 1
BOOLEAN: Final = 2
INTEGER: Final = 3
REAL: Final = 4
STRING: Final = 5
OTHER: Final = 6  # lists, nested ads, times: values that matching does not compute with

LIST: Final = 7  # internal to the evaluator: a list whose elements are all literals
MISSING: Final = 8  # internal to columns: the ad has no such attribute
EXPRESSION: Final = 9  # internal to columns: the attribute is an expression
RAW: Final = 10  # internal to columns: a nested ad or a list that holds expressions
KINDS: Final = range(11)


class Absent(Enum):
    """The two exceptional values of the ClassAd language."""

    UNDEFINED = "undefined"
    ERROR = "error"

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


UNDEFINED: Final = Absent.UNDEFINED
ERROR: Final = Absent.ERROR
