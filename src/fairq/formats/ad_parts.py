"""The ads of a dump by column: those with the same attributes in the same order are one part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, NamedTuple

from fairq.common.records import Ad
from fairq.errors.base import FairqError
from fairq.errors.pool import DuplicateAdError, InvalidAdError

_BATCH = 500
"""Ads in a batch; larger batches do not fit into the processor's cache."""

_ONE_SPELLING = {int, bool, NoneType}


class AdPart(NamedTuple):
    """Ads equal to *ad* except for the columns of the attributes in *varying*; *numbers* are theirs in the dump."""

    ad: Ad
    varying: dict[str, Sequence[Any]]
    numbers: Sequence[int]

    def column(self, name: str | None) -> Sequence[Any]:
        """Return the values of an attribute; None where it is missing."""
        if name in self.varying:
            return self.varying[name]
        return [None if name is None else self.ad.get(name)] * len(self.numbers)

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        return {**self.ad, **{name: column[row] for name, column in self.varying.items()}} if self.varying else self.ad

    def only(self, names: Collection[str]) -> AdPart:
        """Return the same ads with only the attributes *names*."""
        ad = {name: value for name, value in self.ad.items() if name in names}
        return AdPart(ad, {name: column for name, column in self.varying.items() if name in names}, self.numbers)

    def without(self, names: Collection[str]) -> AdPart:
        """Return the same ads without the attributes *names*."""
        return self.only(self.ad.keys() - names) if names else self

    def singly(self) -> Iterator[AdPart]:
        """Yield each ad as its own part."""
        for row, number in enumerate(self.numbers):
            yield AdPart(self.at(row), {}, [number])


class MixedPartError(Exception):
    """The ads of a part must be read one by one, because they differ in an attribute that decides."""


def read_batches(lists: Iterable[list[Ad]], take: Callable[[Sequence[AdPart]], None]) -> None:
    """Pass the ads of *lists*, the whole dump, to *take*: a batch at a time, in parts.

    If *take* raises an error, it must leave nothing changed. It then gets the ads of the batch again, one by one, so
    that the error of the first bad ad is raised, if there is one.
    """
    for parts in _batches(lists):
        try:
            take(parts)
        except (MixedPartError, InvalidAdError, DuplicateAdError, RecursionError):
            for single in sorted(
                (single for part in parts for single in part.singly()), key=lambda single: single.numbers[0]
            ):
                take([single])


def _batches(lists: Iterable[list[Ad]]) -> Iterator[list[AdPart]]:
    """Yield the ads of *lists* in parts, batch by batch; yield the ads before an error before raising it."""
    pending: list[Ad] = []
    number, failure = 1, None
    try:
        for ads in lists:
            pending += ads
            while len(pending) >= _BATCH:
                yield _parts_of(pending[:_BATCH], number)
                del pending[:_BATCH]
                number += _BATCH
    except FairqError as error:
        failure = error
    if pending:
        yield _parts_of(pending, number)
    if failure is not None:
        raise failure


def _parts_of(ads: Sequence[Ad], first: int) -> list[AdPart]:
    """Return *ads* in parts, ordered by their first ads; *first* is the number of the first ad."""
    shapes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, names in enumerate(map(tuple, ads)):
        shapes[names].append(index)
    parts: list[AdPart] = []
    for names, indices in shapes.items():
        columns: Iterator[Sequence[Any]] = zip(*map(dict.values, map(ads.__getitem__, indices)), strict=True)
        varying = {name: column for name, column in zip(names, columns, strict=True) if not is_constant(column)}
        parts.append(AdPart(ads[indices[0]], varying, [first + index for index in indices]))
    return parts


def is_constant(column: Sequence[Any]) -> bool:
    """Return whether all values of a nonempty column are written in the same way."""
    first = column[0]
    try:
        if first != column[-1] or column.count(first) < len(column):
            return False
        if type(first) is str:
            return True
        kinds = set(map(type, column))
        # Equal values may differ: 1, 1.0 and true; 0.0 and -0.0; and lists with these.
        return len(kinds) == 1 and (kinds <= _ONE_SPELLING or len(set(map(repr, column))) == 1)
    except RecursionError:  # lists in lists in lists: such an ad is refused later
        return False
