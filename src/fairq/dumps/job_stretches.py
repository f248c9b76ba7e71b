"""Stretches of identical jobs, and what the jobs of a cluster have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

from msgspec import Struct

from fairq.dumps.ads import same
from fairq.dumps.job_terms import Terms
from fairq.dumps.source import Source
from fairq.errors.pool import DuplicateAdError
from fairq.records import Ad


class Stretch(Struct):
    """Adjacent ads of the dump, from the *number*-th on, with identical and consecutive procs.

    What the terms do not have of their ads is *rest*, but with *values* for the attributes *names*. Many stretches may
    have the same object *rest*; then they have the same names.
    """

    number: int
    first: int
    last: int
    terms: Terms
    rest: Ad
    names: Sequence[str] = ()
    values: Sequence[Any] = ()

    def ad(self) -> Ad:
        """Return the rest with the own values."""
        return {**self.rest, **dict(zip(self.names, self.values, strict=True))} if self.names else self.rest


def divided(source: Source, cluster: int, stretches: list[Stretch]) -> tuple[Ad, list[tuple[Stretch, Ad | None]]]:
    """Return the attributes that all *stretches* of a cluster share, and each with its own; equal ones are joined.

    Raises DuplicateAdError if two have the same proc.
    """
    if len(stretches) == 1:
        return stretches[0].ad(), [(stretches[0], None)]
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
        return joined[0].ad(), [(joined[0], None)]
    of_rests: dict[int, list[Stretch]] = {}
    for stretch in joined:
        of_rests.setdefault(id(stretch.rest), []).append(stretch)
    shared = dict(joined[0].ad())
    for found in of_rests.values():
        _keep_common(shared, found)
    parts: list[tuple[Stretch, Ad | None]] = []
    for found in of_rests.values():
        rest, names = found[0].rest, found[0].names
        left = {name: value for name, value in rest.items() if name not in shared}
        kept = [place for place, name in enumerate(names) if name in left]
        names = [names[place] for place in kept]
        for stretch in found:
            values = stretch.values
            if len(kept) < len(values):
                values = [values[place] for place in kept]
            parts.append((stretch, {**left, **dict(zip(names, values, strict=True))} or None))
    if len(of_rests) > 1:
        parts.sort(key=lambda part: part[0].first)
    return shared, parts


def _joined(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return *stretches*, ordered by proc, with those that go on from the one before joined to it."""
    joined: list[Stretch] = []
    for stretch in stretches:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.last + 1 == stretch.first
            and before.terms == stretch.terms
            and _are_alike(before, stretch)
        ):
            before.last = stretch.last
        else:
            joined.append(stretch)
    return joined


def _are_alike(one: Stretch, other: Stretch) -> bool:
    if one.rest is not other.rest:
        return same(one.ad(), other.ad())
    return one.values == other.values and all(map(same, one.values, other.values))


def _keep_common(shared: Ad, stretches: Sequence[Stretch]) -> None:
    """Leave in *shared* what these stretches, which have the same object rest, have, too."""
    rest, names = stretches[0].rest, stretches[0].names
    if not names and _has(rest, shared):
        return
    columns = dict(zip(names, zip(*(stretch.values for stretch in stretches), strict=True), strict=True))
    for name, value in list(shared.items()):
        column = columns.get(name) or ([rest[name]] if name in rest else [])
        if not column or column.count(value) < len(column) or not all(same(value, one) for one in column):
            del shared[name]


def with_texts(ad: Ad, other: Ad) -> Ad:
    """Return *ad* with the texts of the *other* one where they are equal: they need memory once."""
    known = other.get
    return {
        name: before if type(value) is str and (before := known(name)) == value else value for name, value in ad.items()
    }


def _has(ad: Ad, shared: Ad) -> bool:
    """Say whether *ad* has all of *shared*, if that can be told in a tenth of the time that looking at each takes."""
    values, wanted = list(map(ad.get, shared)), list(shared.values())
    kinds = list(map(type, wanted))
    return values == wanted and list(map(type, values)) == kinds and is_flat(kinds)


def is_flat(kinds: Sequence[type]) -> bool:
    """Return whether values of these *kinds* have no values inside."""
    return list not in kinds and dict not in kinds
