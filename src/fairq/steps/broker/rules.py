"""The rules of the brokerage, made from the table of rule points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.flow.rules import Rules
from fairq.settings.key import PANDA
from fairq.settings.rule_points.panda import POINTS

if TYPE_CHECKING:
    from fairq.settings import Settings


def preset(name: Any, **points: Any) -> Rules:
    """Return the rules called *name* (``documented`` or ``panda``), with other values for some *points*."""
    return Rules(name, **{key.name: key.default_under(name) for key in POINTS} | points)


def rules_in_force(settings: Settings, chosen: str | None = None) -> Rules:
    """Return the rules called *chosen*, else those of ``broker.rules``.

    A rule point that is set explicitly in the settings takes precedence.
    """
    if chosen is not None:
        settings = settings.under(chosen, scheme=PANDA)
    return preset(settings[PANDA.rules], **{key.name: settings[key.full_name] for key in POINTS})
