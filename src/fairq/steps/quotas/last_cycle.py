"""The figures of the accounting groups that the last cycle left behind."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from fairq.engine.quotas.record import GroupFigures
from fairq.state import cycles
from fairq.state.connection import State


class LastFigures(NamedTuple):
    """What the last cycle has on record: its number (0: there was none), its time, the groups breadth first.

    *overruns* are the expressions for no job in particular, such as the groups' order, that took too long in it.
    """

    cycle: int = 0
    time: int = 0
    groups: tuple[GroupFigures, ...] = ()
    overruns: tuple[dict[str, Any], ...] = ()


def last_figures(state: State) -> LastFigures:
    """Return the groups of the last cycle; none if it had none, or was held by a fairq that knew of none."""
    decision = cycles.latest_decision(state)
    if decision is None:
        return LastFigures()
    names = [field.name for field in fields(GroupFigures)]
    groups: tuple[GroupFigures, ...]
    try:
        groups = tuple(GroupFigures(**{name: of[name] for name in names}) for of in decision["quotas"])
    except (KeyError, TypeError):
        groups = ()
    overruns = tuple(of for of in decision.get("overruns", ()) if of["job"] is None)
    return LastFigures(decision["cycle"], decision["time"], groups, overruns)
