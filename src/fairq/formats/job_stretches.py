"""Stretches of identical jobs, and what the jobs of a cluster have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

from msgspec import Struct

from fairq.columns.rows import Rows
from fairq.common.records import Ad
from fairq.errors.pool import DuplicateAdError
from fairq.formats.ads import all_same, same
from fairq.formats.job_terms import Terms
from fairq.formats.source import Source


class AlikeAds(Struct, eq=False):
    """Ads like *ad* but for the values of *names*."""

    ad: Ad
    names: tuple[str, ...] = ()

    def at(self, values: tuple[Any, ...]) -> Ad:
        """Return the one with these *values*; it may be the same object as others."""
        return {**self.ad, **dict(zip(self.names, values, strict=True))} if values else self.ad


class Stretch(Struct):
    """Adjacent ads of the dump, from the *number*-th on, with identical and consecutive procs.

    What the terms do not have of their ads is that one of *ads* with these *values*.
    """

    number: int
    first: int
    last: int
    terms: Terms
    ads: AlikeAds
    values: tuple[Any, ...] = ()

    def ad(self) -> Ad:
        """Return what the terms do not have."""
        return self.ads.at(self.values)


class SharedAds(Rows[Ad]):
    """The ad that the jobs of each cluster share; many clusters may have the same."""

    def __init__(self) -> None:
        self._ads: list[tuple[AlikeAds, tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self._ads)

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        ads, values = self._ads[row]
        return ads.at(values)

    def put(self, ads: AlikeAds, values: tuple[Any, ...]) -> int:
        """Add the one of *ads* with these *values*, unless the row before has it; return its row."""
        if values or not self._ads or self._ads[-1][0] is not ads:
            self._ads.append((ads, values))
        return len(self._ads) - 1


def divided(
    source: Source, cluster: int, stretches: list[Stretch]
) -> tuple[AlikeAds, tuple[Any, ...], list[tuple[Stretch, Ad | None]]]:
    """Return what all *stretches* of a cluster share, one of alike ads, and each with its own; equal ones are joined.

    Raises DuplicateAdError if two have the same proc.
    """
    stretches.sort(key=attrgetter("first", "number"))
    for one, next_one in pairwise(stretches):
        if next_one.first <= one.last:
            numbers = one.number + next_one.first - one.first, next_one.number
            raise DuplicateAdError(
                source=source.name,
                what=f"job {cluster}.{next_one.first}",
                number=max(numbers),
                first=min(numbers),
            )
    joined = _joined(stretches)
    if len(joined) == 1:
        return joined[0].ads, joined[0].values, [(joined[0], None)]
    alike: dict[AlikeAds, list[Stretch]] = {}
    for stretch in joined:
        alike.setdefault(stretch.ads, []).append(stretch)
    shared = dict(joined[0].ad())
    for ads, members in alike.items():
        _keep_common(shared, ads, members)
    parts: list[tuple[Stretch, Ad | None]] = []
    for ads, members in alike.items():
        left = {name: value for name, value in ads.ad.items() if name not in shared}
        own = [(place, name) for place, name in enumerate(ads.names) if name in left]
        for stretch in members:
            parts.append((stretch, {**left, **{name: stretch.values[place] for place, name in own}} or None))
    parts.sort(key=lambda part: part[0].first)
    return AlikeAds(shared), (), parts


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return *stretches*, ordered by proc, with those that go on from the one before joined to it."""
    joined = [stretches[0]]
    for stretch in stretches[1:]:
        before = joined[-1]
        if before.last + 1 == stretch.first and before.terms == stretch.terms and _are_alike(before, stretch):
            before.last = stretch.last
        else:
            joined.append(stretch)
    return joined


def _are_alike(one: Stretch, other: Stretch) -> bool:
    if one.ads is not other.ads:
        return same(one.ad(), other.ad())
    return one.values == other.values and all(map(same, one.values, other.values))


def _keep_common(shared: Ad, ads: AlikeAds, stretches: Sequence[Stretch]) -> None:
    """Leave in *shared* what all *stretches*, which have these *ads*, have, too."""
    columns = dict(zip(ads.names, zip(*(stretch.values for stretch in stretches), strict=True), strict=True))
    for name, value in list(shared.items()):
        column = columns.get(name) or ([ads.ad[name]] if name in ads.ad else [])
        if not column or not all_same(value, column):
            del shared[name]
