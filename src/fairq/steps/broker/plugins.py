"""Find the filters and weights, fairq's own and installed ones, through the same entry points.

A distribution registers an object with the interface of `Filter` or `Weight`, or a sequence of them, under
``fairq.broker.filters`` or ``fairq.broker.weights``. Plugins are checked: an exception or an invalid result ends the
run with an error that names the plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.plugin import (
    SWITCHED_OFF,
    Codes,
    Details,
    Filter,
    PlainFilter,
    PlainWeight,
    Reason,
    Rows,
    Weight,
)
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import Activity
from fairq.errors.broker import BrokerPluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FILTERS = "fairq.broker.filters"
WEIGHTS = "fairq.broker.weights"


class BuiltIn(NamedTuple):
    """An entry point of fairq itself."""

    name: str
    value: str
    group: str

    def load(self) -> Any:
        """Return the object."""
        module, _, name = self.value.partition(":")
        return getattr(import_module(module), name)


BUILT_IN = (
    BuiltIn("production", "fairq.engine.brokerage.production.flow:FILTERS", FILTERS),
    BuiltIn("analysis", "fairq.engine.brokerage.analysis.flow:FILTERS", FILTERS),
    BuiltIn("production", "fairq.engine.brokerage.production.flow:WEIGHTS", WEIGHTS),
    BuiltIn("analysis", "fairq.engine.brokerage.analysis.flow:WEIGHTS", WEIGHTS),
)
"""fairq's own entry points, as its installation registers them; used directly where fairq is not installed."""


_Point: TypeAlias = "BuiltIn | EntryPoint"


class Plugins(NamedTuple):
    """All filters and weights; *names* are the entry points that are not fairq's own."""

    filters: tuple[Filter, ...]
    weights: tuple[Weight, ...]
    names: tuple[str, ...]


def load_plugins(activity: Activity | None = None) -> Plugins:
    """Return the installed filters and weights; raises BrokerPluginError for an unusable one.

    *activity*: leave out fairq's own of the other activity.
    """
    filters: list[Filter] = []
    weights: list[Weight] = []
    foreign = []
    for point in _points():
        own = isinstance(point, BuiltIn)
        if activity is not None and own and point.name != activity:
            continue
        for one in _objects(point):
            if point.group == FILTERS:
                filters.append(_filter(point, one) if own else _Watched(point, _filter(point, one)))
            else:
                weights.append(_weight(point, one) if own else _WatchedWeight(point, _weight(point, one)))
        if not own:
            foreign.append(point.name)
    _once(filters)
    _once(weights)
    return Plugins(tuple(filters), tuple(weights), tuple(sorted(set(foreign))))


def origin(one: Filter | Weight) -> str:
    """Return the entry point that a filter or weight came from; ``fairq`` for fairq's own."""
    return one.point.name if isinstance(one, (_Watched, _WatchedWeight)) else "fairq"


def _points() -> list[_Point]:
    own = {(point.group, point.value) for point in BUILT_IN}
    installed = [*entry_points(group=FILTERS), *entry_points(group=WEIGHTS)]
    foreign = {(point.group, point.name, point.value): point for point in installed
               if (point.group, point.value) not in own}  # fmt: skip
    return [*BUILT_IN, *(foreign[key] for key in sorted(foreign))]


def _objects(point: _Point) -> Sequence[Any]:
    try:
        found = point.load()
    except Exception as error:  # the import of a plugin may raise anything
        raise BrokerPluginError(name=point.name, value=point.value, reason=_words(error)) from error
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _filter(point: _Point, one: Any) -> Filter:
    if isinstance(one, type) or not isinstance(one, Filter):
        raise _unusable(point, f"{one!r} is no filter: see fairq.engine.brokerage.flow.plugin")
    if not all(isinstance(reason, Reason) and reason.tag for reason in one.reasons):
        raise _unusable(point, f"the filter {one.name} has a reason that is not of the class Reason, or without a tag")
    if one.phase not in ("before", "after"):
        raise _unusable(point, f"the filter {one.name} has the phase {one.phase!r}, not 'before' or 'after'")
    return one


def _weight(point: _Point, one: Any) -> Weight:
    if isinstance(one, type) or not isinstance(one, Weight):
        raise _unusable(point, f"{one!r} is no weight: see fairq.engine.brokerage.flow.plugin")
    return one


def _once(found: Iterable[Filter | Weight]) -> None:
    seen: set[tuple[str, str]] = set()
    for one in found:
        for activity in one.activities:
            if (one.name, activity) in seen:
                raise BrokerPluginError(
                    name=one.name, value=type(one).__name__, reason="another plugin has the same name"
                )
            seen.add((one.name, activity))


def _unusable(point: _Point, reason: str) -> BrokerPluginError:
    return BrokerPluginError(name=point.name, value=point.value, reason=reason)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class _Watched(PlainFilter):
    """A filter of a plugin."""

    def __init__(self, point: _Point, one: Filter) -> None:
        self.point, self._one = point, one
        self.name, self.stage, self.place = one.name, one.stage, one.place
        self.phase, self.activities, self.reasons = one.phase, one.activities, one.reasons

    def applies(self, request: BrokerageRequest) -> bool:
        try:
            return bool(self._one.applies(request))
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        try:
            answer = self._one.judge(request, rows)
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error
        if answer is None or answer is SWITCHED_OFF:
            return answer
        codes = np.asarray(answer)
        if codes.shape != rows.shape or codes.dtype.kind not in "bui" or codes.min(initial=0) < 0:
            raise _unusable(self.point, f"the filter {self.name} gave no code for each of the {len(rows)} queues")
        if codes.max(initial=0) > len(self.reasons):
            raise _unusable(self.point, f"the filter {self.name} gave a reason that it does not have")
        return codes.astype(np.uint8)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        try:
            return dict(self._one.details(request, row, reason))
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error


class _WatchedWeight(PlainWeight):
    """A weight of a plugin."""

    def __init__(self, point: _Point, one: Weight) -> None:
        self.point, self._one = point, one
        self.name, self.place, self.activities = one.name, one.place, one.activities

    def applies(self, request: BrokerageRequest) -> bool:
        try:
            return bool(self._one.applies(request))
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error

    def factor(self, request: BrokerageRequest, rows: Rows) -> NDArray[np.float64]:
        try:
            factors = np.asarray(self._one.factor(request, rows), dtype=np.float64)
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error
        if factors.shape != rows.shape or not np.isfinite(factors).all() or factors.min(initial=0) < 0:
            raise _unusable(self.point, f"the weight {self.name} gave something else than finite factors, 0 or more")
        return factors

    def details(self, request: BrokerageRequest, row: int) -> Details:
        try:
            return dict(self._one.details(request, row))
        except Exception as error:
            raise _unusable(self.point, _words(error)) from error
