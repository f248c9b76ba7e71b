"""Records in runs that differ only in a few strings: shown without a mapping for each record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairq.columns.rows import Rows


class AlikeRun(Struct, frozen=True):
    """So many records in a row.

    Args:
        shared: all their attributes in order; the values of those in *own* do not matter.
        own: the attributes in which they differ, one string for each record.
        count: the number of records.
    """

    shared: Mapping[str, Any]
    own: Mapping[str, Sequence[str]]
    count: int


class AlikeRecords(Rows[Mapping[str, Any]]):
    """The records of several runs, all with the same attributes; a record becomes a mapping only when asked for."""

    def __init__(self, runs: Sequence[AlikeRun]) -> None:
        self.runs = runs
        self._ends: list[int] = []
        for run in runs:
            self._ends.append(len(self) + run.count)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, row: int) -> Mapping[str, Any]:
        """Return the record of a row."""
        number = bisect_right(self._ends, row)
        run = self.runs[number]
        at = row - self._ends[number] + run.count
        return {**run.shared, **{name: values[at] for name, values in run.own.items()}}

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for run in self.runs:
            for values in zip(*run.own.values(), strict=True):
                yield {**run.shared, **dict(zip(run.own, values, strict=True))}

    def column(self, name: str) -> list[Any]:
        """Return the values of an attribute; raises KeyError if the records have none of this name."""
        found: list[Any] = []
        for run in self.runs:
            found += run.own[name] if name in run.own else [run.shared[name]] * run.count
        return found


def column(records: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the values of an attribute in *records*, which all have it; raises KeyError if any has none."""
    return records.column(name) if isinstance(records, AlikeRecords) else [record[name] for record in records]
