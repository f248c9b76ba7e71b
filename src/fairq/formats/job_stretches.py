"""Stretches of identical jobs, and the attributes that the jobs of a cluster share."""

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
    """Ads equal to *ad* except for the values of *names*."""

    ad: Ad
    names: tuple[str, ...] = ()

    def at(self, values: tuple[Any, ...]) -> Ad:
        """Return the ad with these *values*; it may be shared, so do not change it."""
        return {**self.ad, **dict(zip(self.names, values, strict=True))} if values else self.ad


class Stretch(Struct):
    """Adjacent ads of the dump, from the *number*-th on, with identical and consecutive procs.

    Their attributes that are not in the terms are the one of *ads* with these *values*.
    """

    number: int
    first: int
    last: int
    terms: Terms
    ads: AlikeAds
    values: tuple[Any, ...] = ()

    def ad(self) -> Ad:
        """Return the attributes that are not in the terms."""
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
        """Add the one of *ads* with these *values*, unless the last row has it; return its row."""
        if values or not self._ads or self._ads[-1][0] is not ads:
            self._ads.append((ads, values))
        return len(self._ads) - 1


def divided(
    source: Source, cluster: int, stretches: list[Stretch]
) -> tuple[AlikeAds, tuple[Any, ...], list[tuple[Stretch, Ad | None]]]:
    """Return the ad shared by all *stretches* of a cluster, and each stretch with its own attributes; join equal ones.

    Raises DuplicateAdError if two have the same proc.
    """
    stretches.sort(key=attrgetter("first", "number"))
    for first, following in pairwise(stretches):
        if following.first <= first.last:
            numbers = first.number + following.first - first.first, following.number
            raise DuplicateAdError(
                source=source.name,
                what=f"job {cluster}.{following.first}",
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
        remaining = {name: value for name, value in ads.ad.items() if name not in shared}
        own = [(index, name) for index, name in enumerate(ads.names) if name in remaining]
        for stretch in members:
            parts.append((stretch, {**remaining, **{name: stretch.values[index] for index, name in own}} or None))
    parts.sort(key=lambda part: part[0].first)
    return AlikeAds(shared), (), parts


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return *stretches*, ordered by proc; join each to the one before if it continues it."""
    joined = [stretches[0]]
    for stretch in stretches[1:]:
        previous = joined[-1]
        if previous.last + 1 == stretch.first and previous.terms == stretch.terms and _are_alike(previous, stretch):
            previous.last = stretch.last
        else:
            joined.append(stretch)
    return joined


def _are_alike(left: Stretch, right: Stretch) -> bool:
    if left.ads is not right.ads:
        return same(left.ad(), right.ad())
    return left.values == right.values and all(map(same, left.values, right.values))


def _keep_common(shared: Ad, ads: AlikeAds, stretches: Sequence[Stretch]) -> None:
    """Keep in *shared* only the attributes that all *stretches*, which have these *ads*, also have."""
    columns = dict(zip(ads.names, zip(*(stretch.values for stretch in stretches), strict=True), strict=True))
    for name, value in list(shared.items()):
        column = columns.get(name) or ([ads.ad[name]] if name in ads.ad else [])
        if not column or not all_same(value, column):
            del shared[name]
