"""The first candidates of an analysis task: all queues for analysis, or those that the user names.

Source: docs/panda.md, Analysis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.checks.candidates import CANDIDATES_STAGE
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.site_lists import excluded_sites, included_sites
from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans, Columns
from fairq.engine.brokerage.pool.names import is_named, matches_any
from fairq.engine.brokerage.pool.queue_kinds import listed, runs
from fairq.engine.brokerage.storage.endpoints import USER, units_reading

LIMITED_SITES = "LS"
"""The two-letter rule without which the user's ``includedSite`` and ``excludedSite`` are ignored."""

AUTO = "AUTO"
"""In the list of included queues: all other queues, if none of the list is left."""

HOSPITAL = "_HOSPITAL"

_ANALYSIS = frozenset({ANALYSIS})


class Selection(NamedTuple):
    """The queues that the task names.

    Args:
        candidates: the first candidates, as rows; *units*: the same, as units.
        given: the queues that its ``site`` names; empty if it names none.
        included, excluded: patterns of names; None includes all.
        opens: under the rules panda, a list of included queues also allows queues that are closed to the brokerage.
    """

    candidates: Booleans
    units: Booleans
    given: tuple[str, ...] = ()
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    opens: bool = False


def select(request: BrokerageRequest) -> Selection:
    """Return the queues that the task names, computed once; store in the request whether some are pre-assigned."""
    found = _select(request)
    if found.given:
        request.preassigned = "single" if len(found.given) == 1 else "list"
    elif found.included is not None and request.rules.included_sites_always:
        request.preassigned = "list"
    return found


def unknown_sites(columns: Columns, task: Task) -> list[str]:
    """Return the names in the task's ``site`` that are neither a queue nor, in analysis, storage that queues read."""
    unknown = columns.unknown(task.sites)
    if task.activity != ANALYSIS or not unknown:
        return unknown
    read = units_reading(columns, USER)
    return [name for name in unknown if name not in read]


def given_rows(request: BrokerageRequest) -> Booleans:
    """Return the rows that the task's ``site`` names."""
    return rows_called(request.columns, select(request).given)


def preassigned_rows(request: BrokerageRequest) -> Booleans:
    """Return the rows that the task is pre-assigned to: by ``site``, and by ``includedSite`` where that counts."""
    rows, included = given_rows(request), select(request).included
    if included is None or not request.rules.included_sites_always:
        return rows
    return rows | np.array([is_named(queue, included) for queue in request.columns.queues], dtype=np.bool_)


@once_per_task
def _select(request: BrokerageRequest) -> Selection:
    task, columns, rules = request.task, request.columns, request.rules
    candidates = runs(columns, ANALYSIS, every=rules.every_queue)
    units = columns.kept(("analysis units", rules.every_queue), lambda: _units(columns, candidates))
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    opens = False
    if rules.included_sites_always or task.has_rule(LIMITED_SITES):
        excluded, included = excluded_sites(task), included_sites(task)
        opens = included is not None
    if not task.site:
        return Selection(candidates, units, (), included, excluded, opens)
    known = np.ones(len(columns), dtype=np.bool_) if rules.every_queue else listed(columns)
    words = task.sites if rules.site_lists else (task.site,)
    names = tuple(name for name in words if (rows_called(columns, (name,)) & known).any())
    if names:
        called = rows_called(columns, names) & known
        if not rules.site_lists:
            # PanDA adds a unified queue itself, which never gets jobs, and not its pseudo queues.
            called &= np.array([queue.name in names for queue in columns.queues], dtype=np.bool_)
        candidates = candidates | called
        return Selection(candidates, _units(columns, candidates), names, included, excluded, opens)
    # Not a queue: the queues that read from storage of that name; a name of nothing is ignored, in PanDA the list
    # of included queues with it.
    readers = units_reading(columns, USER).get(task.site, ())
    reading = tuple(columns.unit_names[unit] for unit in readers if units[unit])
    otherwise = included if rules.included_sites_always else None
    return Selection(candidates, units, (), reading or otherwise, excluded, opens)


def _units(columns: Columns, candidates: Booleans) -> Booleans:
    units = np.zeros(len(columns.unit_names), dtype=np.bool_)
    units[columns.unit_of[candidates]] = True
    return units


def rows_called(columns: Columns, names: tuple[str, ...]) -> Booleans:
    """Return the rows of the queues, or of all pseudo queues of the unified queues, called one of *names*."""
    wanted = set(names)
    return np.array([not wanted.isdisjoint((queue.name, queue.unit)) for queue in columns.queues], dtype=np.bool_)


class AnalysisQueues(PlainFilter):
    """Only queues for analysis are candidates."""

    name = "analysis type"
    stage = CANDIDATES_STAGE
    activities = _ANALYSIS
    reasons = (Reason("wrong_type"),)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse them."""
        return ~select(request).candidates[rows]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what kind of queue it is."""
        return {"type": request.columns.queues[row].type}


class Included(PlainFilter):
    """Refuse queues that the user excludes or does not include, and queues of another cloud."""

    name = "included"
    stage = "include/exclude check"
    activities = _ANALYSIS
    reasons = (
        Reason("excluded"),
        Reason("notincluded"),
        Reason("cloudmismatch"),
    )

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Compare names and clouds; AUTO in the list keeps the others if none of the list is left."""
        columns, task, chosen = request.columns, request.task, select(request)
        names = columns.unit_names
        codes = np.zeros(len(names), dtype=np.uint8)
        if request.rules.task_cloud and task.cloud and task.cloud != "any":
            codes[[unit.cloud != task.cloud for unit in columns.units]] = 3
        others = np.zeros(len(names), dtype=np.bool_)
        if chosen.included is not None:
            included = np.zeros(len(names), dtype=np.bool_)
            included[columns.unit_of[[is_named(queue, chosen.included) for queue in columns.queues]]] = True
            others = ~included
            if AUTO not in chosen.included:
                codes[others] = 2
        if chosen.excluded:
            codes[[matches_any(name, chosen.excluded) for name in names]] = 1
        units = columns.unit_of[rows]
        if (~others & (codes == 0))[units].any():
            codes[others & (codes == 0)] = 2
        return codes[units]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the list or the clouds."""
        chosen = select(request)
        if reason.tag == "cloudmismatch":
            return {"cloud": request.columns.queues[row].cloud, "task_cloud": request.task.cloud}
        if reason.tag == "excluded":
            return {"excludedSite": list(chosen.excluded)}
        return {"includedSite": list(chosen.included or ())}


class Preassigned(PlainFilter):
    """A task goes only to its given queues.

    Under the rules panda, it fails if its single given queue is refused and others are not.
    """

    name = "preassigned"
    stage = "preassign check"
    activities = _ANALYSIS
    reasons = (Reason("nonpreassigned"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply where queues are given."""
        return bool(select(request).given)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse all others."""
        given = given_rows(request)[rows]
        if not given.any() and request.rules.lost_site_is_fatal:
            request.is_fatal = True
        return ~given

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the queues given."""
        return {"site": request.task.site}


class Hospital(PlainFilter):
    """Under the rules panda, hospital queues are used only if no other queue is left."""

    name = "hospital"
    stage = "hospital check"
    activities = _ANALYSIS
    reasons = (Reason("hospital"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Look under the rules panda."""
        return request.rules.hospital_last

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse them unless only they are left."""
        hospital = request.columns.unit_flags("hospital", lambda unit: unit.name.endswith(HOSPITAL))[rows]
        return SWITCHED_OFF if hospital.all() else hospital
