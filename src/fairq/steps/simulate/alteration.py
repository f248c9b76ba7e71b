"""A changed pool: other settings, factors, ceilings, floors and limits, more or fewer slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.columns.ads import AdTable
from fairq.common.records import AccountingRecord, Ad
from fairq.engine.accounting.identity import is_group_name
from fairq.engine.explain.pieces import pieces_of
from fairq.engine.negotiation.pool import PoolSlots
from fairq.errors.simulation import InvalidChangeError
from fairq.steps.config import SettingsFiles, settings_with
from fairq.steps.cycle.load import LoadedPool
from fairq.steps.quotas.source import read_settings
from fairq.steps.simulate.changes import read_ceilings, read_factors, read_floors, read_limits
from fairq.steps.simulate.shapes import read_machines, slot_ads

if TYPE_CHECKING:
    from fairq.settings import Settings


class Alteration(Struct, frozen=True):
    """The changes to try out, as typed.

    Args:
        other: a settings file, used alone. *sets*: settings that override it, or the settings in force.
        factors: priority factors by submitter, ``NAME=VALUE``; *ceilings* and *floors* in slot weight likewise.
        limits: concurrency limits, ``NAME=N``.
        slots: slots to add, as ``+10x64c256g``.
        without: slots or machines to leave out.
    """

    other: str | None = None
    sets: Sequence[str] = ()
    factors: Sequence[str] = ()
    slots: str | None = None
    without: Sequence[str] = ()
    ceilings: Sequence[str] = ()
    floors: Sequence[str] = ()
    limits: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The changes in short, for a heading."""
        parts = [self.other, *self.sets]
        named = {"factor": self.factors, "ceiling": self.ceilings, "floor": self.floors, "limit": self.limits}
        parts += [f"{what} {text}" for what, texts in named.items() for text in texts]
        parts += [self.slots, *(f"without {name}" for name in self.without)]
        return ", ".join(filter(None, parts))

    def settings(self, settings: Settings, place: SettingsFiles) -> Settings:
        """Return the changed settings; raises the errors of settings."""
        sets = [*self.sets, *(f'limits."{name}"={number}' for name, number in read_limits(self.limits).items())]
        if self.other is not None:
            return read_settings(self.other, place.environ, sets)
        return settings_with(place, sets) if sets else settings

    def of_pool(self, pool: LoadedPool, now: int) -> LoadedPool:
        """Return the freshly loaded *pool* with the changed slots and records of submitters.

        Raises InvalidChangeError for a slot, machine, submitter or size that does not exist.
        """
        for name, factor in read_factors(self.factors).items():
            _record(pool, "--factor", name).priority_factor = factor
        for name, ceiling in read_ceilings(self.ceilings).items():
            _record(pool, "--ceiling", name).ceiling = int(ceiling)
        for name, floor in read_floors(self.floors).items():
            _record(pool, "--floor", name).floor = int(floor)
        if self.slots is None and not self.without:
            return pool
        added = [] if self.slots is None else slot_ads(read_machines(self.slots), now, prefix="new")
        return _with_slots(pool, self._kept(pool), added)

    def _kept(self, pool: LoadedPool) -> list[int]:
        """The rows of the slots that stay; dynamic slots of removed slots are removed, too."""
        gone: set[int] = set()
        for name in self.without:
            rows = {
                row
                for row, slot in enumerate(pool.slots.names)
                if name == slot or name == slot.rpartition("@")[2] or name == slot.partition("@")[0]
            }
            if not rows:
                raise InvalidChangeError(
                    option="--without", value=name, problem="there is no such slot or machine", cure="see 'fairq slots'"
                )
            gone |= rows
        gone |= {row for parent, rows in pieces_of(pool.slots).items() if parent in gone for row in rows}
        return [row for row in range(len(pool.slots.names)) if row not in gone]


def _record(pool: LoadedPool, option: str, name: str) -> AccountingRecord:
    """Return the record of the submitter that *name* names, with its domain or without it."""
    known = {queue.name for queue in pool.jobs.queues} | set(pool.accountant.records)
    found = [name] if name in known else [one for one in sorted(known) if one.rpartition("@")[0] == name]
    if len(found) != 1 or is_group_name(found[0]):
        problem = "several submitters have this name" if found[1:] else "there is no such submitter"
        raise InvalidChangeError(
            option=option, value=name, problem=problem, cure="give user@domain as 'fairq userprio' lists it"
        )
    return pool.accountant.record(found[0])


def _with_slots(pool: LoadedPool, kept: Sequence[int], added: Sequence[Ad]) -> LoadedPool:
    slots = pool.slots
    place = {row: new for new, row in enumerate(kept)}
    changed: dict[int, Mapping[str, object]] = {len(kept) + number: ad for number, ad in enumerate(added)}
    rows = np.array([*kept, *([0] * len(added))], np.intp)
    names = [*(slots.names[row] for row in kept), *(str(ad["Name"]) for ad in added)]
    keys = [*(slots.keys[row] for row in kept), *(-1 - number for number in range(len(added)))]
    carved = {place[row]: replace(one, parent=place[one.parent]) for row, one in slots.carved.items() if row in place}
    draining = frozenset(place[row] for row in slots.draining if row in place)
    ads = slots.ads.edited(rows, changed) if slots.names else type(slots.ads)(list(added), slots.ads.now)
    parts = {
        place[row]: replace(one, parent=place[one.parent]) for row, one in pool.imported_parts.items() if row in place
    }
    table = AdTable()
    table.put(range(len(rows)), [*(pool.ads[row] for row in kept), *added])
    return replace(
        pool,
        slots=PoolSlots(names, keys, ads, draining, carved),
        ids=[*(pool.ids[row] for row in kept), *(-1 - number for number in range(len(added)))],
        ads=table,
        imported_parts=parts,
    )
