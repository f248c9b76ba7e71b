"""The tables of ``fairq slots``: the slots and how many they are, the machines, and those that should be woken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fairq.cli.figures import moment
from fairq.cli.output import Column, Output, Record, Table, View

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


def slots_view(ads: list[Ad], counts: Iterable[Ad], output: Output, limit: int | None = None) -> View:
    """Return the table of the first slots, at most *limit*, and the numbers of all."""
    from fairq.steps.pool.current_ads import has_gpus

    shown = ads[:limit]
    drained = any("LastDrainStartTime" in ad for ad in shown)
    return view_of_all(shown, counts, output, drained=drained, gpus=has_gpus(shown))


def view_of_all(ads: Iterable[Ad], counts: Iterable[Ad], output: Output, *, drained: bool, gpus: bool) -> View:
    """Return the table of slots, with the reasons of drains and with GPUs if there are some, and their numbers."""
    empty = "no slots; add some with fairq slots add" if output.constraint is None else "no slot matches the constraint"
    columns = slot_columns(drained=drained, gpus=gpus)
    return View(tables=[Table(columns=columns, records=ads, constrained=True, empty=empty), counts_table(counts)])


def slot_columns(*, drained: bool, gpus: bool) -> list[Column]:
    """Return the columns of the table of slots, with the reasons of drains and with GPUs if there are some."""
    columns = [
        Column("Name", "Name"),
        Column("OpSys", "OpSys", level=5),
        Column("Arch", "Arch", level=4),
        Column("State", "State", colour=_colour),
        Column("Activity", "Activity", level=3),
        Column(
            "LoadAv", "LoadAvg", lambda load: f"{load:.3f}" if isinstance(load, float) else str(load), "right", level=6
        ),
        Column("Cpus", "Cpus", level=1),
        Column("Mem", "Memory", level=2),
        *([Column("GPUs", "GPUs", align="right", level=2)] if gpus else []),
        Column("User", "RemoteUser"),
        Column("Job", "JobId", level=1),
    ]
    if drained:
        columns += [
            Column("Drained since", "LastDrainStartTime", _moment, "right", level=3),
            Column("By", "DrainedBy", level=2),
            Column("Reason", "DrainReason", narrow="cut"),
        ]
    return columns


def counts_table(counts: Iterable[Ad]) -> Table:
    """Return the table of the numbers of slots."""
    counted = [
        Column("", "Platform", align="right"),
        *(Column(name, name, str) for name in ("Total", "Owner", "Claimed", "Unclaimed", "Matched", "Drained")),
    ]
    names = [column.attribute for column in counted[1:]]
    rows = ({**dict.fromkeys(names, 0), **row} for row in counts)
    return Table(columns=counted, records=rows, constrained=True)


def _moment(time: Any) -> str:
    return moment.brief(time) if isinstance(time, int) else ""


_COLOURS = {"Claimed": "green", "Drained": "yellow", "Owner": "yellow", "Preempting": "magenta", "Matched": "cyan"}


def _colour(slot: Record) -> str:
    return _COLOURS.get(str(slot.get("State")), "")
