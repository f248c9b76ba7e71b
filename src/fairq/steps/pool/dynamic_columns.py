"""The current ads of dynamic slots by column, in pools that have very many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairq.columns.ads import AdTable, Part, picked, shared
from fairq.common.records import Ad, DynamicSlot
from fairq.engine.negotiation.pieces import assigned_gpus
from fairq.steps.pool.dynamic_slots import by_parent, inherited_by, rest_of


def laid_out(ids: Sequence[int], ads: AdTable, apart: dict[int, Ad], dynamic: Sequence[DynamicSlot]) -> AdTable:
    """Return the stored *ads* of the slots *ids* in their current state, with the result of `lay_out` but by column.

    The ads *apart*, among them those of all partitionable slots with dynamic ones, are not in the table and are
    changed themselves. *ads* and *apart* are by place.
    """
    places = {number: place for place, number in enumerate(ids)}
    families = {places[parent]: family for parent, family in by_parent(dynamic).items()}
    parents = {places[child.slot_id]: parent for parent, family in families.items() for child in family}
    own: dict[int, set[tuple[str, ...]]] = {parent: set() for parent in families}
    gpus: dict[int, list[str]] = {parent: [] for parent in families}
    for part in ads.parts:
        devices = next((at for at, name in enumerate(part.names) if name.lower() == "assignedgpus"), None)
        for place, row in enumerate(part.rows):
            if (parent := parents.get(row)) is not None:
                own[parent].add(part.names)
                if devices is not None:
                    gpus[parent] += assigned_gpus({"AssignedGPUs": part.columns[devices][place]})
    for row in parents.keys() & apart.keys():
        own[parents[row]].add(tuple(apart[row]))
        gpus[parents[row]] += assigned_gpus(apart[row])

    inherited: dict[int, Ad] = {}
    for parent, family in families.items():
        inherited[parent] = inherited_by(apart[parent], {name.lower() for names in own[parent] for name in names})
        apart[parent] = rest_of(apart[parent], family, gpus[parent])
    for row in parents.keys() & apart.keys():
        apart[row] = {**inherited[parents[row]], **apart[row]}
    result = AdTable()
    for part in ads.parts:
        _put(result, part, parents, inherited)
    return result


def _put(result: AdTable, part: Part, parents: Mapping[int, int], inherited: Mapping[int, Ad]) -> None:
    """Put the ads of *part* into *result*, with what they have *inherited* from their *parents*."""
    groups: dict[tuple[str, ...] | None, list[int]] = {}
    for place, row in enumerate(part.rows):
        parent = parents.get(row)
        groups.setdefault(None if parent is None else tuple(inherited[parent]), []).append(place)
    for names, here in groups.items():
        rows = [part.rows[place] for place in here]
        columns = {name: part.column_at(number, here) for number, name in enumerate(part.names)}
        if names is not None:
            columns = {**_inherited(names, [parents[row] for row in rows], inherited), **columns}
        result.put_columns(tuple(columns), rows, list(columns.values()))


def _inherited(names: Sequence[str], parents: Sequence[int], inherited: Mapping[int, Ad]) -> dict[str, Sequence[Any]]:
    """The attributes *names* that the dynamic slots of these *parents*, one for each slot, have *inherited*."""
    places = {parent: place for place, parent in enumerate(dict.fromkeys(parents))}
    which = [places[parent] for parent in parents]
    return {name: picked(shared(tuple([inherited[parent][name] for parent in places])), which) for name in names}
