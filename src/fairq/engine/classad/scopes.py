"""The ad to which a name refers, as in HTCondor's match ads (src/classad/matchClassad.cpp, attrrefs.cpp)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Protocol

from fairq.engine.classad.nodes import Node, Reference


class Side(IntEnum):
    """The two parties of a match: the single ad and the many in columns."""

    AD = 0
    COLUMNS = 1

    @property
    def other(self) -> Side:
        """The other party."""
        return Side(1 - self)


CURRENT_TIME: Final = "currenttime"
_OWN: Final = frozenset({"my", "self", "ad"})
_OTHER: Final = frozenset({"target", "other"})
RESERVED: Final = (
    _OWN
    | _OTHER
    | {CURRENT_TIME, "parent", "toplevel", "root", "left", "right", "lctx", "rctx"}
    | {"symmetricmatch", "leftmatchesright", "rightmatchesleft", "leftrankvalue", "rightrankvalue"}
)
"""Names that have a meaning in a match although the ad has no attribute of that name."""


class Owner(Protocol):
    """Answers whether an ad of a side has an attribute of its own."""

    def owns(self, side: Side, name: str) -> bool:
        """Tell whether any ad of *side* has the attribute *name* (lower case)."""
        ...


def scope_side(scope: Node, side: Side, owner: Owner) -> Side | None:
    """Return the party that *scope* names from *side*: ``MY``, ``TARGET``, ``MY.TARGET``; None for any other scope."""
    if not isinstance(scope, Reference) or scope.absolute:
        return None
    base = side if scope.scope is None else scope_side(scope.scope, side, owner)
    name = scope.name.lower()
    if base is None or owner.owns(base, name):
        return None
    if name in _OWN:
        return base
    return base.other if name in _OTHER else None
