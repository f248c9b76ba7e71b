"""Which queues are candidates: those that a task names, and all others (docs/panda.md, Queues, Production filters and
Analysis).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask, Preassigned, once_per_task
from fairq.engine.brokerage.flow.plugin import Details, Left, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.columns import Booleans, Pool
from fairq.engine.brokerage.pool.flags import listed, runs, runs_all_of
from fairq.engine.brokerage.pool.storage import USER, endpoints_of, units_reading
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Queue

MERGE_SKIPPED = 24 * 3600.0
"""Seconds of skipping its given queues after which a merge may go elsewhere."""

MERGE_AGE = 24 * 3600.0
MERGE_FAILING = 6 * 3600.0
"""The same under the rules panda: seconds since the last change of its input, and of failures of the task."""

LIMITED_SITES = "LS"
"""The two-letter rule that makes the user's ``includedSite`` and ``excludedSite`` count."""

GivenRows = tuple[frozenset[int] | None, Preassigned | None]
"""The given rows (None: all), and whether they are one or several."""


def included_sites(task: Task) -> tuple[str, ...] | None:
    """Return the queues that the user includes, names or patterns; None includes all."""
    return _names_in(task.parameters.get("includedSite"))


def excluded_sites(task: Task) -> tuple[str, ...]:
    """Return the queues that the user excludes, names or patterns."""
    return _names_in(task.parameters.get("excludedSite")) or ()


def _names_in(value: Any) -> tuple[str, ...] | None:
    # The value is a list or a text with commas; an empty text is no list.
    if value is None or value in ("", [], ()):
        return None
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else tuple(str(value).split(","))


def given_queues(ask: Ask) -> GivenRows:
    """Return the queues to which a production task or its merge is pre-assigned."""
    task, pool, merge_queue = ask.task, ask.pool, ask.chunk.preassigned_site
    if merge_queue:
        if _was_skipped_long(ask):
            return None, None
        return frozenset(_rows_of(pool, merge_queue) | _sharing_output(pool, merge_queue)), "list"
    rows: set[int] | None = None
    if task.site and task.sites:
        rows = set().union(*(_rows_of(pool, name) for name in task.sites))
        if not pool.rules.every_queue:
            # Pseudo queues must be for production; a queue named itself is used whatever its type.
            usable = runs(pool, PRODUCTION)
            rows = {row for row in rows if usable[row] or pool.names[row] in task.sites}
    included = included_sites(task) if pool.rules.included_sites_always else None
    if included is not None:
        named = set(np.flatnonzero(_named(pool, included)).tolist())
        rows = named if rows is None else rows & named
    if rows is None:
        return None, None
    return frozenset(rows), "list" if len(rows) > 1 else "single"


def _was_skipped_long(ask: Ask) -> bool:
    # The task's cycles have failed since the first one in which its queues were skipped.
    master, frozen, now = ask.chunk.datasets[0], ask.task.frozen_time, ask.pool.world.now
    if ask.rules.merges_freed_by_skips:
        return frozen is not None and now - frozen >= MERGE_SKIPPED
    return (
        master.created is not None
        and master.modified is not None
        and master.modified != master.created
        and now - master.modified > MERGE_AGE
        and frozen is not None
        and now - frozen > MERGE_FAILING
    )


def _rows_of(pool: Pool, name: str) -> set[int]:
    if name in pool.rows:
        return {pool.rows[name]}
    return {row for row, queue in enumerate(pool.queues) if queue.unit == name}


def _sharing_output(pool: Pool, name: str) -> set[int]:
    # Other online queues that read its output storage and run all of its activities can merge its output.
    unit = pool.unit_numbers.get(name.partition("/")[0])
    output = None if unit is None else endpoints_of(pool)[unit].default_write
    if output is None:
        return set()
    readers = set(units_reading(pool).get(output.rse, np.empty(0, np.intp)).tolist())
    alike = runs_all_of(pool, pool.unit_of.tolist().index(unit))
    return {
        row
        for row, queue in enumerate(pool.queues)
        if pool.unit_of[row] in readers and queue.status == "online" and alike[row]
    }


def stop_for_site(ask: Ask) -> tuple[str, Details] | None:
    """Return the reason to stop a production task whose ``site`` names no known queue, or None."""
    task, pool = ask.task, ask.pool
    if not task.sites or ask.chunk.preassigned_site or len(pool.unknown(task.sites)) < len(task.sites):
        return None
    close = get_close_matches(task.sites[0], pool.unit_names, 1)
    return "unknown_site", {"site": task.site, **({"nearest": close[0]} if close else {})}


def unknown_sites(pool: Pool, task: Task) -> list[str]:
    """Return the names in the task's ``site`` that are neither a queue nor, in analysis, storage that queues read."""
    unknown = pool.unknown(task.sites)
    if task.activity != ANALYSIS or not unknown:
        return unknown
    read = units_reading(pool, USER)
    return [name for name in unknown if name not in read]


class Selection(NamedTuple):
    """The queues that an analysis task names.

    Args:
        candidates: the first candidates, as rows; *units*: the same, as units.
        given: the queues that its ``site`` names; empty if it names none.
        included, excluded: patterns of names; None includes all.
        opens: there is a list of included queues, which (rules panda) also allows queues closed to the brokerage.
    """

    candidates: Booleans
    units: Booleans
    given: tuple[str, ...] = ()
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    opens: bool = False


@once_per_task
def selection_of(ask: Ask) -> Selection:
    """Return the queues that an analysis task names."""
    task, pool, rules = ask.task, ask.pool, ask.rules
    candidates = runs(pool, ANALYSIS)
    units = pool.under("analysis units", lambda: _units(pool, candidates))
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    if rules.included_sites_always or task.has_rule(LIMITED_SITES):
        excluded, included = excluded_sites(task), included_sites(task)
    opens = included is not None
    if not task.site:
        return Selection(candidates, units, (), included, excluded, opens)
    usable = np.ones(len(pool), dtype=np.bool_) if rules.every_queue else listed(pool)
    asked_names = task.sites if rules.site_lists else (task.site,)
    names = tuple(name for name in asked_names if (rows_called(pool, (name,)) & usable).any())
    if names:
        called = rows_called(pool, names) & usable
        if not rules.site_lists:
            # PanDA adds the unified queue itself, which never gets jobs, instead of its pseudo queues.
            called &= np.array([queue.name in names for queue in pool.queues], dtype=np.bool_)
        candidates = candidates | called
        return Selection(candidates, _units(pool, candidates), names, included, excluded, opens)
    # The name is not a queue: include the queues that read storage of that name. An unknown name is ignored; in PanDA,
    # the list of included queues is then ignored as well.
    readers = units_reading(pool, USER).get(task.site, ())
    reading = tuple(pool.unit_names[unit] for unit in readers if units[unit])
    otherwise = included if rules.included_sites_always else None
    return Selection(candidates, units, (), reading or otherwise, excluded, opens)


def _units(pool: Pool, candidates: Booleans) -> Booleans:
    units = np.zeros(len(pool.unit_names), dtype=np.bool_)
    units[pool.unit_of[candidates]] = True
    return units


def preassignment(ask: Ask) -> Preassigned | None:
    """Return whether queues are given to an analysis task, one or several."""
    chosen = selection_of(ask)
    if chosen.given:
        return "single" if len(chosen.given) == 1 else "list"
    return "list" if chosen.included is not None and ask.rules.included_sites_always else None


def rows_called(pool: Pool, names: tuple[str, ...]) -> Booleans:
    """Return the rows whose queue or unified queue has one of *names*."""
    name_set = set(names)
    return np.array([not name_set.isdisjoint((queue.name, queue.unit)) for queue in pool.queues], dtype=np.bool_)


def _named(pool: Pool, patterns: tuple[str, ...]) -> Booleans:
    return np.array([is_named(queue, patterns) for queue in pool.queues], dtype=np.bool_)


def preassigned_rows(pool: Pool, given_names: tuple[str, ...], included: tuple[str, ...] | None) -> Booleans:
    """Return the rows to which an analysis task is pre-assigned: by ``site``, and ``includedSite`` if that counts."""
    rows = rows_called(pool, given_names)
    if included is None or not pool.rules.included_sites_always:
        return rows
    return rows | _named(pool, included)


def spared_row(ask: Ask) -> tuple[str, ...]:
    """Return the single given queue, which PanDA's code never refuses in final checks of analysis; empty if none."""
    return selection_of(ask).given if ask.is_spared_alone else ()


CANDIDATES_STAGE = "candidates"
"""The line of the stage table for the first candidates."""

AUTO = "AUTO"
"""In the list of included queues: all other queues, if none of the list is left."""

HOSPITAL_SUFFIX = "_HOSPITAL"

NO_TYPE, WRONG_TYPE, TEST = Reason("no_resource_type"), Reason("wrong_type"), Reason("test_queue")
NOT_GIVEN, HOSPITAL = Reason("nonpreassigned"), Reason("hospital")
EXCLUDED, NOT_INCLUDED, CLOUD = Reason("excluded"), Reason("notincluded"), Reason("cloudmismatch")


@refuses(f"pseudo queues of {PRODUCTION}", CANDIDATES_STAGE, NO_TYPE, reads=lambda ask: ())
def pseudo_queues(pool: Pool) -> Refusals:
    """Refuse unified queues without pseudo queues: no resource type fits their slots."""
    resource_types = [resource_type.name for resource_type in pool.world.resource_types]
    # A unified queue is a row itself only if it has no pseudo queue.
    unified = pool.flags("unified", lambda queue: queue.is_unified)
    yield Refusal(
        NO_TYPE, unified, lambda row: {"corecount": pool.queues[row].corecount, "resource_types": resource_types}
    )


analysis_pseudo_queues = pseudo_queues._replace(name=f"pseudo queues of {ANALYSIS}")


def _reads_given(ask: Ask) -> Values | None:
    if ask.given_rows is None:
        return None
    site = ask.chunk.preassigned_site or ask.task.site
    return ask.given_rows, site, () if site else tuple(included_sites(ask.task) or ())


@refuses("given", CANDIDATES_STAGE, NOT_GIVEN, reads=_reads_given)
def given(pool: Pool, rows: frozenset[int], named: str | None, included: tuple[str, ...]) -> Refusals:
    """Refuse all but the given queues of a pre-assigned production task."""
    others = np.ones(len(pool), np.bool_)
    others[list(rows)] = False
    yield Refusal(NOT_GIVEN, others, lambda row: {"site": named} if named else {"includedSite": list(included)})


@refuses("type", CANDIDATES_STAGE, WRONG_TYPE, TEST, reads=lambda ask: () if ask.given_rows is None else None)
def queue_type(pool: Pool) -> Refusals:
    """Refuse queues that are not for production; under the rules documented, also queues for tests."""
    queues = pool.queues
    yield Refusal(
        WRONG_TYPE,
        ~runs(pool, PRODUCTION),
        lambda row: {"type": queues[row].type, "cloud": queues[row].cloud},
    )
    if pool.rules.exclude_test_queues:
        test = pool.flags("test name", lambda queue: "test" in queue.unit.lower())
        yield Refusal(TEST, test, lambda row: {"name": queues[row].unit})


@refuses("analysis type", CANDIDATES_STAGE, WRONG_TYPE, reads=lambda ask: (selection_of(ask).candidates,), kept=False)
def analysis_queue_type(pool: Pool, candidates: Booleans) -> Refusals:
    """Refuse queues that are neither for analysis nor named by the task."""
    yield Refusal(WRONG_TYPE, ~candidates, lambda row: {"type": pool.queues[row].type})


def _reads_lists(ask: Ask) -> Values:
    chosen = selection_of(ask)
    return chosen.included, chosen.excluded, ask.task.cloud


@refuses("included", "include/exclude check", EXCLUDED, NOT_INCLUDED, CLOUD, reads=_reads_lists, looks_back=True)
def included(
    pool: Pool, remaining: Left, listed: tuple[str, ...] | None, excluded: tuple[str, ...], cloud: str | None
) -> Refusals:
    """Refuse queues that the user excludes or does not include, and queues of another cloud.

    With AUTO in the list, other queues are kept if no listed queue is left.
    """
    refused = pool.unit_rows([matches_any(name, excluded) for name in pool.unit_names])
    yield Refusal(EXCLUDED, refused, lambda row: {"excludedSite": list(excluded)})
    other_cloud = np.zeros(len(pool), np.bool_)
    if pool.rules.task_cloud and cloud and cloud != "any":
        other_cloud = pool.unit_rows([unit.cloud != cloud for unit in pool.units])
    if listed is not None:
        in_list = np.zeros(len(pool.units), np.bool_)
        in_list[pool.unit_of[[is_named(queue, listed) for queue in pool.queues]]] = True
        not_listed = ~in_list[pool.unit_of]
        if AUTO in listed:
            if not (remaining.rows & ~not_listed & ~refused & ~other_cloud).any():
                not_listed = np.zeros(len(pool), np.bool_)
            else:
                not_listed = not_listed & ~other_cloud
        yield Refusal(NOT_INCLUDED, not_listed, lambda row: {"includedSite": list(listed)})
    yield Refusal(CLOUD, other_cloud, lambda row: {"cloud": pool.queues[row].cloud, "task_cloud": cloud})


def _reads_preassigned(ask: Ask) -> Values | None:
    names = selection_of(ask).given
    return (names, ask.task.site) if names else None


@refuses("preassigned", "preassign check", NOT_GIVEN, reads=_reads_preassigned)
def preassigned(pool: Pool, names: tuple[str, ...], site: str) -> Refusals:
    """Refuse all but the given queues of an analysis task."""
    yield Refusal(NOT_GIVEN, ~rows_called(pool, names), lambda row: {"site": site})


@refuses(
    "hospital", "hospital check", HOSPITAL, reads=lambda ask: () if ask.rules.hospital_last else None, looks_back=True
)
def hospital(pool: Pool, remaining: Left) -> Refusals | None:
    """Refuse hospital queues if another queue is left (rules panda)."""
    rows = pool.unit_flags("hospital", lambda unit: unit.name.endswith(HOSPITAL_SUFFIX))
    return None if rows[remaining.rows].all() else [Refusal(HOSPITAL, rows)]


def is_named(queue: Queue, patterns: tuple[str, ...]) -> bool:
    """Return whether a user's list of patterns names a queue, by its own name or that of its unified queue."""
    return matches_any(queue.unit, patterns) or matches_any(queue.name, patterns)


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether *name* equals a pattern, or contains a match of a pattern with ``*`` (PanDA isMatched)."""
    return any(_matches(name, pattern) for pattern in patterns if pattern)


def _matches(name: str, pattern: str) -> bool:
    if "*" not in pattern:
        return pattern == name
    try:
        return re.search(pattern.replace("*", ".*"), name) is not None
    except re.error:
        return False
