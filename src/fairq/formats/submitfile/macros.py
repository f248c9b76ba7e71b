"""The macros to which a value refers, and whether the value can differ between the jobs of one queue statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

PROC_NAMES = frozenset({"process", "procid", "step", "jobid"})
"""The macros with a different value for every job."""

CLUSTER_NAMES = frozenset({"cluster", "clusterid", "jobid", "joblistid"})
"""The macros that contain the cluster's number."""

_PLAIN = re.compile(r"(?<!\$)\$\(([\w.]+)(?::([^()$]*))?\)")
_FUNCTION = re.compile(r"(?<!\$)\$([A-Za-z_]\w*)\(")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_LATE = re.compile(r"\$\$(?:\([^)]{0,1000}\)|\(\[.{0,1000}?\]\))")

_HAZARD = re.compile(r"\$(?:INT|REAL|STRING)\([^()]*%[^()]*\d{4}|\$RANDOM_INTEGER\([^()]*\d{10}", re.IGNORECASE)

LARGEST = 1_000_000
"""Most characters to which a macro may expand; an unknown reference counts as one."""

DEEPEST = 500
"""Most macros in a chain of references."""


class Variation(IntEnum):
    """The ways in which the value of a macro can differ between the jobs of one item."""

    NONE = 0
    PLAIN = 1
    """The value contains the job's number unchanged."""
    FREE = 2
    """The value is computed from the job's number, or random."""


class References(NamedTuple):
    """The references in a raw value, in lower case.

    *uses*: the number of references to each macro; *computes*: a macro function is used; *random*: a random one is.
    """

    uses: Mapping[str, int]
    computes: bool
    random: bool

    @property
    def names(self) -> frozenset[str]:
        """The names of the macros referred to."""
        return frozenset(self.uses)


class Trouble(NamedTuple):
    """The reason why macros cannot be expanded: the *problem*, and the *names* of the macros concerned."""

    problem: str
    names: tuple[str, ...]


def hazard(raw: str) -> str | None:
    """Return the problem if a macro function in *raw* would crash the library; None if there is none."""
    if "$" in raw and _HAZARD.search(raw):
        return "a number in $INT, $REAL, $STRING or $RANDOM_INTEGER is too large"
    return None


def references(raw: str) -> References:
    """Return the references in *raw*, a value before expansion, without ``$$(...)``, which is expanded at the match."""
    if "$" not in raw:
        return References({}, computes=False, random=False)
    text = _LATE.sub("", raw)
    uses = Counter(match[1].lower() for match in _PLAIN.finditer(text))
    unmatched = _PLAIN.sub("", text)
    functions = {match[1].lower() for match in _FUNCTION.finditer(unmatched)}
    computes = bool(functions) or "$(" in unmatched
    if computes:
        uses.update(word.lower() for word in _WORD.findall(unmatched))
    return References(uses, computes, any(name.startswith("random") for name in functions))


class MacroGraph:
    """The dependencies between the macros of a description."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        """Use these macros by lower-case name, with their values before expansion."""
        self._references = {name: references(value) for name, value in raw.items()}
        self._lengths = {name: len(value) for name, value in raw.items()}
        self._hazards = {name: problem for name, value in raw.items() if (problem := hazard(value)) is not None}
        self._variations: dict[str, Variation] = {}

    def referenced(self) -> frozenset[str]:
        """Return the names that any value refers to."""
        return frozenset().union(*(value_references.names for value_references in self._references.values()))

    def trouble(self, start: str | None = None) -> Trouble | None:
        """Return why the macros, or only *start*, must not be expanded; None if they may be.

        The reason is a circle of references, macros that double each other, too long a chain, or a `hazard`.
        """
        sizes: dict[str, tuple[int, int]] = {}  # the expanded size of a macro, and the length of the chain below it
        for root in self._references if start is None else [start]:
            path: dict[str, None] = {}
            stack: list[tuple[str, bool]] = [(root, False)]
            while stack:
                name, is_done = stack.pop()
                if is_done:
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
        parts = [(count, *sizes.get(macro, (1, 0))) for macro, count in uses.items()]
        size = self._lengths[name] + sum(count * part_size for count, part_size, _ in parts)
        return size, 1 + max((depth for _, _, depth in parts), default=0)

    def depends_on(self, name: str, is_target: Callable[[str], bool]) -> bool:
        """Return whether *is_target* holds for the macro *name*, or for one that it refers to, directly or not."""
        visited: set[str] = set()
        pending = [name]
        while pending:
            current = pending.pop()
            if is_target(current):
                return True
            if current not in visited and current in self._references:
                visited.add(current)
                pending.extend(self._references[current].names)
        return False

    def variation(self, name: str) -> Variation:
        """Return how the value of the macro *name* differs between the jobs of one item."""
        if name not in self._variations:
            macro_references = self._references.get(name)
            if macro_references is None:
                result = Variation.PLAIN if name in PROC_NAMES else Variation.NONE
            elif macro_references.random:
                result = Variation.FREE
            else:
                result = max(map(self.variation, macro_references.names), default=Variation.NONE)
                if result and macro_references.computes:
                    result = Variation.FREE
            self._variations[name] = result
        return self._variations[name]
