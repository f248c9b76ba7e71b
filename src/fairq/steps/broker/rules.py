"""The rules of the brokerage, made from the table of rule points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.flow.rules import Rules
from fairq.settings.broker_points import POINTS

if TYPE_CHECKING:
    from fairq.settings import Settings


def preset(name: Any, **points: Any) -> Rules:
    """Return the rules called *name* (``documented`` or ``panda``), with other values for some *points*."""
    return Rules(name, **{key.name: key.default_under(name) for key in POINTS} | points)


def rules_in_force(settings: Settings, chosen: str | None = None) -> Rules:
    """Return the rules called *chosen*, else those of ``broker.rules``.

    A single point that the settings name themselves wins.
    """
    in_force = settings["broker.rules"]
    own = {
        key.name: settings[key.full_name]
        for key in POINTS
        if str(settings.origin(key.full_name)) != f"rules {in_force}"
    }
    return preset(chosen or in_force, **own)
