"""The rules of the brokerage that settings choose."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.rules import RULES, Rules

if TYPE_CHECKING:
    from fairq.settings import Settings


def rules_in_force(settings: Settings, chosen: str | None = None) -> Rules:
    """Return the rules called *chosen*, else those of ``broker.rules``.

    A single point that the settings name themselves wins.
    """
    by_name = {entry.name: entry for entry in settings if entry.path[0] == "broker"}
    own: dict[str, Any] = {}
    for field in fields(Rules):
        entry = by_name.get(f"broker.{field.name}")
        if entry is not None and entry.key.point and not str(entry.origin).startswith("rules "):
            own[field.name] = entry.value
    return replace(RULES[chosen or settings["broker.rules"]], **own)
