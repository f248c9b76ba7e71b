"""The names of a report's members in expressions, and the names in an expression that no record has.

ClassAd names ignore case, and a report's names are snake_case: ``OwnerGroup`` and ``owner_group`` differ only by an
underscore. Both find the member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairq.errors.nearest import nearest

if TYPE_CHECKING:
    from fairq.engine.classad import Expression


def spelled(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *record* with its members also under their names without underscores.

    An ad is returned unchanged: a CamelCase name has only one spelling.
    """
    if not all(name.islower() for name in record):
        return record
    return {name.replace("_", ""): value for name, value in record.items()} | dict(record)


class UnknownNames:
    """The names that *expression* reads from a record, without those that a seen record has."""

    def __init__(self, expression: Expression) -> None:
        self._missing = {name.lower(): name for name in _names(expression)}
        self._shapes: set[tuple[str, ...]] = set()
        self._known: dict[str, str] = {}

    def see(self, record: Mapping[str, Any]) -> None:
        """Remove the names of *record*; a record with known names is cheap."""
        if not self._missing or (shape := tuple(record)) in self._shapes:
            return
        self._shapes.add(shape)
        self._known |= {name.lower(): name for name in shape}
        for name in spelled(record):
            self._missing.pop(name.lower(), None)

    def notes(self, noun: str) -> list[str]:
        """Return a sentence for each name that no record has; *noun* is the word for a record; none without records."""
        if not self._shapes:
            return []
        return [f"no {noun} has the attribute {name}{self._meant(lower)}" for lower, name in self._missing.items()]

    def _meant(self, lower: str) -> str:
        close = nearest(lower, self._known)
        return f"; did you mean {self._known[close]}?" if close else ""


def _names(expression: Expression) -> list[str]:
    from fairq.engine.classad.nodes import Node, Reference, children
    from fairq.engine.classad.references import RESERVED

    names: dict[str, None] = {}
    pending: list[Node] = [] if expression.node is None else [expression.node]
    while pending:
        node = pending.pop()
        if isinstance(node, Reference):
            scope = node.scope
            if isinstance(scope, Reference) and scope.scope is None and scope.name.lower() == "my":
                names[node.name] = None
            elif scope is not None:
                pending.append(scope)
            elif node.name.lower() not in RESERVED:
                names[node.name] = None
            continue
        pending.extend(reversed(children(node)))
    return list(names)
