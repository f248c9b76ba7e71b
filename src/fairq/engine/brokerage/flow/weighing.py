"""The weight of queues: the product of all factors that apply to the task.

Source: docs/panda.md, Production weight and Analysis.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from fairq.engine.brokerage.flow.alike import OncePerKind, Reading
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import KeyedWeight, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, CommonWeights, Weighing
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.bits import rows_in
from fairq.engine.brokerage.pool.columns import Columns, Floats

FINAL_STAGE = "final check"
"""The stage of filters that see weighed queues."""

MOST_CANDIDATES = 10
"""Maximum number of queues of a task."""

_UNUSED = object()
"""In place of the key of a weight that does not apply."""

_KEPT = 1_000
"""Products of factors, and sets of queues, that are kept: some megabytes each."""


def weigh_all(requests: Sequence[tuple[BrokerageRequest, int]], plan: Plan) -> None:
    """Keep in each of *requests* the weights of the set of queues beside it, by the factors of *plan*.

    All must have the same queues and rules.
    """
    if requests:
        (first, _), *_ = requests
        columns, rules = first.columns, first.rules
        # As in the pipeline, the same object stands for the same rules.
        weights = columns.kept(("weights", id(plan), id(rules)), partial(_Weights, columns, plan, rules))
        keys = weights.keys([request for request, _ in requests])
        for (request, members), key in zip(requests, keys, strict=True):
            weights.weigh(request, members, key)


class _Weights:
    """The weights of a flow in one run.

    Few of its queues weigh otherwise for one task than for all tasks with the same keys: those have the product of
    the factors in common.
    """

    def __init__(self, columns: Columns, plan: Plan, rules: Rules) -> None:
        # What is held keeps its identity.
        self._held = plan, rules
        self._size = len(columns)
        # Factors are multiplied in order, so what follows a weight without keys is not shared.
        self._shared: list[KeyedWeight] = []
        for one in plan.weights:
            if not isinstance(one, KeyedWeight):
                break
            self._shared.append(one)
        self._others = plan.weights[len(self._shared) :]
        self._keys = [OncePerKind(one.reads, partial(_key_of, one)) if one.reads else None for one in self._shared]
        self._factors: dict[tuple[int, Hashable], Floats] = {}
        self._common: dict[Hashable, CommonWeights] = {}
        self._rows: dict[int, Rows] = {}

    def keys(self, requests: Sequence[BrokerageRequest]) -> Iterable[tuple[Hashable, ...]]:
        """Return for each of *requests* the keys of the shared weights."""
        reading = Reading(requests)
        by_weight = [
            [_key_of(one, request) for request in requests] if alike is None else alike.of(reading)
            for one, alike in zip(self._shared, self._keys, strict=True)
        ]
        return zip(*by_weight, strict=True) if by_weight else repeat((), len(requests))

    def weigh(self, request: BrokerageRequest, members: int, key: tuple[Hashable, ...]) -> None:
        """Keep the weights of a set of queues in *request*, whose weights have these keys."""
        rows = self._rows.get(members)
        if rows is None:
            _make_room(self._rows)
            rows = self._rows[members] = rows_in(members, self._size)
        common = self._common.get(key) or self._in_common(request, key)
        common.tasks += 1
        weights = common.weights[rows]
        by_weight = [one.own(request, members) for one in common.of]
        own = _products(by_weight, common.factors)
        for row, weight in own.items():
            # Its place among the members is the number of those before it.
            weights[(members & (1 << row) - 1).bit_count()] = weight
        weighing = request.weighing = Weighing(self._size, members, rows, weights, common, own)
        for other in self._others:
            if other.applies(request):
                factor = weighing.others[other.name] = other.factor(request, rows)
                weighing.weights = weighing.weights * factor

    def _in_common(self, request: BrokerageRequest, key: tuple[Hashable, ...]) -> CommonWeights:
        _make_room(self._common)
        applied = [place for place, part in enumerate(key) if part is not _UNUSED]
        factors = [self._factors_of(place, key[place], request) for place in applied]
        weights = np.ones(self._size)
        # Nobody asks for the weights of queues that are refused.
        with np.errstate(over="ignore", invalid="ignore"):
            for factor in factors:
                weights = weights * factor
        found = self._common[key] = CommonWeights([self._shared[place] for place in applied], factors, weights)
        return found

    def _factors_of(self, place: int, key: Hashable, request: BrokerageRequest) -> Floats:
        found = self._factors.get((place, key))
        if found is None:
            _make_room(self._factors)
            found = self._factors[place, key] = self._shared[place].factors(request)
        return found


def _key_of(one: KeyedWeight, request: BrokerageRequest) -> Hashable:
    return one.key(request) if one.applies(request) else _UNUSED


def _make_room(kept: dict[Any, Any]) -> None:
    if len(kept) >= _KEPT:
        kept.clear()


def _products(own: Sequence[Mapping[int, float]], factors: Sequence[Floats]) -> dict[int, float]:
    """Return the weights of the queues that have factors of their own: the product of these, else of those it shares.

    It is multiplied in the order of the factors, as for all other queues, so that equal factors have equal products.
    """
    rows = set().union(*own)
    products = dict.fromkeys(rows, 1.0)
    for mine, common in zip(own, factors, strict=True):
        if len(mine) == len(rows):
            for row, factor in mine.items():
                products[row] *= factor
        else:
            for row in rows:
                products[row] *= mine[row] if row in mine else common.item(row)
    return products


def weighing_of(request: BrokerageRequest) -> Weighing:
    """Return the weights, which exist after the filters."""
    assert request.weighing is not None
    return request.weighing
