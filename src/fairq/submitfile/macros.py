"""Which macros a value refers to, and so whether it can differ between the jobs of one queue statement."""

from __future__ import annotations

import re
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
_LATE = re.compile(r"\$\$(?:\([^)]*\)|\(\[.*?\]\))")


class Variation(IntEnum):
    """How the value of a macro can differ from job to job of one item."""

    NONE = 0
    PLAIN = 1
    """It only contains the job's number."""
    FREE = 2
    """It is computed from the job's number, or drawn at random."""


class References(NamedTuple):
    """What a raw value refers to, in lower case; *computes* if by a macro function, *random* if that draws."""

    names: frozenset[str]
    computes: bool
    random: bool


def references(raw: str) -> References:
    """Return the references in *raw*, a value before expansion; ``$$(...)`` is left for the match."""
    if "$" not in raw:
        return References(frozenset(), computes=False, random=False)
    text = _LATE.sub("", raw)
    names = {match[1].lower() for match in _PLAIN.finditer(text)}
    rest = _PLAIN.sub("", text)
    functions = {match[1].lower() for match in _FUNCTION.finditer(rest)}
    computes = bool(functions) or "$(" in rest
    if computes:
        names |= {word.lower() for word in _WORD.findall(rest)}
    return References(frozenset(names), computes, any(name.startswith("random") for name in functions))


class MacroGraph:
    """What depends on what among the macros of a description."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        """Take the macros by lower-case name, with their values before expansion."""
        self._references = {name: references(value) for name, value in raw.items()}
        self._variations: dict[str, Variation] = {}

    def mentioned(self) -> frozenset[str]:
        """Return the names that any value refers to."""
        return frozenset().union(*(found.names for found in self._references.values()))

    def circle(self) -> list[str] | None:
        """Return names that refer to each other in a circle, or None. Expanding them would never end."""
        done: set[str] = set()
        for start in self._references:
            path: list[str] = []
            stack: list[tuple[str, bool]] = [(start, False)]
            while stack:
                name, leaving = stack.pop()
                if leaving:
                    path.pop()
                    done.add(name)
                elif name in path:
                    return [*path[path.index(name) :], name]
                elif name not in done and name in self._references:
                    path.append(name)
                    stack.append((name, True))
                    stack.extend((other, False) for other in self._references[name].names)
        return None

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
