"""The requirements of many task queues, by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Integers, ListColumn, NumberColumn, TextColumn
from fairq.engine.shares.model import Requirements


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

    def extended(self, requirements: Sequence[Requirements]) -> RequirementTable:
        """Return the table with *requirements* after its own rows."""
        if not requirements:
            return self
        columns = (
            column.extended([row[place] for row in requirements])  # type: ignore[misc]
            for place, column in enumerate(self.columns)
        )
        return RequirementTable(*columns)  # type: ignore[arg-type]

    def find(self, requirements: Requirements) -> int | None:
        """Return the place of the first row with these *requirements*; None if there is none."""
        places: Integers = np.arange(len(self))
        for column, value in zip(self.columns, requirements, strict=True):
            places = column.where(value, places)  # type: ignore[arg-type]
            if not len(places):
                return None
        return int(places[0])
