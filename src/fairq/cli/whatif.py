"""The display of the effect of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairq.cli.figures import short, two_places
from fairq.cli.output import Column, Table
from fairq.common.quantities import rounded

if TYPE_CHECKING:
    from fairq.steps.simulate.whatif import WhatIf


def submitters_table(comparison: WhatIf, *, title: str, key: str | None = "changes", cycle: bool = True) -> Table:
    """Return the result of each submitter now and after the change; without *cycle*, in the long run only."""
    columns = [Column("Submitter", "submitter")]
    if any(record["factor_now"] != record["factor_then"] for record in comparison.submitters):
        columns += _pair("Factor", "factor", short, level=1)
    if cycle and comparison.now.decision is not None:
        columns += [*_pair("Limit", "limit", two_places, level=3), *_pair("Matched", "matched", short, level=2)]
    columns += _pair("Long Run", "long_run", two_places)
    return Table(columns, comparison.submitters, title=title, key=key)


def groups_table(comparison: WhatIf) -> Table:
    """Return the allocation of each group now and after the change."""
    columns = [Column("Group", "group"), *_pair("Allocated", "allocated", two_places)]
    return Table(columns, comparison.groups, title="Groups", key="groups")


def _pair(heading: str, member: str, shown: Any, level: int = 0) -> list[Column]:
    return [
        Column(f"{heading} now", f"{member}_now", shown, "right", level=level),
        Column("then", f"{member}_then", shown, "right", level=level),
    ]


def summary(comparison: WhatIf) -> Sequence[str]:
    """Return who gains and who loses, in plain sentences, for the next cycle and for the long run."""
    lines = []
    parts = [("matched", "The next cycle")] if comparison.now.decision is not None else []
    for member, when in [*parts, ("long_run", "In the long run")]:
        changes = comparison.changed(member)
        gains = [f"{name} +{rounded(by)}" for name, by in changes if by > 0]
        losses = [f"{name} {rounded(by)}" for name, by in reversed(changes) if by < 0]
        if not changes:
            lines.append(f"{when}: no changes{_reason_for_none(comparison, member)}")
        else:
            sentences = [
                f"more for {_first_few(gains)}" if gains else "",
                f"less for {_first_few(losses)}" if losses else "",
            ]
            lines.append(f"{when}: {'; '.join(filter(None, sentences))} (slot weight)")
    return lines


def _first_few(texts: Sequence[str], maximum: int = 5) -> str:
    others = len(texts) - maximum
    return ", ".join(texts[:maximum]) + (f" and {others} more" if others > 0 else "")


def _reason_for_none(comparison: WhatIf, member: str) -> str:
    if member == "long_run":
        return "" if comparison.contended else ": there are enough slots for all jobs, and factors decide nothing"
    decision = comparison.then.decision
    if decision is not None and not decision.matches:
        return ": it makes no matches"
    return ""
