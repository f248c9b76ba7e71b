"""The parties of a match with an unknown single ad, to find the attributes that expressions would read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from fairq.common.expression_form import may_read
from fairq.engine.classad.column import Column
from fairq.engine.classad.expression import expression_of
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.scopes import Side


class _Columns(Protocol):
    def column(self, name: str) -> Column: ...

    def nodes(self, name: str) -> list[Node | None]: ...


class UnknownAd:
    """Stands for any single ad: it may lack every attribute, and it may have every expression that *ads* have."""

    def __init__(self, ads: Iterable[Mapping[str, Any]], columns: _Columns) -> None:
        self._columns = columns
        self._nodes: dict[str, dict[str, Node | None]] = {}
        for ad in ads:
            for name, value in ad.items():
                if may_read(value):
                    expression = expression_of(value)
                    self._nodes.setdefault(name.lower(), {})[expression.text] = expression.node

    def owns(self, side: Side, name: str) -> bool:
        """Tell whether some ad of *side* is known to have the attribute *name* (lower case)."""
        if side is Side.AD:
            return name in self._nodes
        return not self._columns.column(name).is_missing

    def may_lack(self, side: Side, name: str) -> bool:
        """Tell whether any ad of *side* may lack the attribute *name* (lower case)."""
        return side is Side.AD or self._columns.column(name).may_be_missing

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* may have on *side*."""
        if side is Side.AD:
            return list(self._nodes.get(name, {}).values())
        return self._columns.nodes(name)
