"""Partitionable slots as they would be if jobs gave back the pieces that they have of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairq.engine.classad import AdColumns
from fairq.engine.explain.comparisons import plain
from fairq.engine.negotiation.snapshot import PoolSlots
from fairq.records import Ad

_DYNAMIC = re.compile(r"(.*[^_])_\d+(@.*)?", re.DOTALL)
_RESOURCES = ("cpus", "memory", "disk", "gpus")


def pieces_of(names: Sequence[str], ads: Sequence[Ad]) -> dict[int, list[int]]:
    """The dynamic slots of each partitionable slot that has any, both as places in the pool.

    As HTCondor names them: slot1_3@host is a piece of slot1@host.
    """
    places = {name: row for row, name in enumerate(names) if _is(ads[row], "partitionableslot")}
    found: dict[int, list[int]] = {}
    for row, name in enumerate(names):
        named = _DYNAMIC.fullmatch(name)
        parent = None if named is None else places.get(named[1] + (named[2] or ""))
        if parent is not None and _is(ads[row], "dynamicslot"):
            found.setdefault(parent, []).append(row)
    return found


def given_back(parent: Ad, piece: Ad) -> Ad:
    """What is left of a partitionable slot once *piece* has been given back to it."""
    amounts = {name.lower(): value for name, value in piece.items()}
    listed = next((value for name, value in parent.items() if name.lower() == "machineresources"), "")
    resources = {*_RESOURCES, *str(listed).lower().split()}
    more = dict(parent)
    for name, value in parent.items():
        amount = amounts.get(name.lower()) if name.lower() in resources else None
        if isinstance(value, int | float) and isinstance(amount, int | float):
            more[name] = plain(value + amount)
    return more


def undivided(names: Sequence[str], ads: Sequence[Ad], now: int) -> PoolSlots | None:
    """The pool as if all pieces had been given back; None if there are none."""
    found = pieces_of(names, ads)
    if not found:
        return None
    whole = list(ads)
    for parent, rows in found.items():
        for row in rows:
            whole[parent] = given_back(whole[parent], ads[row])
    gone = {row for rows in found.values() for row in rows}
    left = [row for row in range(len(names)) if row not in gone]
    return PoolSlots([names[row] for row in left], left, AdColumns([whole[row] for row in left], now=now))


def _is(ad: Ad, attribute: str) -> bool:
    return any(value is True for name, value in ad.items() if name.lower() == attribute)
