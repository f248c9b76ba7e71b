"""The syntax tree of an expression. Parentheses have no node: the shape of the tree expresses them."""

from __future__ import annotations

from msgspec import Struct

from fairq.engine.classad.kinds import Absent

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
