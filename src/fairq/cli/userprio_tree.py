"""``userprio --tree``: groups, and users below them, with their entitlements and their use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.cli.figures import SLOT, known, share_colour, two_places
from fairq.cli.output import Column, Record, Table, View
from fairq.common.quantities import shown_time

if TYPE_CHECKING:
    from fairq.steps.reports.status import PoolStatus
    from fairq.steps.userprio.tree import Share


def tree_view(pool: PoolStatus, shares: Sequence[Share], names: Sequence[str]) -> View:
    """Return the tree; with *names*, only these and the lines below them."""
    from fairq.steps.userprio.rows import named

    if names:
        is_named = named(names)
        groups = tuple(f"{share.name}." for share in shares if share.is_group and is_named(share.name))
        shares = [
            share for share in shares if is_named(share.name) or f"{share.group or ''}.{share.name}".startswith(groups)
        ]
    labels = {share.name: "  " * share.depth + _label(share) for share in shares}
    columns = [
        Column("Name", "name", labels.__getitem__, "left", narrow="cut"),
        Column("Entitled", "entitled", known),
        Column("In Use", "in_use", known, colour=_colour),
        Column("Over", "over", _signed, colour=_colour),
        Column("Idle", "idle", level=1),
        Column("Priority", "effective_priority", known, level=2),
        Column("Factor", "priority_factor", known, level=3),
        Column("Usage (h)", "usage", lambda usage: known(None if usage is None else usage / 3600), level=4),
    ]
    when = "there was no cycle yet" if pool.cycle is None else f"last cycle {shown_time(pool.cycle.time)}"
    records = [asdict(share) for share in shares]
    return View(tables=[Table(columns, records, title=when, empty="nobody has jobs or slots")])


def _label(share: Share) -> str:
    """Return a name without the prefix of the groups above it in the tree."""
    prefix = f"{share.group}." if share.group else ""
    return share.name.removeprefix(prefix)


def _signed(value: float | None) -> str:
    return "" if value is None else two_places(value) if abs(value) < 0.005 else f"{value:+.2f}"


def _colour(record: Record) -> str:
    """Return the colour of the use compared with the entitlement."""
    entitled: Any = record["entitled"]
    if entitled is None:
        return ""
    slack = 0.0 if record["is_group"] else SLOT
    return share_colour(record["in_use"], entitled, wants_more=bool(record["idle"]), slack=slack)
