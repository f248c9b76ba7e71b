"""The slots of a simulation: their claims, and their ads as a cycle reads them.

A claim adds the same attributes to a slot's ad as in fairq's own pool (`fairq.steps.pool.claimed_ads`), as far as the
matching rules read them. A match on a partitionable slot takes a piece of it, which becomes a dynamic slot, with the
name, the place and the ad that the state would give it (`fairq.steps.pool.dynamic_slots`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.reservation import with_clause
from fairq.engine.classad import AdColumns
from fairq.engine.classad.column import ABSENT
from fairq.engine.negotiation.pieces import Carved, Carving, assigned_gpus, left_of, without_gpus
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, ReservedSlots, slots_taking_part, unusable
from fairq.engine.simulation.promises import Machines, Part, Promise

_TEXTS = ("State", "Activity", "RemoteUser", "RemoteOwner")
_CLAIMED = {"State": "Claimed", "Activity": "Busy"}
_RESOURCES = ("cpus", "memory", "disk", "gpus")


class Tenant(Struct):
    """The user of a slot since *start* (seconds since 1970); *rank* is the machine's, *key* that of the charge.

    *advertised* are further attributes that the slot advertises during this claim. Of a piece, *row* is that of its
    partitionable slot.
    """

    submitter: str
    start: int
    weight: float
    key: int
    rank: float = 0.0
    limits: str | None = None
    group: str | None = None
    autoregroup: bool | None = None
    carving: Carving | None = None
    name: str = ""
    advertised: Mapping[str, Any] | None = None
    row: int = 0


class SimulatedPool:
    """All slots of a pool, with their tenants.

    Args:
        names: one per slot, as advertised.
        ads: the slots as advertised without claims of fairq, partitionable slots with all their resources.
        draining: indices of slots that get no new jobs.
        shows_draining: the ads show draining, as a draining startd does.
        reserved: the slots that are reserved now or later.
        carved: the dynamic slots by index. Each exists only while it has a tenant. Later ones are pieces with a tenant
            (`claim` with a carving), and have no index.
    """

    def __init__(
        self,
        names: Sequence[str],
        ads: AdColumns,
        draining: frozenset[int] = frozenset(),
        *,
        shows_draining: bool = False,
        reserved: Sequence[ReservedSlots] = (),
        carved: Mapping[int, Carved] | None = None,
    ) -> None:
        self._names = tuple(names)
        self._ads = ads
        self._draining = draining
        self._reserved = reserved
        self.promises: list[Promise] = []
        """The machines that are promised to jobs."""
        self._size = len(names)
        self._tenants: list[Tenant | None] = [None] * self._size
        self._carved = carved or {}
        self._pieces: dict[int, Tenant] = {}
        self._listed: Sequence[int] = range(self._size)
        """The slots of the last snapshot; its further slots are `_listed_pieces`."""
        self._listed_pieces: list[Tenant] = []
        self._used_names: set[str] = set()
        self._columns: dict[str, list[Any]] = {}
        self._unusable: NDArray[np.bool_] | None = None
        self._base = {name: self._column(name) for name in _TEXTS}
        busy = [state in ("Claimed", "Preempting") for state in self._base["State"]]
        self._draining_rows = sorted(draining) if shows_draining else []
        if shows_draining:
            self._base = {name: list(values) for name, values in self._base.items()}
            for row in draining:
                self._base["Activity" if busy[row] else "State"][row] = "Retiring" if busy[row] else "Drained"
        self._base_group = self._column("AccountingGroup")
        self._base_ranks = self._column("CurrentRank")
        self._shown = {name: list(values) for name, values in self._base.items()}
        self._accounting_group = list(self._base_group)
        self._ranks = list(self._base_ranks)
        self._starts = np.zeros(self._size, np.int64)
        self._amounts_taken: dict[int, dict[str, float]] = {}
        self._shows_limits = self._shows_group = self._shows_advertised = False
        self._uncounted = draining | self._carved.keys()
        self.free = sum(not (held or row in self._uncounted) for row, held in enumerate(busy))
        """The number of static slots without a tenant; a partitionable slot always counts."""
        self._partitionable = [value is True for value in self._column("PartitionableSlot")]
        self.divides = any(self._partitionable)
        self.ranks_jobs = bool(ads.nodes("rank"))
        self._last_key = 0

    def __len__(self) -> int:
        return self._size

    def _column(self, name: str) -> list[Any]:
        """Return an attribute of every slot as advertised, None if missing; cached, so callers must not change it."""
        cached = self._columns.get(name)
        if cached is None:
            column = self._ads.column(name.lower())
            values = (column.json_value(row, self._ads.pool) for row in range(self._size))
            cached = self._columns[name] = [None if value is ABSENT else value for value in values]
        return cached

    def row(self, listed: int) -> int:
        """Return the slot that was at *listed* in the last snapshot; for a piece, its partitionable slot."""
        piece = self.piece(listed)
        return self._listed[listed] if piece is None else piece.row

    def tenant(self, listed: int) -> Tenant | None:
        """Return the tenant of the slot that was at *listed* in the last snapshot."""
        return self.piece(listed) or self._tenants[self.row(listed)]

    def piece(self, listed: int) -> Tenant | None:
        """Return the tenant of the piece that was at *listed* in the last snapshot, None if that is no piece."""
        return self._listed_pieces[listed - len(self._listed)] if listed >= len(self._listed) else None

    def name(self, row: int) -> str:
        """Return the name of the slot *row*."""
        return self._names[row]

    def new_key(self) -> int:
        """Return the key for the charge of the next piece."""
        self._last_key += 1
        return -self._last_key

    def claim(self, row: int, tenant: Tenant) -> None:
        """Give the slot *row*, or a piece of it, to *tenant*."""
        tenant.row = row
        self._shows_limits |= tenant.limits is not None
        self._shows_group |= tenant.group is not None
        self._shows_advertised |= tenant.advertised is not None
        if tenant.carving is not None:
            tenant.name = tenant.name or self._new_name(row)
            self._pieces[tenant.key] = tenant
            self._change_amounts(row, tenant.carving.amounts, 1)
            return
        if row in self._carved:
            self._change_amounts(self._carved[row].parent, self._carved[row].taken, 1)
        self._tenants[row] = tenant
        self.free -= row not in self._uncounted
        for name, value in _CLAIMED.items():
            self._shown[name][row] = value
        if self._draining_rows and row in self._draining:
            self._shown["Activity"][row] = "Retiring"
        for values in (self._shown["RemoteUser"], self._shown["RemoteOwner"], self._accounting_group):
            values[row] = tenant.submitter
        self._ranks[row] = tenant.rank
        self._starts[row] = tenant.start

    def release(self, tenant: Tenant) -> None:
        """Remove *tenant* from its slot; a dynamic slot returns its resources."""
        row = tenant.row
        if tenant.carving is not None:
            del self._pieces[tenant.key]
            self._change_amounts(row, tenant.carving.amounts, -1)
            return
        if row in self._carved:
            self._change_amounts(self._carved[row].parent, self._carved[row].taken, -1)
        self._tenants[row] = None
        self.free += row not in self._uncounted
        for name in _TEXTS:
            self._shown[name][row] = self._base[name][row]
        self._accounting_group[row] = self._base_group[row]
        self._ranks[row] = self._base_ranks[row]
        self._starts[row] = 0

    def _new_name(self, row: int) -> str:
        """Return the name of the next piece of the slot *row*: with the lowest number that the last snapshot lacks."""
        stem, at, machine = self._names[row].partition("@")
        names = (f"{stem}_{number}{at}{machine}" for number in count(1))
        name = next(name for name in names if name not in self._used_names)
        self._used_names.add(name)
        return name

    def _change_amounts(self, row: int, amounts: Mapping[str, float], sign: int) -> None:
        taken = self._amounts_taken.setdefault(row, {})
        for name, amount in amounts.items():
            lower = name.lower()
            taken[lower] = taken.get(lower, 0.0) + sign * amount
            if not taken[lower]:
                del taken[lower]
        if not taken:
            del self._amounts_taken[row]

    def machines(self, ends: Mapping[int, int], policy: NegotiationPolicy, now: int) -> Machines:
        """Return the slots that may be promised; *ends* are the times at which jobs end, by their tenants' keys."""
        parts: dict[int, list[Part]] = {}
        for piece in self._pieces.values():
            assert piece.carving is not None
            parts.setdefault(piece.row, []).append(Part(ends[piece.key], piece.carving.amounts))
        for row, part in self._carved.items():
            if (tenant := self._tenants[row]) is not None:
                parts.setdefault(part.parent, []).append(Part(ends[tenant.key], part.taken))
        usable = self.promisable(policy)
        usable[[promise.row for promise in self.promises]] = False
        return Machines(self._ads.at(now), usable, np.array(self._partitionable, np.bool_), parts, policy)

    def promisable(self, policy: NegotiationPolicy) -> NDArray[np.bool_]:
        """Return which slots take part in cycles, and are neither drained, offline nor reserved."""
        if self._unusable is None:
            self._unusable = unusable(self._ads)
        is_promisable: NDArray[np.bool_] = slots_taking_part(self._ads, policy) & ~self._unusable
        is_promisable[list(self._uncounted)] = False
        for slots in self._reserved:
            is_promisable[list(slots.rows)] = False
        return is_promisable

    def snapshot(self, now: int) -> PoolSlots:
        """Return the slots as a cycle at *now* reads them."""
        ads = self._ads.at(now)
        reserved = [slots for slots in (*self._reserved, *map(_promised, self.promises)) if slots.lasts(now)]
        if self.promises:
            requirements = list(self._column("Requirements"))
            for promise in self.promises:
                requirements[promise.row] = with_clause(requirements[promise.row], f"({promise.reservation.clause})")
            ads.with_column("Requirements", requirements)
        # A match that preempts the tenant of a piece takes it over: the keys tell the order in which they were made.
        pieces = self._listed_pieces = [self._pieces[key] for key in sorted(self._pieces, reverse=True)]
        listed: Sequence[int] = range(self._size)
        place: Sequence[int] | dict[int, int] = listed
        if self._carved:
            tenants = self._tenants
            listed = [row for row in listed if row not in self._carved or tenants[row] is not None]
            place = {row: at for at, row in enumerate(listed)}
        self._listed = listed
        if pieces or self._carved:
            ads = ads.of_rows(np.array([*listed, *(piece.row for piece in pieces)], np.intp))
            self._show_resources(ads)
        self._show_claims(ads, now)
        names = [*self._of_listed(self._names), *(piece.name for piece in pieces)]
        self._used_names = set(names) if self.divides else set()
        carved = {
            place[row]: Carved(place[part.parent], part.taken) for row, part in self._carved.items() if row in place
        }
        carved |= {
            at: Carved(place[piece.row], piece.carving.amounts)
            for at, piece in enumerate(pieces, len(listed))
            if piece.carving is not None
        }
        return PoolSlots(
            names,
            [*listed, *(piece.key for piece in pieces)],
            ads,
            frozenset(place[row] for row in self._draining if row in place),
            carved,
            [replace(slots, rows=[place[row] for row in slots.rows if row in place]) for slots in reserved],
        )

    def _show(self, ads: AdColumns, name: str, values: Sequence[Any], of_pieces: list[Any]) -> None:
        """Set the attribute *name*: *values* by row, and those of the pieces."""
        ads.with_column(name, [*self._of_listed(values), *of_pieces])

    def _of_listed(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return those of *values*, by row, that belong to the slots of the last snapshot."""
        return [values[row] for row in self._listed] if self._carved else values

    def _show_claims(self, ads: AdColumns, now: int) -> None:
        """Add the attributes of the claims to the ads."""
        pieces = self._listed_pieces
        count = len(pieces)
        users = [piece.submitter for piece in pieces]
        for name in ("State", "Activity"):
            self._show(ads, name, self._shown[name], [_CLAIMED[name]] * count)
        if self._draining_rows:
            draining = list(self._column("Draining"))
            for row in self._draining_rows:
                draining[row] = True
            self._show(ads, "Draining", draining, [None] * count)
        for name in ("RemoteUser", "RemoteOwner"):
            self._show(ads, name, self._shown[name], users)
        self._show(ads, "AccountingGroup", self._accounting_group, users)
        self._show(ads, "CurrentRank", self._ranks, [piece.rank for piece in pieces])
        starts = self._starts[self._listed] if self._carved else self._starts
        starts = np.concatenate([starts, np.array([piece.start for piece in pieces], np.int64)])
        busy = starts > 0
        ads.with_numbers("TotalJobRunTime", np.maximum(now - starts, 0).astype(np.float64), busy)
        ads.with_numbers("JobStart", starts.astype(np.float64), busy)
        if self._shows_limits:
            self._show(ads, "ConcurrencyLimits", *self._of_tenants("limits", "ConcurrencyLimits"))
        if self._shows_group:
            self._show(ads, "RemoteNegotiatingGroup", *self._of_tenants("group", "RemoteNegotiatingGroup"))
            self._show(ads, "RemoteAutoregroup", *self._of_tenants("autoregroup", "RemoteAutoregroup"))
        if self._shows_advertised:
            self._show_advertised(ads)

    def _show_advertised(self, ads: AdColumns) -> None:
        """Set the further attributes that slots advertise during claims."""
        advertised = [(at, tenant.advertised) for at, row in enumerate(self._listed) if (tenant := self._tenants[row])]
        for name in {name for _, more in advertised for name in more or ()}:
            values = [ads.json_value(at, name.lower()) for at in range(len(ads))]
            for at, more in advertised:
                if more is not None and name in more:
                    values[at] = more[name]
            ads.with_column(name, [None if value is ABSENT else value for value in values])

    def _of_tenants(self, attribute: str, name: str) -> tuple[list[Any], list[Any]]:
        """Return an *attribute* of each slot's tenant and of the pieces; a slot without tenant advertises *name*."""
        advertised = self._column(name)
        return [
            value if tenant is None else getattr(tenant, attribute)
            for value, tenant in zip(advertised, self._tenants, strict=True)
        ], [getattr(piece, attribute) for piece in self._listed_pieces]

    def _show_resources(self, ads: AdColumns) -> None:
        """Set the resources in the ads: what remains of partitionable slots, and those of pieces."""
        pieces = self._listed_pieces
        for name, value in (("PartitionableSlot", None), ("DynamicSlot", True), ("SlotType", "Dynamic")):
            self._show(ads, name, self._column(name), [value] * len(pieces))
        self._show(ads, "Name", self._names, [piece.name for piece in pieces])
        self._show(ads, "SlotWeight", self._column("SlotWeight"), [piece.weight for piece in pieces])
        own = [
            {} if piece.carving is None else {name.lower(): amount for name, amount in piece.carving.amounts.items()}
            for piece in pieces
        ]
        advertised = ads.names()
        for name in {*_RESOURCES, *(name for taken in self._amounts_taken.values() for name in taken)} & advertised:
            values = list(self._column(name))
            for row, taken in self._amounts_taken.items():
                values[row] = left_of(values[row], taken.get(name, 0))
            amounts = [amounts.get(name, 0) for amounts in own]
            self._show(ads, name, values, amounts)
            self._show(ads, f"TotalSlot{name}", self._column(f"TotalSlot{name}"), amounts)
        self._show_parts(ads)

    def _show_parts(self, ads: AdColumns) -> None:
        """Set the number of the dynamic slots of each machine, and the names of the GPUs that they have and leave."""
        pieces, names = self._listed_pieces, self._ads.names()
        gpus: dict[int, list[Sequence[str]]] = {}
        assigned = self._column("AssignedGPUs")
        for row in filter(self._carved.__contains__, self._listed):
            gpus.setdefault(self._carved[row].parent, []).append(assigned_gpus({"AssignedGPUs": assigned[row]}))
        for piece in pieces:
            assert piece.carving is not None
            gpus.setdefault(piece.row, []).append(piece.carving.gpus)
        counts, available = list(self._column("NumDynamicSlots")), list(self._column("AvailableGPUs"))
        for row, of_parts in gpus.items():
            counts[row] = len(of_parts) + (counts[row] if type(counts[row]) is int else 0)
            if any(of_parts):
                rest = without_gpus(self._ads.json_ad(row, names), chain.from_iterable(of_parts))
                available[row] = rest.get("AvailableGPUs")
        self._show(ads, "NumDynamicSlots", counts, [None] * len(pieces))
        if {"assignedgpus", "availablegpus"} & names:
            self._show(ads, "AvailableGPUs", available, [None] * len(pieces))
            of_pieces = [",".join(piece.carving.gpus) or None for piece in pieces if piece.carving is not None]
            self._show(ads, "AssignedGPUs", assigned, of_pieces)


def _promised(promise: Promise) -> ReservedSlots:
    return ReservedSlots([promise.row], promise.reservation.admits, promise.reservation.begin)
