"""The two parties of an evaluation: the single ad and the ads in columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from fairq.common.expression_form import OPEN, expression_text, may_read
from fairq.engine.classad.column import ABSENT, Column
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.convert import constant, is_scalar
from fairq.engine.classad.expression import Expression, constant_size, expression_of, parse
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.references import Side
from fairq.engine.classad.vectors import Rows, Vector

SHORT: Final = 64
"""Size that counts for every string of the single ad with at most this number of characters."""

FEW: Final = 100
"""Most strings of one attribute of the columns to examine one by one."""


class Parties:
    """The single ad and the ads in columns, for which one expression is evaluated."""

    _shape: Hashable = None

    def __init__(self, ad: Mapping[str, Any], columns: AdColumns) -> None:
        self.columns = columns
        self._attributes = {name.lower(): value for name, value in ad.items()}
        self.looked_at_texts = False

    def owns(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* has the attribute *name* (lower case)."""
        if side is Side.AD:
            return name in self._attributes
        return not self.columns.column(name).is_missing

    def may_lack(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* lacks the attribute *name* (lower case)."""
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

    def unevaluated(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of those values of the attribute *name* on *side* that are not constants."""
        if side is Side.COLUMNS:
            return self.columns.column(name).unevaluated
        value = self._attributes.get(name)
        return [expression_of(value).node] if may_read(value) and constant_size(value) is None else []

    def size(self, side: Side, name: str) -> int:
        """Return the largest size of a constant that *name* has on *side*; for the single ad it is at least SHORT."""
        if side is Side.COLUMNS:
            return self.columns.column(name).size(self.columns.pool)
        return max(SHORT, constant_size(self._attributes.get(name)) or 0)

    def texts(self, side: Side, name: str) -> list[str] | None:
        """Return the possible string values of *name* on *side*; None if it may be an expression or has many values."""
        if side is Side.COLUMNS:
            column = self.columns.column(name)
            strings = [] if column.expressions or column.raw else column.strings(self.columns.pool)
            return None if column.expressions or column.raw or len(strings) > FEW else strings
        self.looked_at_texts = True
        value = self._attributes.get(name)
        if isinstance(value, str):
            return None if expression_text(value) is not None else [value]
        return None if may_read(value) else []

    def shape(self) -> Hashable:
        """Return the key of the single ad for the costs of expressions; it does not hold if its texts were examined."""
        if self._shape is None:
            long_values = [
                (name, value if value.__class__ is str else repr(value))
                for name, value in self._attributes.items()
                if (value.__class__ is str and (len(value) > SHORT or value.startswith(OPEN)))
                or isinstance(value, list | tuple | Mapping)
            ]
            self._shape = tuple(self._attributes), *long_values
        return self._shape

    def json_ad(self, names: frozenset[str]) -> dict[str, Any]:
        """Return the single ad with only the attributes *names*."""
        return {name: value for name, value in self._attributes.items() if name in names}

    def text(self, side: Side, name: str, row: int) -> str | None:
        """Return the text of the attribute *name* if it is an expression; *row* applies to the columns."""
        value = self._attributes.get(name) if side is Side.AD else self.columns.json_value(row, name)
        return expression_text(value)

    def name_of(self, text: str) -> str | None:
        """Return the name of the single ad's attribute whose expression is *text*."""
        return next((name for name, value in self._attributes.items() if expression_text(value) == text), None)

    def attribute(self, name: str) -> Vector | Expression | None:
        """Return the single ad's own attribute: its value, its expression, or None for a nested ad or list.

        The attribute must exist.
        """
        value = self._attributes.get(name, ABSENT)
        text = expression_text(value)
        if text is not None:
            return parse(text)
        if isinstance(value, Mapping):
            return None
        if isinstance(value, list | tuple) and not all(
            is_scalar(element) and expression_text(element) is None for element in value
        ):
            return None
        return constant(value, self.columns.pool)


class PartiesOfRows(Parties):
    """The same two parties with only some *rows* of the columns, to find the cost of an expression for them."""

    def __init__(self, parties: Parties, rows: Rows) -> None:
        self.columns = parties.columns
        self._attributes = parties._attributes
        self._rows = rows
        self.looked_at_texts = False

    def unevaluated(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of those values of the attribute *name* on *side* that are not constants."""
        return self._column(name).unevaluated if side is Side.COLUMNS else super().unevaluated(side, name)

    def size(self, side: Side, name: str) -> int:
        """Return the largest size of a constant that *name* has on *side*; for the single ad it is at least SHORT."""
        return self._column(name).size(self.columns.pool) if side is Side.COLUMNS else super().size(side, name)

    def _column(self, name: str) -> Column:
        return self.columns.column(name).of_rows(self._rows)
