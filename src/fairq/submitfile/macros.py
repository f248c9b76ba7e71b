"""Which macros a value refers to, and so whether it can differ between the jobs of one queue statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

PROC_NAMES = frozenset({"process", "procid", "step", "jobid"})
"""The macros that have another value for every job."""

CLUSTER_NAMES = frozenset({"cluster", "clusterid", "jobid", "joblistid"})
"""The macros that follow from the cluster's number."""

_PLAIN = re.compile(r"(?<!\$)\$\(([\w.]+)(?::([^()$]*))?\)")
_FUNCTION = re.compile(r"(?<!\$)\$([A-Za-z_]\w*)\(")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_LATE = re.compile(r"\$\$(?:\([^)]{0,1000}\)|\(\[.{0,1000}?\]\))")

_HAZARD = re.compile(r"\$(?:INT|REAL|STRING)\([^()]*%[^()]*\d{4}|\$RANDOM_INTEGER\([^()]*\d{10}", re.IGNORECASE)

LARGEST = 1_000_000
"""Letters to which a macro may expand, and references that it may take."""

DEEPEST = 500
"""Macros that may refer to one another in a chain."""


class Variation(IntEnum):
    """How the value of a macro can differ from job to job of one item."""

    NONE = 0
    PLAIN = 1
    """It only contains the job's number."""
    FREE = 2
    """It is computed from the job's number, or drawn at random."""


class References(NamedTuple):
    """What a raw value refers to, in lower case; *computes* if by a macro function, *random* if that draws.

    *uses* says how often it refers to each.
    """

    uses: Mapping[str, int]
    computes: bool
    random: bool

    @property
    def names(self) -> frozenset[str]:
        """The macros referred to."""
        return frozenset(self.uses)


class Trouble(NamedTuple):
    """Why macros cannot be expanded: the *problem*, and the *names* of the macros it shows in."""

    problem: str
    names: tuple[str, ...]


def hazard(raw: str) -> str | None:
    """Return what in the functions of *raw* the library would not survive, None if there is nothing."""
    if "$" in raw and _HAZARD.search(raw):
        return "a number in $INT, $REAL, $STRING or $RANDOM_INTEGER is too large"
    return None


def references(raw: str) -> References:
    """Return the references in *raw*, a value before expansion; ``$$(...)`` is left for the match."""
    if "$" not in raw:
        return References({}, computes=False, random=False)
    text = _LATE.sub("", raw)
    uses = Counter(match[1].lower() for match in _PLAIN.finditer(text))
    rest = _PLAIN.sub("", text)
    functions = {match[1].lower() for match in _FUNCTION.finditer(rest)}
    computes = bool(functions) or "$(" in rest
    if computes:
        uses.update(word.lower() for word in _WORD.findall(rest))
    return References(uses, computes, any(name.startswith("random") for name in functions))


class MacroGraph:
    """What depends on what among the macros of a description."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        """Take the macros by lower-case name, with their values before expansion."""
        self._references = {name: references(value) for name, value in raw.items()}
        self._lengths = {name: len(value) for name, value in raw.items()}
        self._hazards = {name: problem for name, value in raw.items() if (problem := hazard(value)) is not None}
        self._variations: dict[str, Variation] = {}

    def mentioned(self) -> frozenset[str]:
        """Return the names that any value refers to."""
        return frozenset().union(*(found.names for found in self._references.values()))

    def trouble(self, start: str | None = None) -> Trouble | None:
        """Return why expanding the macros, or *start* alone, would never end or not soon; None if it would.

        That is so if they refer to each other in a circle, double each other, or form an endless chain.
        """
        sizes: dict[str, tuple[int, int]] = {}  # how much work a macro is, and how long the chain is below it
        for root in self._references if start is None else [start]:
            path: dict[str, None] = {}
            stack: list[tuple[str, bool]] = [(root, False)]
            while stack:
                name, leaving = stack.pop()
                if leaving:
                    del path[name]
                    sizes[name] = size, depth = self._size(name, sizes)
                    if name in self._hazards:
                        return Trouble(self._hazards[name], (name,))
                    if size > LARGEST:
                        problem = f"macros expand to more than {LARGEST} characters; do they double each other?"
                        return Trouble(problem, (name,))
                    if depth > DEEPEST:
                        return Trouble(f"macros refer to each other in a chain of more than {DEEPEST}", (name,))
                elif name in path:
                    names = list(path)
                    return Trouble("macros refer to each other", (*names[names.index(name) :], name))
                elif name not in sizes and name in self._references:
                    path[name] = None
                    stack.append((name, True))
                    stack.extend((other, False) for other in self._references[name].uses)
        return None

    def _size(self, name: str, sizes: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        uses = self._references[name].uses
        below = [(times, *sizes.get(other, (1, 0))) for other, times in uses.items()]
        size = self._lengths[name] + sum(times * part for times, part, _ in below)
        return size, 1 + max((depth for _, _, depth in below), default=0)

    def reaches(self, name: str, goal: Callable[[str], bool]) -> bool:
        """Say whether the macro *name* is, or refers in the end to, one that satisfies *goal*."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if goal(current):
                return True
            if current not in seen and current in self._references:
                seen.add(current)
                waiting.extend(self._references[current].names)
        return False

    def variation(self, name: str) -> Variation:
        """Return how the value of the macro *name* differs between the jobs of one item."""
        if name not in self._variations:
            found = self._references.get(name)
            if found is None:
                varies = Variation.PLAIN if name in PROC_NAMES else Variation.NONE
            elif found.random:
                varies = Variation.FREE
            else:
                varies = max(map(self.variation, found.names), default=Variation.NONE)
                if varies and found.computes:
                    varies = Variation.FREE
            self._variations[name] = varies
        return self._variations[name]
