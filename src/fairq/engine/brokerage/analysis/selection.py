"""Which queues an analysis task begins with: all for analysis, or those that the user names (reference panda 5.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairq.engine.brokerage.checks.candidates import CANDIDATES_STAGE
from fairq.engine.brokerage.columns import Booleans, Columns
from fairq.engine.brokerage.endpoints import USER
from fairq.engine.brokerage.names import matches_any
from fairq.engine.brokerage.plugin import SWITCHED_OFF, Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.queue_kinds import listed, runs
from fairq.engine.brokerage.tasks import ANALYSIS

LIMITED_SITES = "LS"
"""The two-letter rule without which the user's ``includedSite`` and ``excludedSite`` are not looked at."""

AUTO = "AUTO"
"""In the list of included queues: all others, if none of the list is left."""

HOSPITAL = "_HOSPITAL"

_KEY = "selection"
_ANALYSIS = frozenset({ANALYSIS})


class Selection(NamedTuple):
    """What the task says of queues.

    Args:
        candidates: rows to begin with; *units* says it of units.
        single: the one queue that it is pre-assigned to; None if there is no such.
        included, excluded: patterns of names; None includes all.
        opens: a list of included queues is given, which opens those that are not brokered to otherwise.
    """

    candidates: Booleans
    units: Booleans
    single: str | None = None
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    opens: bool = False


def select(question: Question) -> Selection:
    """Return what the task says of queues, found once; note in the question whether one is pre-assigned."""
    if _KEY not in question.notes:
        question.notes[_KEY] = _select(question)
    found = question.notes[_KEY]
    assert isinstance(found, Selection)
    if found.single is not None:
        question.preassigned = "single"
    return found


def _select(question: Question) -> Selection:
    task, columns = question.task, question.columns
    candidates = runs(columns, ANALYSIS)
    units = columns.kept("analysis units", lambda: _units(columns, candidates))
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    opens = False
    if task.has_rule(LIMITED_SITES):
        excluded = _words(task.parameters.get("excludedSite")) or ()
        included = _words(task.parameters.get("includedSite"))
        opens = included is not None
    if not task.site:
        return Selection(candidates, units, None, included, excluded, opens)
    given = rows_called(columns, task.site) & listed(columns)
    if given.any():
        candidates = candidates | given
        return Selection(candidates, _units(columns, candidates), task.site, included, excluded, opens)
    # Not a queue: the queues that read from storage of that name; a name of nothing is ignored, the list with it.
    readers = columns.units_reading(USER).get(task.site, ())
    names = tuple(columns.unit_names[unit] for unit in readers if units[unit])
    return Selection(candidates, units, None, names or None, excluded, opens)


def _units(columns: Columns, candidates: Booleans) -> Booleans:
    units = np.zeros(len(columns.unit_names), dtype=np.bool_)
    units[columns.unit_of[candidates]] = True
    return units


def rows_called(columns: Columns, name: str) -> Booleans:
    """Return the rows of the queue, or of all pseudo queues of the unified queue, called *name*."""
    return np.array([name in {queue.name, queue.unit} for queue in columns.queues], dtype=np.bool_)


def _words(value: Any) -> tuple[str, ...] | None:
    # The user's list comes as such or as text with commas; an empty text is no list.
    if value is None or value == "":
        return None
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else tuple(str(value).split(","))


class AnalysisQueues(PlainFilter):
    """Queues that analysis does not run at are no candidates."""

    name = "analysis type"
    stage = CANDIDATES_STAGE
    place = 10
    activities = _ANALYSIS
    reasons = (Reason("wrong_type", "analysis does not run at this queue"),)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse them."""
        return ~select(question).candidates[rows]

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what kind of queue it is."""
        return {"type": question.columns.queues[row].type}


class Included(PlainFilter):
    """Queues that the user excludes or does not include, and those of another cloud."""

    name = "included"
    stage = "include/exclude check"
    place = 1700
    activities = _ANALYSIS
    reasons = (
        Reason("excluded", "the user excludes the queue"),
        Reason("notincluded", "the user names other queues"),
        Reason("cloudmismatch", "the task goes to another cloud"),
    )

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare names and clouds; AUTO in the list keeps the others for the case that none of the list is left."""
        columns, task, chosen = question.columns, question.task, select(question)
        names = columns.unit_names
        codes = np.zeros(len(names), dtype=np.uint8)
        if task.cloud and task.cloud != "any":
            codes[[unit.cloud != task.cloud for unit in columns.units]] = 3
        others = np.zeros(len(names), dtype=np.bool_)
        if chosen.included is not None:
            others = np.array([not matches_any(name, chosen.included) for name in names], dtype=np.bool_)
            if AUTO not in chosen.included:
                codes[others] = 2
        if chosen.excluded:
            codes[[matches_any(name, chosen.excluded) for name in names]] = 1
        units = columns.unit_of[rows]
        if (~others & (codes == 0))[units].any():
            codes[others & (codes == 0)] = 2
        return codes[units]

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the list or the clouds."""
        chosen = select(question)
        if reason.tag == "cloudmismatch":
            return {"cloud": question.columns.queues[row].cloud, "task_cloud": question.task.cloud}
        if reason.tag == "excluded":
            return {"excludedSite": list(chosen.excluded)}
        return {"includedSite": list(chosen.included or ())}


class Preassigned(PlainFilter):
    """A task that is given one queue goes nowhere else; if that one is out and others are not, it cannot go on."""

    name = "preassigned"
    stage = "preassign check"
    place = 1800
    activities = _ANALYSIS
    reasons = (Reason("nonpreassigned", "the task is given another queue"),)

    def applies(self, question: Question) -> bool:
        """Look where one queue is given."""
        return select(question).single is not None

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse all others."""
        given = rows_called(question.columns, select(question).single or "")[rows]
        if not given.any():
            question.notes["fatal"] = True
        return ~given

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the queue given."""
        return {"site": select(question).single}


class Hospital(PlainFilter):
    """Hospital queues are taken only where nothing else is left."""

    name = "hospital"
    stage = "hospital check"
    place = 1900
    activities = _ANALYSIS
    reasons = (Reason("hospital", "another queue is left, which is not a hospital"),)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse them unless only they are left."""
        hospital = question.columns.unit_flags("hospital", lambda unit: unit.name.endswith(HOSPITAL))[rows]
        return SWITCHED_OFF if hospital.all() else hospital
