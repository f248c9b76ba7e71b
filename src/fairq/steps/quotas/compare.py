"""The tree of groups for another pool or configuration, compared with the current tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.records import Ad
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.quotas.record import GroupFigures
from fairq.state.connection import reading
from fairq.steps.cycle.load import LoadedPool, load_pool
from fairq.steps.quotas.forecast import Forecaster

if TYPE_CHECKING:
    from fairq.settings import Settings


class Comparison(Struct, frozen=True):
    """Two trees side by side.

    Args:
        groups: a record for each group in either tree, parents before their children, ``<none>`` first. Its members
            end in ``_now`` and ``_then``; those of a tree that the group is not in are missing.
        size_now, size_then: the size of the pool, in slot weight.
        overruns: the expressions that took too long for either tree, as `overrun_document` makes them.
    """

    groups: Sequence[Ad]
    size_now: float
    size_then: float
    overruns: Sequence[dict[str, Any]] = ()


def compare(
    path: Path,
    settings: Settings,
    other: Settings,
    now: int,
    size: float | None = None,
    altered: Callable[[LoadedPool], LoadedPool] = lambda pool: pool,
) -> Comparison:
    """Compare the groups of *settings* in the current pool with those of *other* in a pool of *size*.

    *size* is in slot weight; without it, the pool is unchanged except for the changes by *altered*. Both sides are the
    start of a next cycle: demand is that of the jobs in the queue, allocations are those of a first round.

    Raises SettingValueError for an invalid expression.
    """
    with reading(path) as state:
        forecaster = Forecaster(state, settings, now)
        later = Forecaster(state, other, now, altered(load_pool(state, other, now)))
        then = later.groups(other, size)
        today = forecaster.groups(settings)
        size_then = later.size(other) if size is None else size
        size_now = forecaster.size(settings)
    records: dict[str, Ad] = {}
    for suffix, figures in (("then", then), ("now", today)):
        for group_figures in figures:
            record = records.setdefault(group_figures.group.lower(), {"group": group_figures.group})
            record.update({f"{name}_{suffix}": value for name, value in _members(group_figures).items()})
    groups = sorted(records.values(), key=_tree_order)
    return Comparison(groups, size_now, size_then, (*forecaster.overruns, *later.overruns))


def _members(group_figures: GroupFigures) -> Ad:
    return {
        "configured": group_figures.config_quota,
        "static": group_figures.static,
        "quota": group_figures.quota if group_figures.group == ROOT_GROUP else group_figures.subtree_quota,
        "own": group_figures.quota,
        "surplus_policy": group_figures.surplus_policy,
        "requested": group_figures.requested,
        "allocated": group_figures.allocated,
    }


def _tree_order(record: Ad) -> tuple[bool, list[str]]:
    name: str = record["group"]
    return name != ROOT_GROUP, name.lower().split(".")
