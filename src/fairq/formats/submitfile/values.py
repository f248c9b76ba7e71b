"""The right-hand side of ``Name = value`` in HTCondor's files, as a value of an ad."""

from __future__ import annotations

import math
import re
from typing import Any

from fairq.common.expression_form import as_expression
from fairq.common.records import PROC_PLACEHOLDER

_INTEGER = re.compile(r"[-+]?\d{1,30}")
_REAL = re.compile(r"[-+]?(?:\d+\.\d*|\.?\d+[eE][-+]?\d+|\d+\.\d*[eE][-+]?\d+|\.\d+)")
_STRING = re.compile(r'"((?:[^"\\]|\\(?!$).)*)"', re.DOTALL)
_LONE_BACKSLASH = re.compile(r'\\(?!")')
_KEYWORDS = {"true": True, "false": False}


def value_of(text: str) -> Any:
    """Return the value of *text*: the literal, or ``/Expr(...)/`` for any other expression.

    Text follows the old ClassAd rule of HTCondor's files: a backslash stands for itself, unless a double
    quote follows. Raises ExpressionError if *text* is not an expression.
    """
    text = text.strip()
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if (keyword := _KEYWORDS.get(text.lower())) is not None:
        return keyword
    if (string := _STRING.fullmatch(text)) and '"' not in string[1].replace('\\"', ""):
        return string[1].replace('\\"', '"')
    from fairq.engine.classad import parse

    escaped = _LONE_BACKSLASH.sub(r"\\\\", text)
    parse(escaped.replace(PROC_PLACEHOLDER, "0"))
    return as_expression(escaped)
