"""The slots of a pool by column, which takes a fraction of the memory of records with a dict for each ad."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from fairq.columns.ads import AdTable, Repeated, is_one_value, repeated, shared, steady
from fairq.columns.rows import Rows
from fairq.common.records import Ad, SlotRecord

STRETCH = 3000
"""Number of ads in one table; more would not fit into the processor's cache."""


class SlotTable(Rows[SlotRecord]):
    """Slots in pool order, numbered from 1, by column; *ads* are tables of `STRETCH` ads each.

    Reading a slot builds a new record.
    """

    __slots__ = ("addresses", "ads", "draining", "names")

    def __init__(
        self, names: Sequence[str], addresses: Sequence[str], draining: Sequence[bool], ads: Sequence[AdTable]
    ) -> None:
        self.names = names
        self.addresses = addresses
        self.draining = draining
        self.ads = ads

    @classmethod
    def of(cls, slots: Iterable[SlotRecord]) -> SlotTable:
        """Return *slots*, which are numbered from 1, by column."""
        if isinstance(slots, SlotTable):
            return slots
        collector = SlotCollector()
        for slot in slots:
            collector.add(slot.name, slot.address, slot.ad, slot.draining)
        return collector.table()

    def __len__(self) -> int:
        return len(self.names)

    def at(self, row: int) -> SlotRecord:
        """Return the slot of a row."""
        stretch, position = divmod(row, STRETCH)
        ad = self.ads[stretch][position]
        return SlotRecord(row + 1, self.names[row], ad, self.addresses[row], self.draining[row])

    def __iter__(self) -> Iterator[SlotRecord]:
        return self._with(ad for table in self.ads for ad in table)

    def brief(self, lower: Collection[str]) -> Iterator[SlotRecord]:
        """Yield the slots, their ads with only the attributes in *lower*, which are lower-case names."""
        return self._with(ad for table in self.ads for ad in table.brief(lower))

    def all_ads(self) -> AdTable:
        """Return the ads of all slots as one table that shares their columns."""
        table_of_all = AdTable()
        for stretch, table in enumerate(self.ads):
            first = stretch * STRETCH
            for names, rows, columns in table.parts:
                table_of_all.put_columns(names, [first + row for row in rows], columns)
        return table_of_all

    def _with(self, ads: Iterable[Ad]) -> Iterator[SlotRecord]:
        for row, (name, ad, address, draining) in enumerate(
            zip(self.names, ads, self.addresses, self.draining, strict=True)
        ):
            yield SlotRecord(row + 1, name, ad, address, draining)


class AlikeSlots(NamedTuple):
    """Ads equal to *ad* except for *varying*, a column for each attribute that differs; *places* are their indices
    (ascending) among the slots that are added together."""

    ad: Mapping[str, Any]
    varying: Mapping[str, Sequence[Any]]
    places: Sequence[int]


class _Slice(NamedTuple):
    """The slots of *part* from index *first* up to, not including, *end*."""

    part: AlikeSlots
    first: int
    end: int


_Run = list[tuple[Any, ...]] | _Slice
"""Consecutive ads of one shape: a list of the values of each ad, or a slice of a part."""


class SlotCollector:
    """Collects slots for a `SlotTable`."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._addresses: list[str] = []
        self._draining: list[bool] = []
        self._tables: list[AdTable] = []
        self._shapes: dict[tuple[str, ...], tuple[list[int], list[_Run]]] = {}
        """The ads that are in no table yet, by their names: their rows and their runs."""
        self._row = 0

    def add(self, name: str, address: str, ad: Ad, draining: bool) -> None:
        """Append a slot."""
        self._names.append(name)
        self._addresses.append(address)
        self._draining.append(draining)
        rows, runs = self._of_shape(tuple(ad))
        rows.append(self._row)
        values = tuple(ad.values())
        if runs and isinstance(runs[-1], list):
            runs[-1].append(values)
        else:
            runs.append([values])
        self._advance(1)

    def add_by_shape(
        self,
        names: Sequence[str],
        addresses: Sequence[str],
        draining: Sequence[bool],
        parts: Collection[AlikeSlots],
    ) -> None:
        """Append slots whose ads are those of *parts*; every slot's index is in one of them."""
        self._names += names
        self._addresses += addresses
        self._draining += draining
        done = 0
        while done < len(names):
            count = min(len(names) - done, STRETCH - self._row)
            slices = [
                (part.places[first], part, first, end)
                for part in parts
                for first, end in [(bisect_left(part.places, done), bisect_left(part.places, done + count))]
                if first < end
            ]
            # Add the shapes in the order of their first slot, as `add` does slot by slot.
            for _, part, first, end in sorted(slices, key=itemgetter(0)):
                rows, runs = self._of_shape(tuple(part.ad))
                offset = self._row - done
                rows += [offset + index for index in part.places[first:end]]
                runs.append(_Slice(part, first, end))
            done += count
            self._advance(count)

    def table(self) -> SlotTable:
        """Return the slots so far."""
        if self._row:
            self._close()
        return SlotTable(self._names, self._addresses, self._draining, self._tables)

    def _of_shape(self, names: tuple[str, ...]) -> tuple[list[int], list[_Run]]:
        shape_slots = self._shapes.get(names)
        if shape_slots is None:
            shape_slots = self._shapes[names] = [], []
        return shape_slots

    def _advance(self, count: int) -> None:
        self._row += count
        if self._row == STRETCH:
            self._close()

    def _close(self) -> None:
        table = AdTable()
        for names, (rows, runs) in self._shapes.items():
            ascending = sorted(rows)
            # The slots of parts with the same shape may alternate: sort them by row.
            order = None if rows == ascending else sorted(range(len(rows)), key=rows.__getitem__)
            columns = zip(*map(_columns, runs), strict=True)
            is_only_shape = len(rows) == self._row
            table.put_columns(
                names, range(self._row) if is_only_shape else ascending, [_joined(parts, order) for parts in columns]
            )
        self._tables.append(table)
        self._shapes = {}
        self._row = 0


def _columns(run: _Run) -> Iterable[Sequence[Any]]:
    if isinstance(run, list):
        return zip(*run, strict=True)
    (ad, varying, _), first, end = run
    return [varying[name][first:end] if name in varying else steady(value, end - first) for name, value in ad.items()]


def _joined(parts: Sequence[Sequence[Any]], order: Sequence[int] | None) -> tuple[Any, ...]:
    """Return the values of *parts* as one column, in *order* if given."""
    if len(parts) == 1 and isinstance(parts[0], tuple):
        return parts[0] if isinstance(parts[0], Repeated) else shared(parts[0])
    if all(isinstance(part, Repeated) or len(part) == 1 for part in parts):
        firsts = tuple(part[0] for part in parts)
        if is_one_value(firsts):
            return repeated(firsts[0], sum(map(len, parts)))
    column = tuple(chain.from_iterable(parts))
    return shared(column if order is None else itemgetter(*order)(column))
