"""Negative conditions: task queues that limits exclude for a pilot (docs/dirac.md 6.3, DIRAC TaskQueueDB)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from fairq.engine.shares.columns import Mask
from fairq.engine.shares.conditions import SETS, SINGLE, values
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError

Negative = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""By field, the values at their limit. If there are several (one per site), all must exclude a queue."""


Test = Callable[[RequirementTable], Mask]
"""Returns which task queues it hits."""


def excluded(negative: Negative, rules: Rules) -> Test:
    """Return a function that returns which task queues *negative* excludes.

    One dictionary excludes a queue if a field matches, with negative_fields = all if every field does. Unknown fields
    never match; under the rules dirac, they are ignored, and raise DiracStopsError if there are no others.
    """
    if isinstance(negative, Mapping):
        return _excluded_by(negative, rules) if negative else _none
    tests = [_excluded_by(one, rules) for one in negative]
    return _every(tests) if tests else _none


def excludes(negative: Negative, queue: Requirements, rules: Rules) -> bool:
    """Return whether *negative* excludes one queue; raises as `excluded`."""
    return bool(excluded(negative, rules)(RequirementTable.of([queue])).all())


def _none(table: RequirementTable) -> Mask:
    return np.zeros(len(table), bool)


def _every(tests: Sequence[Test]) -> Test:
    """Return the test that hits what all of *tests* hit."""
    return lambda table: reduce(np.logical_and, (test(table) for test in tests), np.ones(len(table), bool))


def _any(tests: Sequence[Test]) -> Test:
    """Return the test that hits what one of *tests* hits."""
    return lambda table: reduce(np.logical_or, (test(table) for test in tests), _none(table))


def _excluded_by(negative: Mapping[str, Any], rules: Rules) -> Test:
    dirac = rules.negative_values == "single"
    unknown = [field for field in negative if field not in SETS and field not in SINGLE]
    if dirac and len(unknown) == len(negative):
        failure = DiracFailure.UNKNOWN_LIMIT if unknown else DiracFailure.LIMIT_ON_NOTHING
        raise DiracStopsError(failure, fields=", ".join(unknown), known=", ".join((*SETS, *SINGLE)))
    tests = [_hits(field, given, rules) for field, given in negative.items() if field not in unknown]
    if rules.negative_fields == "any":
        return _any(tests)
    return _none if unknown and not dirac else _every(tests)


def _hits(field: str, given: Any, rules: Rules) -> Test:
    dirac = rules.negative_values == "single"
    if field in SETS:
        listed, hit = SETS[field], frozenset(values(given))
        if field == "Site" and rules.negative_fields == "any":
            # Whatever the pilot takes runs at its site, also the jobs of a queue that names no site.
            return lambda table: table.sites.where(lambda names: not names or not hit.isdisjoint(names))
        return lambda table: ~getattr(table, listed).where(hit.isdisjoint)
    if dirac and not isinstance(given, str | list | tuple):
        raise DiracStopsError(DiracFailure.LIMIT_NO_LIST, field=field, given=given)
    # DIRAC walks through a text letter by letter, too.
    single = list(given) if dirac and isinstance(given, str) else values(given)
    if dirac and len(set(single)) > 1:
        return _none
    among = set(map(str, single))
    return lambda table: getattr(table, SINGLE[field]).where(lambda value: str(value) in among)
