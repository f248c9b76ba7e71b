"""Keep the slots of an engine current: one slot for each of its nodes, as the engine describes them now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.common.hardware import architecture, operating_system
from fairq.common.records import Actor, Ad, Change, SlotRecord
from fairq.errors.launch import NoEngineError
from fairq.errors.pool import DuplicateSlotError
from fairq.launch.interface import Node
from fairq.state import dynamic_slots, history, slots
from fairq.state.connection import State, opened_for
from fairq.steps.launch.launchers import ATTRIBUTE, opened
from fairq.steps.pool.slot_ads import PROBLEM, Platform, Shape, slot_ad

if TYPE_CHECKING:
    from fairq.settings import Settings

_PARTITION = "EnginePartition"
_MOVING = frozenset({"EnteredCurrentState", "EnteredCurrentActivity"})


class Synchronised(Struct):
    """The names of the slots that were *added*, *changed*, *drained*, *released* (take jobs again) and *removed*.

    *leaving* are slots of nodes that are gone; they are drained, because jobs still use them.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    drained: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)


def synchronise(
    path: Path,
    settings: Settings,
    engine: str,
    actor: Actor,
    *,
    partition: str | None = None,
    dry_run: bool = False,
) -> Synchronised:
    """Make the slots of *engine*, or of one *partition* of it, equal to its nodes.

    Raises:
        UnknownLauncherError, NoEngineError: there is no such engine.
        EngineError: the engine does not answer.
        DuplicateSlotError: a slot of another launcher has the name of a node.
    """
    with opened(path, settings) as launchers:
        if not launchers[engine].is_engine:
            raise NoEngineError(name=engine)
        nodes = launchers[engine].nodes(partition)
    with opened_for(path, dry_run=dry_run) as state:
        sync = _Sync(state, engine, actor.time)
        for node in nodes:
            sync.take(node)
        sync.leave({node.name for node in nodes}, partition)
        if not dry_run:
            sync.store(actor)
    return sync.result


class _Sync:
    def __init__(self, state: State, engine: str, now: int) -> None:
        self.result = Synchronised()
        self._state = state
        self._engine = engine
        self._now = now
        carved = dynamic_slots.ids(state)
        self._there = {slot.name: slot for slot in slots.load_all(state) if slot.id not in carved}
        self._new: list[SlotRecord] = []
        self._gone: list[int] = []
        self._changes: list[Change] = []

    def take(self, node: Node) -> None:
        """Add the slot of a node, or bring it up to date."""
        ad = {**_ad(node, self._now), ATTRIBUTE: self._engine}
        former = self._there.get(node.name)
        if former is None:
            self._new.append(SlotRecord(0, node.name, ad, draining=bool(node.problem)))
            self.result.added.append(node.name)
            self._note(node.name, None, {"Cpus": node.cpus, "Memory": node.memory, **_problem(ad)})
            return
        if former.ad.get(ATTRIBUTE) != self._engine:
            raise DuplicateSlotError(name=node.name, problem=f"is not a slot of {self._engine}; remove that slot first")
        was_problem = PROBLEM in former.ad
        is_drained_here = former.draining and not was_problem
        if is_drained_here:
            ad.pop(PROBLEM, None)
        draining = bool(node.problem) or is_drained_here
        if _lasting(ad) != _lasting(former.ad):
            self._new.append(SlotRecord(0, node.name, ad, former.address, draining))
            if not node.problem and not was_problem:
                self.result.changed.append(node.name)
            self._note(node.name, _changed(former.ad, ad), _changed(ad, former.ad))
        if draining and not former.draining:
            self.result.drained.append(node.name)
        elif former.draining and not draining:
            self.result.released.append(node.name)

    def leave(self, present: set[str], partition: str | None) -> None:
        """Remove the slots of nodes that are gone; drain those that jobs still use."""
        used = slots.in_use(self._state)
        for name, slot in self._there.items():
            is_ours = slot.ad.get(ATTRIBUTE) == self._engine
            if not is_ours or name in present or (partition is not None and slot.ad.get(_PARTITION) != partition):
                continue
            if slot.id not in used:
                self._gone.append(slot.id)
                self.result.removed.append(name)
                self._note(name, {"Cpus": slot.ad.get("Cpus"), "Memory": slot.ad.get("Memory")}, None)
            elif not slot.draining:
                ad = {**slot.ad, PROBLEM: f"{self._engine} has no such node any more"}
                self._new.append(SlotRecord(0, name, ad, slot.address, True))
                self.result.leaving.append(name)
                self._note(name, {"Draining": False}, {"Draining": True, **_problem(ad)})

    def store(self, actor: Actor) -> None:
        """Store all that has changed."""
        slots.add(self._state, self._new)
        slots.remove(self._state, self._gone)
        slots.gather(self._state)
        history.record(self._state, actor, self._changes)

    def _note(self, name: str, before: Ad | None, after: Ad | None) -> None:
        self._changes.append(Change(f"slot {name}", before, after))


def _ad(node: Node, now: int) -> Ad:
    shape = Shape(node.cpus, node.memory, node.disk, node.gpus or None)
    attributes = {**node.attributes, **node.place}
    if node.problem:
        attributes[PROBLEM] = node.problem
    platform = Platform(node.machine, architecture(), operating_system(), attributes)
    return slot_ad(node.name, 1, shape, platform, now, partitionable=node.partitionable)


def _lasting(ad: Ad) -> Ad:
    return {name: value for name, value in ad.items() if name not in _MOVING}


def _changed(ad: Ad, other: Ad) -> Ad:
    """Return the attributes of *ad* that *other* has not, or has otherwise."""
    lasting = _lasting(other)
    return {name: value for name, value in _lasting(ad).items() if lasting.get(name) != value}


def _problem(ad: Ad) -> Ad:
    return {"Reason": ad[PROBLEM]} if PROBLEM in ad else {}
