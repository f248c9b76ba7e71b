"""The syntax tree of an expression, and its text. Parentheses have no node: the shape of the tree expresses them."""

from __future__ import annotations

import math

from msgspec import Struct

from fairq.engine.classad.kinds import UNDEFINED, Absent

Scalar = bool | int | float | str | Absent


class Literal(Struct, frozen=True):
    """A constant."""

    value: Scalar


class Reference(Struct, frozen=True):
    """``name``, ``scope.name`` or, if *absolute*, ``.name``."""

    scope: Node | None
    name: str
    absolute: bool = False


class Unary(Struct, frozen=True):
    """One of ``+ - ! ~`` before an operand."""

    operator: str
    operand: Node


class Binary(Struct, frozen=True):
    """An operator between two operands, including ``?:`` without a middle part and the subscript ``[]``."""

    operator: str
    left: Node
    right: Node


class Conditional(Struct, frozen=True):
    """``condition ? positive : negative``."""

    condition: Node
    positive: Node
    negative: Node


class Call(Struct, frozen=True):
    """A function call; *name* keeps its spelling, functions ignore case."""

    name: str
    arguments: tuple[Node, ...]


class ListOf(Struct, frozen=True):
    """``{a, b}``."""

    items: tuple[Node, ...]


class NestedAd(Struct, frozen=True):
    """``[a = 1; b = 2]``."""

    attributes: tuple[tuple[str, Node], ...]


Node = Literal | Reference | Unary | Binary | Conditional | Call | ListOf | NestedAd


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one per case
    """Return the direct parts of *node*."""
    match node:
        case Literal():
            return ()
        case Reference():
            return () if node.scope is None else (node.scope,)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Conditional():
            return (node.condition, node.positive, node.negative)
        case Call():
            return node.arguments
        case ListOf():
            return node.items
        case NestedAd():
            return tuple(part for _, part in node.attributes)


def depth(node: Node) -> int:
    """Return the number of levels of the tree, found without recursion."""
    deepest = 0
    waiting = [(node, 1)]
    while waiting:
        current, level = waiting.pop()
        deepest = max(deepest, level)
        waiting.extend((child, level + 1) for child in children(current))
    return deepest


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
