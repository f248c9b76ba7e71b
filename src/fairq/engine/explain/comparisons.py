"""A clause that compares an attribute of the other ad with a value, and the values that would satisfy it."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import Expression, parse
from fairq.engine.classad.nodes import Binary, Literal, Node, Reference, unparse

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "is": "is"}


class Comparison(Struct, frozen=True):
    """``attribute operator value``, with the *attribute* of the other ad on the left.

    Args:
        attribute: its name as written, *scoped* if it is written with TARGET.
        operator: one of ``< <= > >= == is``.
        value: the other side, an expression of the own ad.
        own: the attribute of the own ad, if the value is only its name.
    """

    attribute: str
    scoped: bool
    operator: str
    value: Expression
    own: str | None = None

    @property
    def prefers_more(self) -> bool:
        """Whether a larger attribute helps."""
        return self.operator in (">", ">=")

    def with_value(self, value: Any) -> str:
        """Return the clause with another value, as text."""
        name = f"TARGET.{self.attribute}" if self.scoped else self.attribute
        operator = "=?=" if self.operator == "is" else self.operator
        return f"{name} {operator} {unparse(Literal(value))}"

    def value_for(self, attribute: Any) -> Any:
        """Return the value nearest to *attribute* for which the clause is true."""
        return _step_from(attribute, {"<": 1, ">": -1}.get(self.operator, 0))

    def attribute_for(self, value: Any) -> Any:
        """Return the attribute nearest to *value* for which the clause is true."""
        return _step_from(value, {"<": -1, ">": 1}.get(self.operator, 0))

    def nearest(self, attributes: NDArray[np.float64], value: float) -> float | None:
        """Return the number among *attributes* nearest to satisfying the clause, None if none is a number."""
        numbers = attributes[np.isfinite(attributes)]
        if not len(numbers):
            return None
        if self.operator in ("==", "is"):
            return float(numbers[np.argmin(np.abs(numbers - value))])
        return float(numbers.max() if self.prefers_more else numbers.min())


def comparison(text: str, own: Container[str]) -> Comparison | None:
    """Read the clause *text* of an ad that has the attributes *own* (lower case); None if it is no comparison.

    A clause that is only the name of an attribute of the other ad requires it to be true. Of parts joined by ``||``,
    one comparison is used; an order comes before an equality.
    """
    return _read(parse(text).node, own)


def _read(node: Node | None, own: Container[str]) -> Comparison | None:
    if isinstance(node, Binary) and node.operator == "||":
        parts = [part for part in (_read(node.left, own), _read(node.right, own)) if part is not None]
        return min(parts, key=lambda part: part.operator in ("==", "is"), default=None)
    if isinstance(node, Reference):
        name = _other_name(node, own)
        return None if name is None else Comparison(name, node.scope is not None, "==", parse("true"))
    if not isinstance(node, Binary) or node.operator not in _FLIPPED:
        return None
    for attribute, operator, value in (
        (node.left, node.operator, node.right),
        (node.right, _FLIPPED[node.operator], node.left),
    ):
        name = _other_name(attribute, own)
        if name is not None and _other_name(value, own) is None:
            scoped = isinstance(attribute, Reference) and attribute.scope is not None
            return Comparison(name, scoped, operator, Expression(unparse(value), value), _own_name(value, own))
    return None


def plain(value: Any) -> Any:
    """Return a whole number as an integer, other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _step_from(value: Any, step: int) -> Any:
    if step == 0 or isinstance(value, str | bool):
        return plain(value)
    start = plain(value)
    return start + step if isinstance(start, int) else float(np.nextafter(start, start + step))


def _scope(node: Reference) -> str | None:
    return node.scope.name.lower() if isinstance(node.scope, Reference) else None


def _other_name(node: Node, own: Container[str]) -> str | None:
    if not isinstance(node, Reference) or node.absolute:
        return None
    if node.scope is None:
        return None if node.name.lower() in own else node.name
    return node.name if _scope(node) == "target" else None


def _own_name(node: Node, own: Container[str]) -> str | None:
    if not isinstance(node, Reference) or node.absolute or (node.scope is not None and _scope(node) != "my"):
        return None
    return node.name if node.name.lower() in own else None
