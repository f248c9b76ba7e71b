"""Find the filters and weights: fairq's own, and installed ones by their entry points.

A distribution registers a `Filter` or a `Weight`, or a sequence of them, under
``fairq.broker.filters`` or ``fairq.broker.weights``. Plugins are checked: an exception or an invalid result ends the
run with an error that names the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fairq.engine.brokerage import analysis, production
from fairq.engine.brokerage.flow.plugin import Figures, Filter, Left, Reason, Refusal, Values, Weight
from fairq.engine.brokerage.pool.columns import Floats, Pool
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity
from fairq.errors.broker import BrokerPluginError

FILTERS = "fairq.broker.filters"
WEIGHTS = "fairq.broker.weights"


T = TypeVar("T")


class Plugins(NamedTuple):
    """All filters and weights; *origins* are the entry points of those that are not fairq's own, by their names."""

    filters: tuple[Filter, ...]
    weights: tuple[Weight, ...]
    origins: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The entry points that are not fairq's own."""
        return tuple(sorted(set(self.origins.values())))


def load_plugins() -> Plugins:
    """Return fairq's own and the installed filters and weights; raises BrokerPluginError for an unusable one."""
    own: tuple[tuple[Activity, Any], ...] = ((PRODUCTION, production), (ANALYSIS, analysis))
    filters, weights = (
        [member._replace(activities=frozenset({activity})) for activity, flow in own for member in getattr(flow, kind)]
        for kind in ("FILTERS", "WEIGHTS")
    )
    origins = {}
    installed = {*entry_points(group=FILTERS), *entry_points(group=WEIGHTS)}
    for point in sorted(installed, key=lambda point: (point.group, point.name, point.value)):
        for plugin in () if point.value.startswith("fairq.") else _load_objects(point):
            is_filter = point.group == FILTERS
            checked = _checked_filter(point, plugin) if is_filter else _checked_weight(point, plugin)
            (filters if is_filter else weights).append(checked)
            origins[checked.name] = point.name
    _check_unique_names(filters)
    _check_unique_names(weights)
    return Plugins(tuple(filters), tuple(weights), origins)


def _load_objects(point: EntryPoint) -> Sequence[Any]:
    try:
        loaded = point.load()
    except Exception as error:  # the import of a plugin may raise anything
        raise BrokerPluginError(name=point.name, value=point.value, reason=_error_text(error)) from error
    # A filter is a tuple itself.
    is_single = isinstance(loaded, (Filter, Weight)) or not isinstance(loaded, (list, tuple))
    return [loaded] if is_single else list(loaded)


def _checked_filter(point: EntryPoint, plugin: Any) -> Filter:
    """Return the filter *plugin*, with its errors reported as errors of the plugin."""
    if not isinstance(plugin, Filter):
        raise _unusable(point, f"{plugin!r} is no filter: see fairq.engine.brokerage.flow.plugin")
    if not all(isinstance(reason, Reason) and reason.tag for reason in plugin.reasons):
        raise _unusable(
            point, f"the filter {plugin.name} has a reason that is not of the class Reason, or without a tag"
        )
    if plugin.phase not in ("before", "after"):
        raise _unusable(point, f"the filter {plugin.name} has the phase {plugin.phase!r}, not 'before' or 'after'")

    def judged(pool: Pool, *values: Any) -> list[Refusal] | None:
        answer = plugin.judge(pool, *values)
        return None if answer is None else [_checked_refusal(point, plugin, pool, refusal) for refusal in answer]

    is_kept = plugin.kept and not plugin.looks_back and plugin.phase == "before" and plugin.alike is None
    alike = None if plugin.alike is None else _guarded(point, plugin.alike)
    return plugin._replace(
        reads=_checked_reads(point, plugin.reads, is_kept), judge=_guarded(point, judged), alike=alike
    )


def _checked_refusal(point: EntryPoint, plugin: Filter, pool: Pool, refusal: Refusal) -> Refusal:
    reason, rows, figures = refusal
    if reason not in plugin.reasons:
        raise _unusable(point, f"the filter {plugin.name} gave a reason that it does not have")
    rows = np.asarray(rows)
    if rows.shape != (len(pool),) or rows.dtype != np.bool_:
        raise _unusable(
            point, f"the filter {plugin.name} did not say of each of the {len(pool)} queues if it is refused"
        )
    return Refusal(reason, rows, lambda row: dict(_guarded(point, figures)(row)))


def _checked_weight(point: EntryPoint, plugin: Any) -> Weight:
    """Return the weight *plugin*, with its errors reported as errors of the plugin."""
    if not isinstance(plugin, Weight):
        raise _unusable(point, f"{plugin!r} is no weight: see fairq.engine.brokerage.flow.plugin")

    def weighed(pool: Pool, *values: Any) -> tuple[Floats | None, Figures]:
        factors, figures = plugin.weigh(pool, *values)
        if factors is None:
            return None, _guarded(point, figures)
        factors = np.asarray(factors, dtype=np.float64)
        remaining = values[0].rows if values and isinstance(values[0], Left) else np.ones(len(pool), np.bool_)
        if (
            factors.shape != (len(pool),)
            or not np.isfinite(factors[remaining]).all()
            or factors[remaining].min(initial=0) < 0
        ):
            raise _unusable(point, f"the weight {plugin.name} gave something else than finite factors, 0 or more")
        return factors, lambda row: dict(_guarded(point, figures)(row))

    is_kept = plugin.kept and not plugin.looks_back
    return plugin._replace(reads=_checked_reads(point, plugin.reads, is_kept), weigh=_guarded(point, weighed))


def _checked_reads(
    point: EntryPoint, reads: Callable[[Any], Values | None], is_kept: bool
) -> Callable[[Any], Values | None]:
    def read(request: Any) -> Values | None:
        values = reads(request)
        if values is not None and is_kept:
            hash(values)  # answers are cached by these values
        return values

    return _guarded(point, read)


def _guarded(point: EntryPoint, function: Callable[..., T]) -> Callable[..., T]:
    """Return *function* of a plugin wrapped so that any exception becomes a BrokerPluginError."""

    def call(*arguments: Any) -> T:
        try:
            return function(*arguments)
        except BrokerPluginError:
            raise
        except Exception as error:
            raise _unusable(point, _error_text(error)) from error

    return call


def _check_unique_names(plugins: Iterable[Filter | Weight]) -> None:
    seen_names: set[tuple[str, str]] = set()
    for plugin in plugins:
        for activity in plugin.activities:
            if (plugin.name, activity) in seen_names:
                raise BrokerPluginError(
                    name=plugin.name, value=type(plugin).__name__, reason="another plugin has the same name"
                )
            seen_names.add((plugin.name, activity))


def _unusable(point: EntryPoint, reason: str) -> BrokerPluginError:
    return BrokerPluginError(name=point.name, value=point.value, reason=reason)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
