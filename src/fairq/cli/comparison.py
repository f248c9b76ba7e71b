"""The option ``--compare`` of the commands that explain a decision, and the display of its result."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from fairq.cli.output import Column, Table

Compare = Annotated[bool, Option("--compare", help="Show where the other set of rules decides differently.")]
"""``compare: Compare = False``."""


def comparison_sentence(compare: dict[str, Any]) -> str:
    """Return whether and where the other set of rules decides differently, and which single rule points cause this."""
    rules, points = compare["other_rules"], compare["points"]
    if not compare["differs"]:
        return f"The rules {rules} decide the same."
    first = f"The rules {rules} decide differently. The first step that differs: {compare['differs_at']}."
    if points is None:
        return f"{first} The rule points were not tried one by one: the pool is too large."
    if not points:
        return f"{first} No single rule point changes the decision."
    return f"{first} Rule points that change the decision on their own: {', '.join(points)}."


def comparison_table(compare: dict[str, Any]) -> Table:
    """Return the steps of the decision under both sets of rules, without steps that are empty or 0 in both."""
    columns = [Column("Step", "step"), *comparison_columns(compare)]
    *steps, decision = compare["steps"]
    shown_steps = [step for step in steps if {_shown(step["here"]), _shown(step["there"])} - {"", "0"}]
    return Table(columns, [*shown_steps, decision], title="Steps of the decision")


def comparison_columns(compare: dict[str, Any]) -> list[Column]:
    """Return the columns with the results of both sets of rules."""
    return [
        Column(f"Rules {compare['rules']}", "here", _shown, "left"),
        Column(f"Rules {compare['other_rules']}", "there", _shown, "left"),
    ]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_shown, value)))
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.6g}" if value < 1e12 else "unlimited"
