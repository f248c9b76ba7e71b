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
    own_steps, other_steps = decide(settings), decide(other)
    differing = [step for step in own_steps if own_steps[step] != other_steps[step]]
    decision = list(own_steps)[-1]
    differs = decision in differing
    points = None
    if differs and try_points:
        changed = [entry.name for entry in settings if entry.key.point and other[entry.name] != entry.value]
        steps_by_point = {name: decide(settings.under(other_rules, scheme=scheme, only=[name])) for name in changed}
        points = [name for name, steps in steps_by_point.items() if steps[decision] != own_steps[decision]]
    return {
        "rules": rules,
        "other_rules": other_rules,
        "differs": differs,
        "differs_at": differing[0] if differs else None,
        "steps": [{"step": step, "here": value, "there": other_steps[step]} for step, value in own_steps.items()],
        "points": points,
    }
