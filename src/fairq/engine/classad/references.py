"""The ad to which a name refers, and the attributes that can influence the value of an expression.

A name means what it does in HTCondor's match ads (src/classad/matchClassad.cpp, attrrefs.cpp). References are followed
through the expressions of both parties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from fairq.common.expression_form import is_expression, may_read
from fairq.engine.classad.clock import READINGS
from fairq.engine.classad.expression import constant_size, expression_of
from fairq.engine.classad.function_names import PER_ELEMENT, RANDOM, TIMES, UNSCOPED
from fairq.engine.classad.nodes import Binary, Call, ListOf, Literal, Node, Reference, children

if TYPE_CHECKING:
    from fairq.engine.classad.column import Column


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
    """Knows which attributes the ads of each side have."""

    def owns(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* has the attribute *name* (lower case)."""
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


class Matching(Owner, Protocol):
    """What the closure needs to know about the two parties."""

    def may_lack(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* lacks the attribute *name* (lower case)."""
        ...

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* has on *side*."""
        ...


EVERY_ATTRIBUTE: Final = "*"
"""Stands for all attribute names: the attributes that some expression reads cannot be determined in advance."""


Attribute = tuple[Side, str]


class Closure(Struct):
    """The attributes that expressions read.

    *everything*: the attributes cannot be determined; *times*: the expressions compute with times; *draws*: they
    draw random numbers; *clock*: their values may change with the time at which they are evaluated.

    `edges` lead from each attribute (None: from the expression itself) to the attributes that its expressions
    read, with whether the library's guard against endless recursion misses the step.
    """

    read: set[Attribute] = field(default_factory=set)
    everything: bool = False
    times: bool = False
    draws: bool = False
    clock: bool = False
    edges: dict[Attribute | None, set[tuple[Attribute, bool]]] = field(default_factory=dict)

    def names(self, side: Side) -> frozenset[str]:
        """Return the lower-case names of the attributes read of *side*."""
        return frozenset(name for party, name in self.read if party is side)

    def single_names(self) -> frozenset[str]:
        """Return the lower-case names read from the single ad, with EVERY_ATTRIBUTE if others may be read."""
        return self.names(Side.AD) | ({EVERY_ATTRIBUTE} if self.everything else frozenset())

    def may_recurse_endlessly(self) -> bool:
        """Return whether the library may recurse endlessly: it does not notice a circle through a list."""
        return any(hidden and start in self._reached(end) for start, ends in self.edges.items() for end, hidden in ends)

    def _reached(self, start: Attribute) -> set[Attribute | None]:
        reached: set[Attribute | None] = {start}
        waiting = [start]
        while waiting:
            for end, _ in self.edges.get(waiting.pop(), ()):
                if end not in reached:
                    reached.add(end)
                    waiting.append(end)
        return reached


def closure(
    start: Iterable[tuple[Side, Node | None]], parties: Matching, attributes: Iterable[Attribute] = ()
) -> Closure:
    """Return the closure of the attributes read by the expressions *start*, each on its side, and by *attributes*."""
    start, attributes = list(start), list(attributes)
    search = _Search(parties)
    reads = search.run(start, attributes)
    return _Search(parties, in_elements=True).run(start, attributes) if search.misses_elements else reads


class _Search:
    def __init__(self, parties: Matching, *, in_elements: bool = False) -> None:
        self._parties = parties
        self._reads = Closure()
        self._in_elements = in_elements
        """Whether expressions may be evaluated in nested ads, where a name may refer to either party."""
        self._meets_elements = False
        self._waiting: list[tuple[Attribute | None, Side, Node | None]] = []

    def run(self, start: Iterable[tuple[Side, Node | None]], attributes: Iterable[Attribute]) -> Closure:
        self._waiting = [(None, side, node) for side, node in start]
        for side, name in attributes:
            self._add(None, side, name, False)
        while self._waiting:
            origin, side, node = self._waiting.pop()
            if node is None:
                self._reads.everything = True
            else:
                self._expression(origin, side, node)
        return self._reads

    @property
    def misses_elements(self) -> bool:
        """Whether some expression is evaluated in nested ads, but the search did not consider that."""
        return self._meets_elements and not self._in_elements

    def _expression(self, origin: Attribute | None, side: Side, root: Node) -> None:
        waiting = [(root, False)]
        while waiting:
            node, hidden = waiting.pop()
            match node:
                case Reference():
                    self._reference(origin, side, node, hidden)
                    if node.scope is not None and not isinstance(node.scope, Reference):
                        waiting.append((node.scope, hidden))
                    continue
                case Binary("[]", scope, index) if (party := scope_side(scope, side, self._parties)) is not None:
                    if isinstance(index, Literal) and isinstance(index.value, str):
                        self._add(origin, party, index.value.lower(), True)
                        continue
                    if origin is not None:
                        self._reads.edges.setdefault(origin, set()).add((origin, True))
                case Call(name):
                    if name.lower() in PER_ELEMENT:
                        self._meets_elements = True
                    else:
                        self._reads.everything |= name.lower() in UNSCOPED
                    self._reads.times |= name.lower() in TIMES
                    self._reads.draws |= name.lower() == RANDOM
                    self._reads.clock |= name.lower() in READINGS
            hidden = hidden or _hides(node)
            waiting.extend((part, hidden) for part in children(node))

    def _add(self, origin: Attribute | None, side: Side, name: str, hidden: bool) -> None:
        attribute = (side, name)
        self._reads.edges.setdefault(origin, set()).add((attribute, hidden))
        if attribute not in self._reads.read:
            self._reads.read.add(attribute)
            self._waiting.extend((attribute, side, node) for node in self._parties.nodes(side, name))

    def _reference(self, origin: Attribute | None, side: Side, reference: Reference, hidden: bool) -> None:
        name = reference.name.lower()
        reserved = name in RESERVED and name != CURRENT_TIME
        self._reads.clock |= name == CURRENT_TIME
        if self._in_elements and name != CURRENT_TIME:
            self._add(origin, side, name, hidden)
            self._add(origin, side.other, name, hidden)
        if reference.absolute or (reference.scope is None and reserved):
            self._reads.everything = True
        elif reference.scope is None:
            if self._parties.owns(side, name) or side is Side.AD:
                self._add(origin, side, name, hidden)
            if self._parties.may_lack(side, name) and name != CURRENT_TIME:
                self._add(origin, side.other, name, hidden)
        elif (scope := scope_side(reference.scope, side, self._parties)) is not None:
            # the library also looks up a reserved name around the ad
            self._reads.everything |= reserved
            self._add(origin, scope, name, hidden)
        else:
            # if a nested ad lacks the name, the enclosing ad decides, which may be either party
            self._add(origin, side, name, hidden)
            self._add(origin, side.other, name, hidden)
            if isinstance(reference.scope, Reference):
                self._reference(origin, side, reference.scope, hidden)


def _hides(node: Node) -> bool:
    """Return whether the library evaluates parts of *node* without its guard against endless recursion."""
    if isinstance(node, Call):
        return node.name.lower() in UNSCOPED
    return isinstance(node, ListOf) or (isinstance(node, Binary) and node.operator == "[]")


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
        """Return whether some ad of *side* is known to have the attribute *name* (lower case)."""
        if side is Side.AD:
            return name in self._nodes
        return not self._columns.column(name).is_missing

    def may_lack(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* may lack the attribute *name* (lower case)."""
        return side is Side.AD or self._columns.column(name).may_be_missing

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* may have on *side*."""
        if side is Side.AD:
            return list(self._nodes.get(name, {}).values())
        return self._columns.nodes(name)


class Pair:
    """Two single ads; AD is the side of *my*, whose expressions are evaluated."""

    def __init__(self, my: Mapping[str, Any], target: Mapping[str, Any]) -> None:
        self._ads = {
            Side.AD: {name.lower(): value for name, value in my.items()},
            Side.COLUMNS: {name.lower(): value for name, value in target.items()},
        }

    def owns(self, side: Side, name: str) -> bool:
        """Return whether the ad of *side* has the attribute *name* (lower case)."""
        return name in self._ads[side]

    def may_lack(self, side: Side, name: str) -> bool:
        """Return whether the ad of *side* lacks the attribute *name* (lower case)."""
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
