"""The two parties of an evaluation: the single ad and the ads in columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.engine.classad.column import ABSENT
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.convert import constant, is_scalar
from fairq.engine.classad.expression import Expression, expression_of, parse
from fairq.engine.classad.library import expression_text
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.vectors import Vector


class Parties:
    """The single ad and the ads in columns, for which one expression is evaluated."""

    def __init__(self, ad: Mapping[str, Any], columns: AdColumns) -> None:
        self.columns = columns
        self._attributes = {name.lower(): value for name, value in ad.items()}

    def owns(self, side: Side, name: str) -> bool:
        """Tell whether any ad of *side* has the attribute *name* (lower case)."""
        if side is Side.AD:
            return name in self._attributes
        return not self.columns.column(name).is_missing

    def may_lack(self, side: Side, name: str) -> bool:
        """Tell whether any ad of *side* lacks the attribute *name* (lower case)."""
        if side is Side.AD:
            return name not in self._attributes
        return self.columns.column(name).may_be_missing

    def names(self, side: Side) -> frozenset[str]:
        """Return the lower-case names of all attributes of *side*."""
        return frozenset(self._attributes) if side is Side.AD else self.columns.names()

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* has on *side*."""
        if side is Side.COLUMNS:
            return self.columns.nodes(name)
        value = self._attributes.get(name)
        if is_scalar(value) and expression_text(value) is None:
            return []
        text = expression_text(value)
        return [expression_of(value).node if text is None else parse(text).node]

    def json_ad(self, names: frozenset[str]) -> dict[str, Any]:
        """Return the single ad with only the attributes *names*."""
        return {name: value for name, value in self._attributes.items() if name in names}

    def attribute(self, name: str) -> Vector | Expression | None:
        """Return the single ad's own attribute: its value, its expression, or None for a nested ad or list.

        The attribute must be there.
        """
        value = self._attributes.get(name, ABSENT)
        text = expression_text(value)
        if text is not None:
            return parse(text)
        if isinstance(value, Mapping):
            return None
        if isinstance(value, list | tuple) and not all(is_scalar(p) and expression_text(p) is None for p in value):
            return None
        return constant(value, self.columns.pool)
