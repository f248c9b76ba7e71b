"""``userprio --target``: priority factors for target shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fairq.cli.figures import percent, short
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.cli.userprio_edits import Edits, make
from fairq.common.quantities import rounded, shown_duration

if TYPE_CHECKING:
    from fairq.common.records import Actor
    from fairq.host.client.ask import Door
    from fairq.steps.userprio.target import Plan


def run_target(
    invocation: Invocation,
    output: Output,
    texts: Sequence[str],
    now_option: int | None,
    *,
    apply: bool,
    scale_all: bool,
) -> None:
    """Show the factors for the shares in *texts*; with *apply*, set them. *now_option* is the value of --now."""
    from fairq.steps.userprio.target import plan_targets, read_targets

    targets, now = read_targets(texts), invocation.now(now_option)
    actor = invocation.actor(now)
    door = invocation.by_program(actor, now_option) if apply else None
    if door is not None:
        from fairq.steps.rights import require_administrator

        require_administrator(actor, "set priority factors")
    plan = plan_targets(invocation.state_path, invocation.settings, targets, actor, all_=scale_all)
    if apply:
        _apply(invocation, plan, actor, door)
    emit(_view(plan, applied=apply), output)
    for text in _notes(plan, applied=apply):
        invocation.note(text)


def _apply(invocation: Invocation, plan: Plan, actor: Actor, door: Door | None) -> None:
    """Set the factors of *plan* that change, as one change."""
    changed = [entry for entry in plan.entries if entry.factor_after != entry.factor_before]
    if changed:
        factors = [(entry.name, repr(entry.factor_after)) for entry in changed]
        make(invocation, Edits({"setfactor": factors}), actor, door)


def _view(plan: Plan, *, applied: bool) -> View:
    def factor(value: float) -> str:
        return f"{value:.6g}"

    columns = [
        Column("Submitter", "name"),
        Column("Factor", "factor_before", factor),
        Column("New Factor" if applied else "Would Be", "factor_after", factor),
        Column("Share", "share_before", percent),
        Column("New Share", "share_after", percent),
        Column("Simulated", "share_simulated", percent),
        Column("Asks For", "asks", short),
    ]
    scope = "the pool" if plan.group == "<none>" else f"group {plan.group}"
    title = f"Long-run shares of {scope}"
    records = [asdict(entry) for entry in plan.entries]
    document = {
        "group": plan.group,
        "pie": plan.pie,
        "priority_halflife": plan.half_life,
        "scaled": plan.scaled,
        "stored": applied,
    }
    return View(tables=[Table(columns, records, title=title, key="submitters")], document=document)


_TOLERANCE = 0.01
"""Accepted difference of a simulated share, relative to the share."""


def _notes(plan: Plan, *, applied: bool) -> list[str]:
    notes = []
    for entry in plan.entries:
        entitled = entry.share_after * plan.pie
        if entry.is_target and entry.asks < entitled:
            notes.append(
                f"{entry.name} asks for {rounded(entry.asks)} of {rounded(entitled)} slots now; others use the rest"
            )
        if entry.is_target and 0 <= entry.ceiling < entitled:
            notes.append(
                f"the ceiling of {entry.name} is {entry.ceiling}, below its share of {rounded(entitled)} slots"
            )
        if entry.is_target and entry.leased:
            notes.append(f"the factor of {entry.name} is a lease" + (", which has ended" if applied else ""))
        if entry.is_target and abs(entry.share_simulated - entry.share_after) > _TOLERANCE * entry.share_after:
            notes.append(f"the simulation gives {entry.name} {percent(entry.share_simulated)}, not its new share")
    if all(entry.is_target for entry in plan.entries) and len(plan.entries) > 1 and not plan.complete:
        notes.append("nobody else has jobs or recent usage: the targets divide everything in this ratio")
    scope = "the pool" if plan.group == "<none>" else f"group {plan.group}"
    notes.append(f"shares are of {scope}, {rounded(plan.pie)} slots, if all in the table have enough jobs")
    half = shown_duration(round(plan.half_life / 2))
    notes.append(f"shares follow slowly: half of the way takes about {half}, plus the run time of the jobs")
    if not applied:
        notes.append("nothing was stored; add --apply to set the factors")
    return notes
