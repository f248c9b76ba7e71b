"""``fairq slots --compact`` and ``--wanted``: the machines of the pool, and those that are off and should be woken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairq.cli.output import Column, Table, View

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.common.records import Ad


def wanted_view(invocation: Invocation, ads: Iterable[Ad], limit: int | None, now: int) -> View:
    """Return those slots of *ads* that are offline, and on which idle jobs would start; at most *limit*."""
    from fairq.steps.why.answer import slots_to_wake

    selected = {str(ad.get("Name")) for ad in ads if ad.get("Offline") is True}
    needed = slots_to_wake(invocation.existing_state, invocation.settings, now) if selected else []
    records = [record for record in needed if record["slot"] in selected][:limit]
    columns = [Column("Slot", "slot"), Column("Machine", "machine", level=1), Column("Jobs", "jobs")]
    empty = "no idle job would start on a machine that is off"
    return View(tables=[Table(columns=columns, records=records, empty=empty)], fields=("slot", "machine", "jobs"))


def compact_view(ads: list[Ad], limit: int | None) -> View:
    """Return the machines of *ads*, at most *limit*."""
    from fairq.steps.pool.machines import machines

    records = machines(ads)[:limit]
    columns = [
        Column("Machine", "machine"),
        Column("Slots", "slots", level=3),
        Column("Jobs", "jobs", level=1),
        Column("Cpus", "cpus"),
        Column("Free", "free_cpus"),
        Column("Memory", "memory", level=2),
        Column("Free", "free_memory", level=2),
    ]
    if any(record["gpus"] for record in records):
        columns += [Column("GPUs", "gpus"), Column("Free", "free_gpus")]
    if any(record["reasons"] for record in records):
        columns.append(Column("Reason", "reasons", ", ".join, narrow="cut"))
    fields = ("machine", "slots", "jobs", "cpus", "free_cpus", "memory", "free_memory", "gpus", "free_gpus", "reasons")
    return View(tables=[Table(columns=columns, records=records, empty="no slots")], fields=fields)
