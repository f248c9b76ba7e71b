"""The options that try a change, and the display of its effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fairq.cli.figures import short, two_places
from fairq.cli.options import valued
from fairq.cli.output import Column, Table
from fairq.common.quantities import rounded

if TYPE_CHECKING:
    from fairq.steps.simulate.alteration import Alteration
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


With = Annotated[str | None, valued("--with", "Try FILE [settings or HTCondor configuration].", "FILE")]
Set = Annotated[list[str] | None, valued("--set", "Try a setting; repeatable.", "KEY=VALUE")]
Factor = Annotated[list[str] | None, valued("--factor", "Try a priority factor; repeatable.", "NAME=VALUE")]
Ceiling = Annotated[
    list[str] | None, valued("--ceiling", "Try a ceiling in slot weight [-1: none]; repeatable.", "NAME=N")
]
Floor = Annotated[list[str] | None, valued("--floor", "Try a floor in slot weight [0: none]; repeatable.", "NAME=N")]
Limit = Annotated[list[str] | None, valued("--limit", "Try a concurrency limit; repeatable.", "NAME=N")]
Without = Annotated[list[str] | None, valued("--without", "Leave out a slot or machine; repeatable.", "SLOT")]


def alteration_of(
    other: str | None,
    sets: list[str] | None,
    factor: list[str] | None,
    slots: str | None,
    without: list[str] | None,
    ceiling: list[str] | None,
    floor: list[str] | None,
    limit: list[str] | None,
) -> Alteration:
    """Return the change that these options describe."""
    from fairq.steps.simulate.alteration import Alteration

    return Alteration(other, sets or (), factor or (), slots, without or (), ceiling or (), floor or (), limit or ())
