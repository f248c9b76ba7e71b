"""``fairq slots``: the machines of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec.structs import asdict
from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment
from fairq.cli.options import DryRun, Now, Reason, parse_end, valued
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.cli.output.long import long_texts
from fairq.cli.slots_drain import add_drain, add_removal, slots_report
from fairq.cli.slots_reserve import add_reservations, add_reserve
from fairq.cli.slots_views import compact_view, counts_table, slots_view, view_of_all, wanted_view
from fairq.cli.tools import SLOTS
from fairq.errors.base import InvalidNameError, InvalidNumberError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairq.common.records import Ad, SlotRecord

app = App(help="Manage the slots of the pool: add, detect, list, remove, drain and reserve them.", default="list")

_MEMORY_PER_CORE = 1024
_DISK = 10 * 1024 * 1024
_LARGEST_COUNT = 1_000_000

_SAID = {
    "added": "added",
    "changed": "updated",
    "drained": "drained, because the engine gives it no jobs",
    "released": "takes jobs again",
    "removed": "removed",
    "leaving": "gone from the engine; drained until its jobs end",
}


@app.report(
    "sync",
    examples="""
        fairq slots sync slurm                      # every node of the cluster
        fairq slots sync slurm --partition batch    # the nodes of one partition; jobs go to it
        fairq slots sync slurm --dry-run            # show what would change
        fairq slots sync htcondor                   # the slots of the collector
    """,
)
def sync(
    context: Context,
    engine: Annotated[str, Argument(metavar="ENGINE", help="The engine: slurm or htcondor.")],
    partition: Annotated[
        str | None, valued("--partition", "Only the nodes of this partition of Slurm.", "NAME")
    ] = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Make the nodes of Slurm or HTCondor slots of the pool, and keep them current.

    Each node becomes a partitionable slot with its cores, memory, GPUs and features; ENGINE starts the jobs of these
    slots. A node that is down or drained there is drained here, and takes jobs again when it is back. The slot of a
    node that is gone is removed, or drained until its jobs end. Other slots of the pool stay as they are. Run the
    command again whenever the engine has changed, for example from cron.
    """
    from fairq.steps.pool.sync import synchronise

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now), reason)
    result = synchronise(
        invocation.state_path, invocation.settings, engine, actor, partition=partition, dry_run=dry_run
    )
    changes = asdict(result)
    lines = [f"slot {name}: {_SAID[kind]}" for kind, names in changes.items() for name in names]
    document = {"action": "synchronised", "engine": engine, **changes, "stored": not dry_run}
    emit(View(document=document, text="\n".join(lines)), output)
    if not lines:
        invocation.note(f"no changes: the slots are the nodes of {engine}")
    elif dry_run:
        invocation.note(f"{counted(len(lines), 'slot')} would change; nothing was stored")


@app.report(
    "add",
    examples="""
        fairq slots add node1 --cpus 8 --memory 32GB                  # one slot called node1
        fairq slots add node2 --count 4 --attribute 'Site="CERN"'     # slot1@node2 to slot4@node2
        fairq slots add node3 --partitionable --cpus 64 --gpus 4      # slot1@node3; jobs take what they request
        fairq slots add cloud --count 8 --until +7d                   # they leave by themselves in a week
        condor_status -json | fairq slots add --file -                # slots of a live pool
    """,
)
def add(
    context: Context,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Name of the slot; with --count, of the machine.")
    ] = None,
    count: Annotated[
        int,
        valued("--count", "Number of identical slots.", "N", min=1, max=_LARGEST_COUNT),
    ] = 1,
    cpus: Annotated[int, valued("--cpus", "Cores per slot.", "N", min=1, max=1_000_000)] = 1,
    memory: Annotated[
        str | None, valued("--memory", "Memory per slot [MB or 32GB; default: 1 GB a core].", "SIZE")
    ] = None,
    disk: Annotated[str | None, valued("--disk", "Disk per slot [KB or 100GB; default: 10 GB].", "SIZE")] = None,
    gpus: Annotated[int | None, valued("--gpus", "GPUs per slot.", "N", min=0)] = None,
    partitionable: Annotated[bool, Option("--partitionable", help="Divide each slot as jobs request.")] = False,
    attribute: Annotated[
        list[str] | None,
        valued("--attribute", "Additional slot attribute; repeatable.", "NAME=EXPR"),
    ] = None,
    file: Annotated[
        str | None,
        valued("--file", "Slot ads from condor_status -json or -long; - is stdin.", "ADS"),
    ] = None,
    until: Annotated[str | None, valued("--until", "When they leave the pool again [+7d or a date].", "TIME")] = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Add slots to the pool.

    A slot accepts jobs that request no more than it has. Its weight, for usage and shares, is what
    negotiator.slot_weight says, by default its number of cores, unless it has an attribute SlotWeight. Set the platform
    and other attributes with --attribute.

    A job takes a whole slot. Out of a partitionable slot, it takes only the resources that it requests: fairq carves a
    dynamic slot such as slot1_1@node3 and merges it back when the job ends.

    With --until, the slots take jobs until that time. From then on, each cycle removes those that are free; a job that
    still runs keeps its slot until it ends. slots reservations lists them.
    """
    from fairq.common.hardware import architecture, operating_system
    from fairq.host.client.changes import add_slots
    from fairq.steps.pool import slots as step
    from fairq.steps.pool.slot_ads import Platform, Shape, parse_attribute, slot_ad

    invocation, output = context.obj, context.obj.output
    time = invocation.now(now)
    new: Sequence[SlotRecord]
    if (name is None) is (file is None):
        raise UsageError(message="give either a NAME or --file ADS")
    if file is not None:
        new = step.read_file(file)
    else:
        name = _checked(name or "")
        attributes = dict(parse_attribute(text, name) for text in attribute or [])
        shape = Shape(
            cpus,
            _amount("--memory", memory, 1024**2, _MEMORY_PER_CORE * cpus),
            _amount("--disk", disk, 1024, _DISK),
            gpus,
        )
        machine = name.partition("@")[2] or name
        platform = Platform(machine, architecture(), operating_system(), attributes)
        is_whole_name = count == 1 and ("@" in name or not partitionable)
        names = [name] if is_whole_name else [f"slot{number}@{machine}" for number in range(1, count + 1)]
        new = step.records(
            [
                slot_ad(slot_name, number, shape, platform, time, partitionable=partitionable)
                for number, slot_name in enumerate(names, 1)
            ]
        )
    end = parse_end(until, time)
    actor = invocation.actor(time, reason)
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        step.add(invocation.state_path, invocation.settings, new, actor, end, dry_run=dry_run)
    else:
        add_slots(door, new, end)
    sentence = f"{counted(len(new), 'slot')} {'would be ' if dry_run else ''}added"
    sentence += "" if end is None else f" until {moment(end)}"
    emit(slots_report("added", [slot.name for slot in new], sentence, dry_run), output)


@app.listing(
    "detect",
    examples="""
        fairq slots detect                    # show the slots of this machine
        fairq slots detect --add              # add one slot per core to the pool
        fairq slots detect --slots 2 --add    # two slots that share the machine
        fairq slots detect --partitionable    # show one slot that is divided as jobs request
        fairq slots detect --add --launch local    # make this machine run jobs
    """,
)
def detect(
    context: Context,
    slots: Annotated[
        int | None,
        valued("--slots", "Divide the machine into N slots [default: one per core].", "N", min=1, max=_LARGEST_COUNT),
    ] = None,
    partitionable: Annotated[
        bool, Option("--partitionable", help="Make one partitionable slot, or N with --slots N.")
    ] = False,
    store: Annotated[bool, Option("--add", help="Add the slots to the pool.")] = False,
    launch: Annotated[
        str | None,
        valued("--launch", "Launcher that starts the jobs of the slots, such as local.", "NAME"),
    ] = None,
    now: Now = None,
) -> None:
    """Describe this machine: its cores, memory, disk and GPUs, as slots.

    It counts the resources that this process may use: the cores of its affinity, the memory of its control group, and
    the free disk space beside the state file. nvidia-smi lists the GPUs. Nothing is stored without --add.

    With --launch local, fairq starts the jobs of these slots as processes on this machine. The option sets the
    attribute Launch of the slots. Without it, the setting launch.kind decides.
    """
    from fairq.common import hardware
    from fairq.host.client.changes import add_slots
    from fairq.steps.pool import slots as step
    from fairq.steps.pool.slot_ads import machine_slots

    invocation, output = context.obj, context.obj.output
    time = invocation.now(now)
    machine = hardware.detect(invocation.state_path.absolute().parent)
    count = slots if slots is not None else 1 if partitionable else machine.cpus
    ads = machine_slots(machine, count, time, partitionable=partitionable)
    if launch is not None:
        ads = step.with_launcher(ads, launch)
    if store:
        actor = invocation.actor(time)
        door = invocation.by_program(actor, now)
        if door is None:
            step.add(invocation.state_path, invocation.settings, step.records(ads), actor)
        else:
            add_slots(door, step.records(ads))
        invocation.note(f"{counted(len(ads), 'slot')} added")
    columns = [
        Column("Name", "Name"),
        Column("OpSys", "OpSys"),
        Column("Arch", "Arch"),
        Column("Cpus", "Cpus"),
        Column("Memory", "Memory"),
        Column("Disk", "Disk"),
    ]
    if machine.gpus:
        columns.append(Column("GPUs", "GPUs"))
    emit(View(tables=[Table(columns=columns, records=ads)]), output)


@app.listing(
    "list",
    dialect=SLOTS,
    watch=True,
    examples="""
        fairq slots                                      # as condor_status
        fairq slots list node2                           # the slots of one machine
        fairq slots list --limit 20                      # the first 20, and how many there are of all
        fairq slots --compact                            # one line per machine: what is free, GPUs, reasons
        fairq slots --available --total                  # how many slots may take a job
        fairq slots --wanted --af machine | sort -u      # machines that are off and should be woken
        fairq slots list --constraint 'State == "Unclaimed"' --af Name Cpus
    """,
)
def list_(
    context: Context,
    names: Annotated[list[str] | None, Argument(metavar="SLOT...", help="Only these slots or machines.")] = None,
    limit: Annotated[int | None, valued("--limit", "Show at most N slots.", "N", min=1)] = None,
    available: Annotated[bool, Option("--available", help="Only slots that may take a job.")] = False,
    compact: Annotated[bool, Option("--compact", help="One line per machine, with what is free.")] = False,
    total: Annotated[bool, Option("--total", help="Show only the numbers of slots.")] = False,
    long: Annotated[bool, Option("--long", help="Print whole ads, one attribute per line.")] = False,
    wanted: Annotated[bool, Option("--wanted", help="Only slots that are off and that jobs wait for.")] = False,
    now: Now = None,
) -> None:
    """Show the slots of the pool and who uses them.

    A partitionable slot shows its free resources; the dynamic slots carved out of it have lines of their own. Below
    the table, slots are counted by platform and state, whatever --limit is. Of drained slots, it shows since when and
    why, and who drained them.

    --compact shows the machines: their cores, memory and GPUs, how much of each is free, their jobs, and why they take
    none (a drain, a reservation). --available leaves out what is in use or drained. --total shows only the numbers.

    --wanted shows the offline slots (Offline = true) on which idle jobs would start, and the number of these jobs, for
    scripts that wake machines. It looks at the 100 kinds of idle jobs with most jobs.

    JSON, CSV, TSV, --af and --long have the advertised ads, with the attributes of the claim that fairq made: State,
    Activity, RemoteUser, AccountingGroup and JobId. With --compact and --wanted, they have the records of the table.
    """
    from fairq.steps.pool.current_ads import totals

    invocation, output = context.obj, context.obj.output
    state, time = invocation.existing_state, invocation.now(now)
    if available or compact or total or long or wanted:
        if compact + total + long + wanted > 1:
            raise UsageError(message="--compact, --total, --long and --wanted exclude each other; give only one")
        ads = _selected(state, names or [], output, time, available=available and not wanted)
        if compact:
            emit(compact_view(ads, limit), output)
        elif wanted:
            emit(wanted_view(invocation, ads, limit, time), output)
        elif long:
            emit(View(text=long_texts(ads[:limit])), output)
        elif total:
            emit(View(tables=[counts_table(totals(ads))]), output)
        else:
            emit(slots_view(ads, totals(ads), output, limit), output)
        return
    if limit is not None and not names and output.constraint is None:
        from fairq.steps.pool.current_ads import look_first

        ads, counts = look_first(state, limit, time)
        emit(slots_view(ads, counts, output), output)
        return
    if not names and output.constraint is None and output.format == "table":
        from fairq.steps.pool.current_ads import slot_pages

        with slot_pages(state, time) as pages:
            view = view_of_all(pages.ads(), pages.totals(), output, drained=pages.has_drained, gpus=pages.has_gpus)
            view.tables[0].widest, view.tables[0].release = pages.widest(), pages.release
            emit(view, output)
        return
    ads = _selected(state, names or [], output, time)
    emit(slots_view(ads, totals(ads), output, limit), output)


def _selected(state: Path, names: list[str], output: Output, time: int, *, available: bool = False) -> list[Ad]:
    """Return the ads of the named slots (else of all) that match the constraint; with *available*, only those."""
    from fairq.cli.output.constraint import matching
    from fairq.steps.pool.current_ads import look
    from fairq.steps.pool.machines import is_available

    ads = list(matching(look(state, names, time), output.constraint))
    return [ad for ad in ads if is_available(ad)] if available else ads


def _checked(name: str) -> str:
    if not name or not name.isprintable() or any(character.isspace() for character in name) or name.endswith("@"):
        raise InvalidNameError(what="the slot", value=name, expected="give a name without blanks, such as slot1@node1")
    return name


def _amount(option: str, text: str | None, unit: int, default: int) -> int:
    if text is None:
        return default
    from fairq.common.quantities import size

    value = size(text, unit)
    if value is None or value <= 0 or value >= 2**62:
        raise InvalidNumberError(what=option, value=text, expected="give a positive size, such as 512M or 32GB")
    return value


add_removal(app)
add_drain(app)
add_reserve(app)
add_reservations(app)
