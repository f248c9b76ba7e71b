"""The time in expressions: evaluation never reads a clock; the caller's time replaces the functions that read one."""

from __future__ import annotations

from typing import Final

from fairq.engine.classad.kinds import UNDEFINED
from fairq.engine.classad.nodes import (
    Binary,
    Call,
    Conditional,
    ListOf,
    Literal,
    NestedAd,
    Node,
    Reference,
    Unary,
    children,
)

READINGS: Final = frozenset({"time", "currenttime", "abstime", "formattime", "daytime"})
"""The functions that read the clock if they have no arguments."""


def reads_clock(node: Node) -> bool:
    """Return whether a function in *node* would read the clock."""
    if isinstance(node, Call) and not node.arguments and node.name.lower() in READINGS:
        return True
    return any(map(reads_clock, children(node)))


def at_time(node: Node, now: int | None) -> Node:  # noqa: PLR0911 - one per case
    """Return *node* with *now* in place of the clock in every function that reads it; None makes the time undefined."""
    match node:
        case Call(name, ()):
            return _replacement(name.lower(), Literal(UNDEFINED if now is None else now)) or node
        case Call(name, arguments):
            return Call(name, tuple(at_time(part, now) for part in arguments))
        case Reference(scope, name, absolute):
            return node if scope is None else Reference(at_time(scope, now), name, absolute)
        case Unary(operator, operand):
            return Unary(operator, at_time(operand, now))
        case Binary(operator, left, right):
            return Binary(operator, at_time(left, now), at_time(right, now))
        case Conditional(condition, positive, negative):
            return Conditional(at_time(condition, now), at_time(positive, now), at_time(negative, now))
        case ListOf(items):
            return ListOf(tuple(at_time(part, now) for part in items))
        case NestedAd(attributes):
            return NestedAd(tuple((name, at_time(part, now)) for name, part in attributes))
        case _:
            return node


def _replacement(name: str, now: Node) -> Node | None:
    match name:
        case "time":
            return now
        case "currenttime" | "abstime":
            return Call("absTime", (now,))
        case "formattime":
            return Call("formatTime", (Call("absTime", (now,)),))
        case "daytime":
            hours, minutes, seconds = (
                Call(field, (Call("absTime", (now,)),)) for field in ("getHours", "getMinutes", "getSeconds")
            )
            in_seconds = Binary("+", Binary("*", hours, Literal(3600)), Binary("*", minutes, Literal(60)))
            return Call("relTime", (Binary("+", in_seconds, seconds),))
    return None
