"""Which attributes can influence the value of an expression, followed through both parties' expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from fairq.engine.classad.functions import TIMES, UNSCOPED
from fairq.engine.classad.nodes import Call, Node, Reference, children
from fairq.engine.classad.scopes import CURRENT_TIME, RESERVED, Owner, Side, scope_side


class Matching(Owner, Protocol):
    """What the closure asks about the two parties."""

    def may_lack(self, side: Side, name: str) -> bool:
        """Tell whether any ad of *side* lacks the attribute *name* (lower case)."""
        ...

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* has on *side*."""
        ...


EVERY_ATTRIBUTE: Final = "*"
"""Stands among attribute names for all of them: some expression's reach cannot be told beforehand."""


@dataclass
class Closure:
    """The attributes that are read; *everything* if they cannot be told, *times* if times are computed with."""

    read: set[tuple[Side, str]] = field(default_factory=set)
    everything: bool = False
    times: bool = False

    def names(self, side: Side) -> frozenset[str]:
        """Return the lower-case names of the attributes read of *side*."""
        return frozenset(name for party, name in self.read if party is side)

    def single_names(self) -> frozenset[str]:
        """Return the lower-case names read of the single ad, EVERY_ATTRIBUTE among them if there may be more."""
        return self.names(Side.AD) | ({EVERY_ATTRIBUTE} if self.everything else frozenset())


def closure(start: Iterable[tuple[Side, Node | None]], parties: Matching) -> Closure:
    """Return what the expressions *start*, each from its side, and all they lead to read."""
    result = Closure()
    waiting = list(start)

    def add(side: Side, name: str) -> None:
        if (side, name) not in result.read:
            result.read.add((side, name))
            waiting.extend((side, node) for node in parties.nodes(side, name))

    while waiting:
        side, node = waiting.pop()
        if node is None:
            result.everything = True
            continue
        for found in _walk(node, result):
            _reference(found, side, parties, add, result)
    return result


def _walk(node: Node, result: Closure) -> Iterator[Reference]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Reference):
            yield current
            if current.scope is not None and not isinstance(current.scope, Reference):
                waiting.append(current.scope)
            continue
        if isinstance(current, Call):
            name = current.name.lower()
            result.everything |= name in UNSCOPED
            result.times |= name in TIMES
        waiting.extend(children(current))


def _reference(found: Reference, side: Side, parties: Matching, add: Callable[[Side, str], None], result: Closure) -> None:
    name = found.name.lower()
    if found.absolute:
        result.everything = True
    elif found.scope is None:
        if name in RESERVED and name != CURRENT_TIME:
            result.everything = True
            return
        if parties.owns(side, name) or side is Side.AD:
            add(side, name)
        if parties.may_lack(side, name) and name != CURRENT_TIME:
            add(side.other, name)
    else:
        scope = scope_side(found.scope, side, parties)
        if scope is not None:
            # such a name is also sought around the ad, where only reserved names are found
            result.everything |= name in RESERVED and name != CURRENT_TIME
            add(scope, name)
        elif isinstance(found.scope, Reference):
            _reference(found.scope, side, parties, add, result)
