"""A syntax tree as text that parses back to the same tree, exact to the last bit of its numbers."""

from __future__ import annotations

import math

from fairq.engine.classad.kinds import UNDEFINED, Absent
from fairq.engine.classad.nodes import (
    Binary,
    Call,
    Conditional,
    ListOf,
    Literal,
    NestedAd,
    Node,
    Reference,
    Scalar,
    Unary,
)


def unparse(node: Node) -> str:  # noqa: PLR0911 - one per case
    """Return *node* as text, every operation in parentheses."""
    match node:
        case Literal(value):
            return literal_text(value)
        case Reference(None, name, absolute):
            return ("." if absolute else "") + name_text(name)
        case Reference(scope, name):
            assert scope is not None
            return f"({unparse(scope)}).{name_text(name)}"
        case Unary(operator, operand):
            return f"({operator}({unparse(operand)}))"
        case Binary("[]", left, right):
            return f"(({unparse(left)})[{unparse(right)}])"
        case Binary("?:", left, right):
            return f"(({unparse(left)})?:({unparse(right)}))"
        case Binary(operator, left, right):
            return f"({unparse(left)} {operator} {unparse(right)})"
        case Conditional(condition, positive, negative):
            return f"({unparse(condition)} ? {unparse(positive)} : {unparse(negative)})"
        case Call(name, arguments):
            return f"{name}({', '.join(map(unparse, arguments))})"
        case ListOf(items):
            return f"{{{', '.join(map(unparse, items))}}}"
        case NestedAd(attributes):
            return f"[{'; '.join(f'{name_text(name)} = {unparse(part)}' for name, part in attributes)}]"


def literal_text(value: Scalar) -> str:
    """Return a constant as ClassAd text."""
    if isinstance(value, Absent):
        return "undefined" if value is UNDEFINED else "error"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return f'real("{value}")'
    return _quoted(value, '"')


def name_text(name: str) -> str:
    """Return an attribute name in quotes, so that it cannot be read as a keyword."""
    return _quoted(name, "'")


def _quoted(value: str, quote: str) -> str:
    escaped = value.replace("\\", "\\\\").replace(quote, "\\" + quote)
    for character, letter in (("\n", "n"), ("\r", "r"), ("\t", "t")):
        escaped = escaped.replace(character, "\\" + letter)
    return f"{quote}{escaped}{quote}"
