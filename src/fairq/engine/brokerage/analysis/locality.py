"""Which queues have the input of an analysis task nearby (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.analysis.selection import given_rows, select
from fairq.engine.brokerage.analysis.sources import needs_no_locality, sources_of
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_pass
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans, Columns, Floats
from fairq.engine.brokerage.storage.availability import VP_SUFFIX, ReplicaState, queues_with_data
from fairq.engine.brokerage.storage.endpoints import USER, endpoints_of, units_reading

TAPE_WEIGHT = 0.001
"""Weight of a dataset that a queue has, but not on disk."""

_ANALYSIS = frozenset({ANALYSIS})


class Locality(NamedTuple):
    """The part of the input at each queue; arrays have one value per row.

    Args:
        chosen: queues that have it nearby.
        weight: the sum over datasets of 1 on disk, 0.001 otherwise, 0 without.
        real: queues with a replica that is not virtual.
        union: no queue has every dataset; queues with any dataset are chosen.
    """

    chosen: Booleans
    weight: Floats
    real: Booleans
    union: bool


class _Lists(NamedTuple):
    """The units that have one dataset at all, on disk, and not only virtually."""

    any: set[int]
    disk: set[int]
    real: set[int]


def may_use_vp(request: BrokerageRequest) -> bool:
    """Return whether virtually placed input counts: not for merges, scouts, input that is copied or distributed."""
    task = request.task
    return not (request.chunk.is_merging or _avoids_vp(request) or task.rule("US") == 2 or task.copies_input)


def _avoids_vp(request: BrokerageRequest) -> bool:
    return request.task.has_rule("AV") or bool(sources_of(request).distributed)


@once_per_pass
def locality(request: BrokerageRequest) -> Locality:
    """Return which queues have the input nearby; it is computed once per pass."""
    columns, chosen = request.columns, select(request)
    lists = [_lists(request, dataset) for dataset in request.chunk.datasets]
    everywhere, on_disk = _common(each.any for each in lists), _common(each.disk for each in lists)
    somewhere = set().union(*(each.any for each in lists))
    somewhere_on_disk = set().union(*(each.disk for each in lists))
    union = False
    if chosen.given:
        units = set(columns.unit_of[given_rows(request)].tolist())
        taken = everywhere if units & everywhere else somewhere if units & somewhere else set()
    elif on_disk:
        taken = on_disk
    elif everywhere or not somewhere:
        taken = everywhere
    else:
        taken, union = somewhere_on_disk or somewhere, True
    real = set().union(*(each.real for each in lists)) if union else _common(each.real for each in lists)
    weights = np.zeros(len(columns.unit_names))
    for each in lists:
        weights[list(each.disk & each.any)] += 1
        weights[list(each.any - each.disk)] += TAPE_WEIGHT
    return Locality(chosen.candidates & _mask(columns, taken), weights[columns.unit_of], _mask(columns, real), union)


def _common(sets: Iterable[set[int]]) -> set[int]:
    each = list(sets)
    return reduce(set.intersection, each) if each else set()


def _mask(columns: Columns, units: set[int]) -> Booleans:
    mask = np.zeros(len(columns.unit_names), dtype=np.bool_)
    mask[list(units)] = True
    return mask[columns.unit_of]


def _lists(request: BrokerageRequest, dataset: Dataset) -> _Lists:
    columns, storages = request.columns, request.world.storages
    is_candidate = select(request).units
    readers, states = units_reading(columns, USER), dict[int, list[ReplicaState]]()
    for rse, held in request.world.replicas.get(dataset.name, {}).items():
        complete = held is None or dataset.lfns <= held
        for unit in readers.get(rse, ()):
            if is_candidate[unit]:
                state = ReplicaState(storages[rse].is_tape, complete, rse.endswith(VP_SUFFIX))
                states.setdefault(int(unit), []).append(state)
    sources = sources_of(request)
    welcome = dataset.name in sources.distributed or not sources.available[dataset.name].complete_disk
    return _Lists(
        queues_with_data(states, include_tape=True, use_vp=True, use_incomplete=welcome),
        queues_with_data(states, include_tape=False, use_vp=may_use_vp(request), use_incomplete=welcome),
        queues_with_data(states, include_tape=True, use_vp=False, use_incomplete=welcome),
    )


def virtual_rows(columns: Columns) -> Booleans:
    """Return the rows with virtually placed input."""
    virtual = [endpoints.is_virtual for endpoints in endpoints_of(columns)]
    rows: Booleans = np.array(virtual, dtype=np.bool_)[columns.unit_of]
    return rows


class DataNearby(PlainFilter):
    """In the first pass, refuse queues that do not have the input."""

    name = "data"
    stage = "input data check"
    activities = _ANALYSIS
    reasons = (Reason("no_data"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply in the first pass, unless the task needs no input nearby."""
        return request.local and bool(request.chunk.datasets) and not needs_no_locality(request)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse queues without."""
        return ~locality(request).chosen[rows]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the datasets."""
        return {"datasets": [dataset.name for dataset in request.chunk.datasets]}


class AvoidVp(PlainFilter):
    """Refuse queues with virtually placed input if the task cannot use it."""

    name = "virtual placement"
    stage = "avoid VP queue check"
    activities = _ANALYSIS
    reasons = (Reason("avoid_vp"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply if the task says so; under the rules panda, also if input would be moved to these queues."""
        if not request.rules.vp_restricted:
            return request.task.has_rule("AV")
        if request.chunk.is_merging or _avoids_vp(request) or not request.local:
            return True
        return bool(request.chunk.datasets) and locality(request).union

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse queues that read from such an endpoint, whatever users' jobs read from."""
        return request.columns.refusals("virtual placement", lambda: virtual_rows(request.columns), rows)
