"""Two ads in JSON form as the parties of a match, to find the attributes that an expression would read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairq.common.expression_form import is_expression, may_read
from fairq.engine.classad.expression import constant_size, expression_of
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.scopes import Side


class Pair:
    """Two single ads; AD is the side of *my*, whose expressions are evaluated."""

    def __init__(self, my: Mapping[str, Any], target: Mapping[str, Any]) -> None:
        self._ads = {
            Side.AD: {name.lower(): value for name, value in my.items()},
            Side.COLUMNS: {name.lower(): value for name, value in target.items()},
        }

    def owns(self, side: Side, name: str) -> bool:
        """Tell whether the ad of *side* has the attribute *name* (lower case)."""
        return name in self._ads[side]

    def may_lack(self, side: Side, name: str) -> bool:
        """Tell whether the ad of *side* lacks the attribute *name* (lower case)."""
        return name not in self._ads[side]

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the tree of the attribute *name* of *side* if it is an expression, a list or a nested ad."""
        value = self._ads[side].get(name)
        return [expression_of(value).node] if may_read(value) else []

    def unevaluated(self, side: Side, name: str) -> list[Node | None]:
        """Return the tree of the attribute *name* of *side* if it is, or holds, an expression."""
        return [] if constant_size(self._ads[side].get(name)) is not None else self.nodes(side, name)

    def size(self, side: Side, name: str) -> int:
        """Return the size of the attribute *name* of *side*; 0 if it is not a constant."""
        return constant_size(self._ads[side].get(name)) or 0

    def texts(self, side: Side, name: str) -> list[str] | None:
        """Return the value of *name* on *side* if it is a string; None for an expression, a list or a nested ad."""
        value = self._ads[side].get(name)
        if isinstance(value, str):
            return None if is_expression(value) else [value]
        return None if may_read(value) else []

    def attributes(self) -> Iterator[tuple[Side, str]]:
        """Return all attributes of both ads."""
        return ((side, name) for side, ad in self._ads.items() for name in ad)
