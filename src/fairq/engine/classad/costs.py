"""A bound on the cost of one evaluation, computed from the expressions before anything is evaluated.

The unit is one visit to a node of a syntax tree, about 60 ns in HTCondor's library; a character of a string counts
as one. An attribute counts once for each read, although it is analysed only once. With ``A1 = A0 + A0``,
``A2 = A1 + A1``, ... the bound doubles from each attribute to the next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct, field

from fairq.engine.classad.function_names import LINEAR, PATTERNS, PER_ELEMENT, PRODUCTS
from fairq.engine.classad.nodes import Binary, Call, ListOf, Literal, NestedAd, Node, Reference, Unary, children
from fairq.engine.classad.references import CURRENT_TIME, RESERVED, Owner, Side, scope_side

UNGUARDED: Final = 300_000
"""Most nodes that one evaluation may visit without a guard: about 20 ms of CPU time."""

BATCH: Final = 5_000_000
"""Nodes to evaluate between two readings of the meter: at most a third of a second."""

_STEP: Final = 0.1  # of the match of a regular expression
_CALL: Final = 8  # the cost of a function call besides its arguments, and the size that it may add to theirs
_DEEPEST: Final = 150  # attributes in a chain of references; the library gives up at 400
_MOST_PROFILES: Final = 50_000


class Measured(Owner, Protocol):
    """What a bound needs to know about the two parties; names are in lower case."""

    def may_lack(self, side: Side, name: str) -> bool:
        """Return whether any ad of *side* lacks the attribute *name*."""
        ...

    def unevaluated(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of those values of the attribute *name* on *side* that are not constants."""
        ...

    def size(self, side: Side, name: str) -> int:
        """Return the largest size of a constant, in characters or elements, that *name* has on *side*."""
        ...

    def texts(self, side: Side, name: str) -> list[str] | None:
        """Return the possible string values of *name* on *side*; None if it may be an expression or has many values."""
        ...


class _Profile(Struct):
    """The cost of a tree itself, and its other costs: references, and calls that cost more than their parts.

    Each reference and call comes with the number of functions that process its value.
    """

    node: Node
    nodes: float = 0.0
    size: float = 0.0
    references: list[tuple[Reference, int]] = field(default_factory=list)
    calls: list[tuple[Node, int]] = field(default_factory=list)


_profiles: dict[int, _Profile] = {}


class Costs:
    """Bounds for one pair of parties; each attribute is analysed once.

    `culprit` is the first attribute with a part that has no bound; None also if that part is in no attribute.
    """

    def __init__(self, parties: Measured) -> None:
        self._parties = parties
        self._nodes: dict[tuple[Side, str], float] = {}
        self._sizes: dict[tuple[Side, str], float] = {}
        self._path: list[tuple[Side, str]] = []
        self._is_found = False
        self.culprit: tuple[Side, str] | None = None

    def nodes(self, node: Node | None, side: Side) -> float:
        """Return the most nodes that evaluating *node*, seen from *side*, visits; infinite if there is no bound.

        A *node* of None is a tree that only the library can read.
        """
        if node is None or len(self._path) > _DEEPEST:
            return self._note_unbounded()
        profile = _profile(node)
        total = profile.nodes
        for reference, calls in profile.references:
            total += self._reference(reference, side, self._attribute_nodes)
            if calls:
                total += calls * self._reference(reference, side, self._attribute_size)
        for call, calls in profile.calls:
            total += self._call_nodes(call, side)
            if calls:
                total += calls * self._call_size(call, side)
        return total if total < math.inf else self._note_unbounded()

    def _note_unbounded(self) -> float:
        """Record the attribute of the first part without a bound; return infinity."""
        if not self._is_found:
            self._is_found = True
            self.culprit = self._path[-1] if self._path else None
        return math.inf

    def size(self, node: Node | None, side: Side) -> float:
        """Return the largest size of the value of *node*."""
        if node is None or len(self._path) > _DEEPEST:
            return math.inf
        profile = _profile(node)
        total = profile.size
        for reference, _ in profile.references:
            total += self._reference(reference, side, self._attribute_size)
        for call, _ in profile.calls:
            total += self._call_size(call, side)
        return total

    def _reference(self, node: Reference, side: Side, measure: Callable[[Side, str], float]) -> float:
        """Return the *measure* of all attributes to which *node* may refer."""
        name = node.name.lower()
        parties = self._parties
        if node.absolute or (name in RESERVED and name != CURRENT_TIME):
            return math.inf
        if node.scope is None:
            if not parties.may_lack(side, name):
                return measure(side, name)
            return sum(measure(party, name) for party in Side if parties.owns(party, name))
        named_party = scope_side(node.scope, side, parties)
        if named_party is not None:
            return measure(named_party, name) if parties.owns(named_party, name) else 0.0
        if self._may_be_computed_list(node.scope, side, set()):
            return math.inf
        # of a nested ad, or of the ads around it
        measure_node = self.nodes if measure == self._attribute_nodes else self.size
        return measure_node(node.scope, side) + sum(measure(party, name) for party in Side if parties.owns(party, name))

    def _attribute_nodes(self, side: Side, name: str) -> float:
        return self._attribute(self._nodes, self.nodes, side, name)

    def _attribute_size(self, side: Side, name: str) -> float:
        return max(self._attribute(self._sizes, self.size, side, name), self._parties.size(side, name))

    def _attribute(
        self,
        cache: dict[tuple[Side, str], float],
        measure: Callable[[Node | None, Side], float],
        side: Side,
        name: str,
    ) -> float:
        key = (side, name)
        if key not in cache:
            # A circular reference has no bound: the result depends on the attribute at which the circle began.
            cache[key] = math.inf
            self._path.append(key)
            cache[key] = max((measure(node, side) for node in self._parties.unevaluated(side, name)), default=0.0)
            self._path.pop()
        return cache[key]

    def _call_nodes(self, node: Node, side: Side) -> float:  # noqa: PLR0911 - one per case
        if isinstance(node, Binary):
            return self._subscript(node, side, self.nodes, self._attribute_nodes)
        if not isinstance(node, Call):
            return math.inf
        name, arguments = node.name.lower(), node.arguments
        total = _CALL + sum(self.nodes(part, side) for part in arguments)
        if name in PATTERNS and len(arguments) > 1:
            return total + self._pattern_steps(node, side)
        if name in PER_ELEMENT and len(arguments) == 2:
            if self._may_be_computed_list(arguments[1], side, set()):
                return math.inf
            return total + self.nodes(arguments[0], side) * self.size(arguments[1], side)
        if name in PRODUCTS:
            return total + self._call_size(node, side)
        return math.inf

    def _may_be_computed_list(self, node: Node | None, side: Side, visited: set[tuple[Side, str]]) -> bool:
        """Return whether the value of *node* may be a list computed by a function.

        The library crashes when it evaluates something, or selects an attribute, for each element of such a list.
        """
        if isinstance(node, Literal | ListOf | NestedAd):
            return False
        if not isinstance(node, Reference):
            return (
                node is None
                or isinstance(node, Call)
                or any(self._may_be_computed_list(part, side, visited) for part in children(node))
            )
        named_party = None if node.scope is None else scope_side(node.scope, side, self._parties)
        if node.absolute or (node.scope is not None and named_party is None):
            return True
        attributes = {
            (party, node.name.lower()) for party in (Side if named_party is None else (named_party,))
        } - visited
        visited |= attributes
        return any(
            self._may_be_computed_list(tree, party, visited)
            for party, name in attributes
            for tree in self._parties.unevaluated(party, name)
        )

    def _call_size(self, node: Node, side: Side) -> float:
        if isinstance(node, Binary):
            return self._subscript(node, side, self.size, self._attribute_size)
        if not isinstance(node, Call):
            return math.inf
        # at most, the function combines every part of one argument with every part of each other argument
        return math.prod(1 + self.size(part, side) for part in node.arguments)

    def _subscript(
        self,
        node: Binary,
        side: Side,
        measure: Callable[[Node | None, Side], float],
        attribute: Callable[[Side, str], float],
    ) -> float:
        party = scope_side(node.left, side, self._parties)
        if party is None:
            return 2 * measure(node.left, side) + measure(node.right, side)
        if isinstance(node.right, Literal) and isinstance(node.right.value, str):
            return attribute(party, node.right.value.lower())
        return math.inf

    def _pattern_steps(self, node: Call, side: Side) -> float:
        patterns = self._texts(node.arguments[0], side)
        if patterns is None:
            return math.inf

        length = 1 + sum(self.size(part, side) for part in node.arguments[1:])
        try:
            return _STEP * max((ways * length**power for ways, power in map(match_steps, patterns)), default=0.0)
        except OverflowError:
            return math.inf

    def _texts(self, node: Node, side: Side) -> list[str] | None:
        """Return the possible string values of *node*; None if they are unknown or many."""
        if isinstance(node, Literal):
            return [node.value] if isinstance(node.value, str) else []
        if not isinstance(node, Reference) or node.absolute:
            return None
        name = node.name.lower()
        named_party = None if node.scope is None else scope_side(node.scope, side, self._parties)
        if node.scope is not None and named_party is None:
            return None
        possible: list[str] = []
        for party in Side if named_party is None else (named_party,):
            texts = self._parties.texts(party, name) if self._parties.owns(party, name) else []
            if texts is None:
                return None
            possible += texts
        return possible


def _profile(node: Node) -> _Profile:
    profile = _profiles.get(id(node))
    if profile is None:
        if len(_profiles) >= _MOST_PROFILES:
            _profiles.clear()
        # The entry holds the node, so that no other node gets its id.
        profile = _profiles[id(node)] = _build_profile(node)
    return profile


def _build_profile(root: Node) -> _Profile:
    profile = _Profile(root)
    waiting: list[tuple[Node, int]] = [(root, 0)]
    while waiting:
        node, calls = waiting.pop()
        profile.nodes += 1
        match node:
            case Literal(value):
                size = len(value) if isinstance(value, str) else 0
                profile.size += size
                profile.nodes += calls * size
            case Reference():
                profile.references.append((node, calls))
            case Call(name, arguments) if name.lower() in LINEAR:
                profile.nodes += _CALL
                profile.size += _CALL
                waiting.extend((part, calls + 1) for part in arguments)
            case Binary("[]") | Call():
                profile.calls.append((node, calls))
            case NestedAd() if not _is_constant(node):
                profile.calls.append((node, calls))
            case _:
                if isinstance(node, ListOf | NestedAd):
                    profile.size += 1 + len(children(node))
                waiting.extend((part, calls) for part in children(node))
    return profile


def _is_constant(node: Node) -> bool:
    return all(
        isinstance(part, Literal) or (isinstance(part, Unary | ListOf | NestedAd) and _is_constant(part))
        for part in children(node)
    )


_UNBOUNDED: Final = r"[*+]|\{\d*,\d*\}|\{\d+\}"
_RISKY: Final = r"\(\?(?![:imsxU-]*[:)])|\(\*|\\[1-9gkKRXpP]|\(\?[imsxU-]*R|\[\["
"""Look-arounds, back references, recursion, verbs, named classes: no bound is computed for them."""

_LONGEST: Final = 1000


@lru_cache(maxsize=5_000)
def match_steps(pattern: str) -> tuple[float, int]:
    """Return (*f*, *p*): matching *pattern* against n characters takes at most about f * n**p steps.

    A repetition may try every length; without ``^`` a match may start at every character; each choice multiplies the
    steps. A repeated group with a repetition or a choice inside takes exponentially many steps: *f* is infinite.
    *f* is infinite also if no bound can be computed.
    """
    if len(pattern) > _LONGEST or re.search(_RISKY, pattern):
        return math.inf, 0
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain).replace("(?:", "(")
    if _repeats_a_group(plain):
        return math.inf, 0
    starts = 0 if plain.startswith("^") and "|" not in plain else 1
    return _choices(plain), starts + len(re.findall(_UNBOUNDED, plain))


def _choices(plain: str) -> float:
    """Return the number of combinations of choices in a pattern, without the lengths of its repetitions."""
    ways = 2.0 ** plain.count("?")
    alternatives = [1]
    for character in plain:
        if character == "(":
            alternatives.append(1)
        elif character == "|":
            alternatives[-1] += 1
        elif character == ")":
            ways *= alternatives.pop()
    return ways * alternatives[0]


def _repeats_a_group(plain: str) -> bool:
    """Return whether a repeated group has a repetition or a choice inside."""
    opened: list[int] = []
    for index, character in enumerate(plain):
        if character == "(":
            opened.append(index)
        elif character == ")":
            if not opened:
                return True
            inside = plain[opened.pop() + 1 : index]
            if re.match(r"[*+?{]", plain[index + 1 :]) and re.search(r"[*+?{|]", inside):
                return True
    return bool(opened)
