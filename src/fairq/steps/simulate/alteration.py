"""A changed pool: other settings, factors, ceilings, floors and limits, more or fewer slots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.columns.ads import AdTable
from fairq.common.records import AccountingRecord, Ad
from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.engine.accounting.identity import is_group_name
from fairq.engine.explain.pieces import pieces_of, slots_of
from fairq.errors.simulation import InvalidChangeError
from fairq.steps.config import SettingsFiles, settings_with
from fairq.steps.cycle.load import LoadedPool
from fairq.steps.quotas.source import read_settings
from fairq.steps.simulate.shapes import read_machines, slot_ads

if TYPE_CHECKING:
    from fairq.settings import Settings

_LARGEST_WEIGHT = 2**31 - 1

_BOUNDS = {
    "factor": (MINIMUM_FACTOR, 1e100),
    "ceiling": (-1.0, _LARGEST_WEIGHT),
    "floor": (0.0, _LARGEST_WEIGHT),
    "limit": (0.0, _LARGEST_WEIGHT),
}
"""The least and the largest number of each kind: priority factors, slot weights (ceiling -1: none), and licences."""


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
        by_kind = {"factor": self.factors, "ceiling": self.ceilings, "floor": self.floors, "limit": self.limits}
        parts += [f"{kind} {text}" for kind, texts in by_kind.items() for text in texts]
        parts += [self.slots, *(f"without {name}" for name in self.without)]
        return ", ".join(filter(None, parts))

    def settings(self, settings: Settings, files: SettingsFiles) -> Settings:
        """Return the changed settings; raises the errors of settings."""
        sets = [
            *self.sets,
            *(f'limits."{name}"={number}' for name, number in read_numbers("limit", self.limits).items()),
        ]
        if self.other is not None:
            return read_settings(self.other, files.environ, sets)
        return settings_with(files, sets) if sets else settings

    def of_pool(self, pool: LoadedPool, now: int) -> LoadedPool:
        """Return the freshly loaded *pool* with the changed slots and records of submitters.

        Raises InvalidChangeError for a slot, machine, submitter or size that does not exist.
        """
        for name, factor in read_numbers("factor", self.factors).items():
            _record(pool, "--factor", name).priority_factor = factor
        for name, ceiling in read_numbers("ceiling", self.ceilings).items():
            _record(pool, "--ceiling", name).ceiling = int(ceiling)
        for name, floor in read_numbers("floor", self.floors).items():
            _record(pool, "--floor", name).floor = int(floor)
        if self.slots is None and not self.without:
            return pool
        added = [] if self.slots is None else slot_ads(read_machines(self.slots), now, prefix="new")
        return _with_slots(pool, self._kept(pool), added)

    def _kept(self, pool: LoadedPool) -> list[int]:
        """Return the rows of the slots that stay; dynamic slots of removed slots are removed, too."""
        removed: set[int] = set()
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
            removed |= rows
        removed |= {row for parent, rows in pieces_of(pool.slots).items() if parent in removed for row in rows}
        return [row for row in range(len(pool.slots.names)) if row not in removed]


def read_numbers(noun: str, texts: Iterable[str]) -> dict[str, float]:
    """Return the numbers in *texts* of the option ``--noun`` by name; raises InvalidChangeError."""
    option, (minimum, maximum) = f"--{noun}", _BOUNDS[noun]
    numbers: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (equals and name) or not minimum <= number <= maximum:
            cure = f"give NAME=VALUE, with a value of at least {minimum:g}"
            raise InvalidChangeError(option=option, value=text, problem=f"not a {noun}", cure=cure)
        if name in numbers:
            raise InvalidChangeError(
                option=option, value=text, problem=f"{name} is given twice", cure=f"give one {noun}"
            )
        numbers[name] = number
    return numbers


def _record(pool: LoadedPool, option: str, name: str) -> AccountingRecord:
    """Return the record of the submitter *name*, given with its domain or without it."""
    known_names = {queue.name for queue in pool.jobs.queues} | set(pool.accountant.records)
    matching = (
        [name]
        if name in known_names
        else [submitter for submitter in sorted(known_names) if submitter.rpartition("@")[0] == name]
    )
    if len(matching) != 1 or is_group_name(matching[0]):
        problem = "several submitters have this name" if matching[1:] else "there is no such submitter"
        raise InvalidChangeError(
            option=option, value=name, problem=problem, cure="give user@domain as 'fairq userprio' lists it"
        )
    return pool.accountant.record(matching[0])


def _with_slots(pool: LoadedPool, kept_rows: Sequence[int], added: Sequence[Ad]) -> LoadedPool:
    slots = pool.slots
    new_rows = {row: new for new, row in enumerate(kept_rows)}
    changed: dict[int, Mapping[str, object]] = {len(kept_rows) + number: ad for number, ad in enumerate(added)}
    rows = np.array([*kept_rows, *([0] * len(added))], np.intp)
    ads = slots.ads.edited(rows, changed) if slots.names else type(slots.ads)(list(added), slots.ads.now)
    kept = slots_of(slots, kept_rows, ads)
    new_keys = range(-1, -1 - len(added), -1)
    parts = {
        new_rows[row]: replace(part, parent=new_rows[part.parent])
        for row, part in pool.imported_parts.items()
        if row in new_rows
    }
    table = AdTable()
    table.put(range(len(rows)), [*(pool.ads[row] for row in kept_rows), *added])
    return replace(
        pool,
        slots=replace(kept, names=[*kept.names, *(str(ad["Name"]) for ad in added)], keys=[*kept.keys, *new_keys]),
        ids=[*(pool.ids[row] for row in kept_rows), *new_keys],
        ads=table,
        imported_parts=parts,
    )
