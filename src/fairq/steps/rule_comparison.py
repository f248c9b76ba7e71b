"""The comparison of both sets of rules of a scheme: steps, and rule points that change the decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fairq.settings.key import Scheme

if TYPE_CHECKING:
    from fairq.settings import Settings

Steps = Mapping[str, Any]
"""The results of the steps of a decision, in order, the decision last. The keys do not depend on the rules."""

Decide = Callable[["Settings"], Steps]
"""Decides under other settings, without storing."""


def compare_rules(settings: Settings, scheme: Scheme, decide: Decide, *, try_points: bool = True) -> dict[str, Any]:
    """Return how the two sets of rules of *scheme* decide.

    ``steps`` has the result of each step under both sets. ``differs_at`` names the first step that differs, None if the
    decisions agree. ``points`` are the rule points that change the decision on their own; None if the decisions agree,
    or if *try_points* is false.
    """
    rules = settings[scheme.rules]
    other_rules = next(choice for choice in scheme.choices if choice != rules)
    other = settings.under(other_rules, scheme=scheme)
    here, there = decide(settings), decide(other)
    parted = [step for step in here if here[step] != there[step]]
    decision = list(here)[-1]
    differs = decision in parted
    points = None
    if differs and try_points:
        changed = [entry.name for entry in settings if entry.key.point and other[entry.name] != entry.value]
        alone = {name: decide(settings.under(other_rules, scheme=scheme, only=[name])) for name in changed}
        points = [name for name, steps in alone.items() if steps[decision] != here[decision]]
    return {
        "rules": rules,
        "other_rules": other_rules,
        "differs": differs,
        "differs_at": parted[0] if differs else None,
        "steps": [{"step": step, "here": value, "there": there[step]} for step, value in here.items()],
        "points": points,
    }
