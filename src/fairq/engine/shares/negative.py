"""Negative conditions: task queues that limits exclude for a pilot (docs/dirac.md 6.3, DIRAC TaskQueueDB)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairq.engine.shares.conditions import SETS, SINGLE, values
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError

Negative = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Field: values, of which not all may match. If there are several (one per site), all must exclude a queue."""


def excluded(negative: Negative, rules: Rules) -> Callable[[Requirements], bool]:
    """Return a function that returns whether *negative* excludes a task queue.

    One dictionary excludes a queue if every field matches. Under the rules dirac, unknown fields are ignored, and raise
    DiracStopsError if there are no others; otherwise unknown fields never match.
    """
    if isinstance(negative, Mapping):
        return _excluded_by(negative, rules) if negative else lambda queue: False
    tests = [_excluded_by(one, rules) for one in negative]
    return lambda queue: bool(tests) and all(test(queue) for test in tests)


def _excluded_by(negative: Mapping[str, Any], rules: Rules) -> Callable[[Requirements], bool]:
    dirac = rules.negative_values == "single"
    unknown = [field for field in negative if field not in SETS and field not in SINGLE]
    if dirac and len(unknown) == len(negative):
        failure = DiracFailure.UNKNOWN_LIMIT if unknown else DiracFailure.LIMIT_ON_NOTHING
        raise DiracStopsError(failure, fields=", ".join(unknown), known=", ".join((*SETS, *SINGLE)))
    if unknown and not dirac:
        return lambda queue: False
    tests = [_hits(field, given, dirac) for field, given in negative.items() if field not in unknown]
    return lambda queue: all(test(queue) for test in tests)


def _hits(field: str, given: Any, dirac: bool) -> Callable[[Requirements], bool]:
    if field in SETS:
        listed, hit = SETS[field], frozenset(values(given))
        return lambda queue: not hit.isdisjoint(listed(queue))
    read = SINGLE[field]
    if dirac and not isinstance(given, str | list | tuple):
        raise DiracStopsError(DiracFailure.LIMIT_NO_LIST, field=field, given=given)
    # DIRAC walks through a text letter by letter, too.
    single = list(given) if dirac and isinstance(given, str) else values(given)
    if dirac and len(set(single)) > 1:
        return lambda queue: False
    among = set(map(str, single))
    return lambda queue: str(read(queue)) in among
