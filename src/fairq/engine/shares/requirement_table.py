"""The requirements of many task queues, by column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Integers, ListColumn, NumberColumn, TextColumn, distinct_rows
from fairq.engine.shares.model import Requirements

_FEW = 30
"""Up to so many requirements are looked for one by one; for more, all known ones are numbered."""


class RequirementTable(Struct, frozen=True):
    """The columns have the names and the order of the fields of `Requirements`."""

    owner: TextColumn
    group: TextColumn
    cpu_time: NumberColumn
    grid_ces: ListColumn
    platforms: ListColumn
    job_types: ListColumn
    tags: ListColumn
    sites: ListColumn
    banned_sites: ListColumn
    min_ram: NumberColumn
    max_ram: NumberColumn

    @classmethod
    def of(cls, requirements: Iterable[Requirements]) -> RequirementTable:
        """Return the table of *requirements*."""
        rows = list(requirements)
        kinds = enumerate(cls.kinds())
        return cls(*(kind.of([row[place] for row in rows]) for place, kind in kinds))  # type: ignore[arg-type,misc]

    @staticmethod
    def kinds() -> tuple[type[TextColumn] | type[NumberColumn] | type[ListColumn], ...]:
        """The classes of the columns, in order."""
        lists = (ListColumn,) * 6
        return TextColumn, TextColumn, NumberColumn, *lists, NumberColumn, NumberColumn

    @property
    def columns(self) -> tuple[TextColumn | NumberColumn | ListColumn, ...]:
        """The columns in the order of the fields of `Requirements`."""
        return tuple(getattr(self, name) for name in self.__struct_fields__)

    def __len__(self) -> int:
        return len(self.owner.codes)

    def __getitem__(self, place: int) -> Requirements:
        return Requirements(*(column[place] for column in self.columns))  # type: ignore[arg-type]

    def tolist(self) -> list[Requirements]:
        """Return every row."""
        return list(map(Requirements, *(column.tolist() for column in self.columns)))

    def take(self, places: Integers) -> RequirementTable:
        """Return the table of the rows at *places*."""
        return RequirementTable(*(column.take(places) for column in self.columns))  # type: ignore[arg-type]

    def joined(self, other: RequirementTable) -> RequirementTable:
        """Return the table with the rows of *other* after its own."""
        if not len(other):
            return self
        if not len(self):
            return other
        pairs = zip(self.columns, other.columns, strict=True)
        return RequirementTable(*(one.joined(more) for one, more in pairs))  # type: ignore[arg-type]

    def distinct(self) -> tuple[Integers, Integers]:
        """Return the first row with each of the different requirements, and over the rows the place among these."""
        return distinct_rows(column.keys() for column in self.columns)

    def places_of(self, wanted: RequirementTable) -> tuple[RequirementTable, Integers]:
        """Return the places of the rows of *wanted*, and the table in which they are: this one, and what it lacks."""
        first, kinds = wanted.distinct()
        if not len(self):
            places = np.full(len(first), -1)
        elif len(first) <= _FEW:
            found = [self.find(wanted[row]) for row in first.tolist()]
            places = np.array([-1 if place is None else place for place in found], np.int64)
        else:
            rows, among = self.joined(wanted.take(first)).distinct()
            places = rows[among[len(self) :]]
            places[places >= len(self)] = -1
        lacking = np.flatnonzero(places < 0)
        # In the order of their first rows: the same tables always make the same one.
        lacking = lacking[np.argsort(first[lacking])]
        places[lacking] = len(self) + np.arange(len(lacking))
        return self.joined(wanted.take(first[lacking])), places[kinds]

    def find(self, requirements: Requirements) -> int | None:
        """Return the place of the first row with these *requirements*; None if there is none."""
        places: Integers = np.arange(len(self))
        for column, value in zip(self.columns, requirements, strict=True):
            places = column.where(value, places)  # type: ignore[arg-type]
            if not len(places):
                return None
        return int(places[0])
