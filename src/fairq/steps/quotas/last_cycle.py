"""The stored figures of accounting groups of the last cycle."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairq.engine.quotas.record import GroupFigures
from fairq.state import cycles
from fairq.state.connection import State


class LastFigures(Struct, frozen=True):
    """The record of the last cycle: its number (0: no cycle), its time, the groups breadth first.

    *overruns* are the expressions not tied to a job (for example the order of groups) that took too long.
    """

    cycle: int = 0
    time: int = 0
    groups: tuple[GroupFigures, ...] = ()
    overruns: tuple[dict[str, Any], ...] = ()


def dominant_resources(state: State) -> dict[str, str]:
    """Return the dominant resource of each submitter in the last cycle; none if weights were not dominant."""
    resources: dict[str, str] = (cycles.latest_decision(state) or {}).get("dominant", {})
    return resources


def last_figures(state: State) -> LastFigures:
    """Return the groups of the last cycle; none if it had none, or if an older fairq ran it."""
    decision = cycles.latest_decision(state)
    if decision is None:
        return LastFigures()
    names = GroupFigures.__struct_fields__
    groups: tuple[GroupFigures, ...]
    try:
        groups = tuple(GroupFigures(**{name: members[name] for name in names}) for members in decision["quotas"])
    except (KeyError, TypeError):
        groups = ()
    overruns = tuple(exceeded for exceeded in decision.get("overruns", ()) if exceeded["job"] is None)
    return LastFigures(decision["cycle"], decision["time"], groups, overruns)
