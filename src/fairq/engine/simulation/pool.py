"""The slots of a simulation: their claims, and their ads as a cycle reads them.

A claim adds the same attributes to a slot's ad as in fairq's own pool (`fairq.steps.pool.claimed_ads`), as far as the
matching rules read them. A match on a partitionable slot takes a piece of it, which becomes a dynamic slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.reservation import with_clause
from fairq.engine.classad import AdColumns
from fairq.engine.classad.column import ABSENT
from fairq.engine.negotiation.pieces import Carved, Carving
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, ReservedSlots, slots_taking_part, unusable
from fairq.engine.simulation.promises import Machines, Part, Promise

_TEXTS = ("State", "Activity", "RemoteUser")
_CLAIMED = {"State": "Claimed", "Activity": "Busy"}


class Tenant(Struct):
    """The user of a slot since *start* (seconds since 1970); *rank* is the machine's, *key* that of the charge."""

    submitter: str
    start: int
    weight: float
    key: int
    rank: float = 0.0
    limits: str | None = None
    group: str | None = None
    autoregroup: bool | None = None
    carving: Carving | None = None
    row: int = 0


class SimulatedPool:
    """All slots of a pool, with their tenants.

    Args:
        names: one per slot, as advertised.
        ads: the slots as advertised without claims of fairq, partitionable slots with all their resources. Dynamic
            slots are not among them: they are pieces with a tenant (`claim` with a carving).
        draining: indices of slots that get no new jobs.
        shows_draining: the ads show draining, as a draining startd does.
        reserved: the slots that are reserved now or later.
    """

    def __init__(
        self,
        names: Sequence[str],
        ads: AdColumns,
        draining: frozenset[int] = frozenset(),
        *,
        shows_draining: bool = False,
        reserved: Sequence[ReservedSlots] = (),
    ) -> None:
        self._names = tuple(names)
        self._ads = ads
        self._draining = draining
        self._reserved = reserved
        self.promises: list[Promise] = []
        """The machines that are promised to jobs."""
        self._size = len(names)
        self._tenants: list[Tenant | None] = [None] * self._size
        self._pieces: list[Tenant] = []
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
        self._shows_limits = self._shows_group = False
        self.free = sum(not (held or row in draining) for row, held in enumerate(busy))
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

    def tenant(self, row: int) -> Tenant | None:
        """Return the tenant of the slot at *row* of the last snapshot."""
        return self._tenants[row] if row < self._size else self._pieces[row - self._size]

    def piece(self, row: int) -> Tenant | None:
        """Return the tenant of the piece at *row* of the last snapshot, None if that is no piece."""
        return None if row < self._size else self._pieces[row - self._size]

    def name(self, row: int) -> str:
        """Return the name of the slot *row*; for a piece, the name of its partitionable slot."""
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
        if tenant.carving is not None:
            self._pieces.append(tenant)
            self._change_amounts(row, tenant.carving.amounts, 1)
            return
        self._tenants[row] = tenant
        self.free -= row not in self._draining
        for name, value in _CLAIMED.items():
            self._shown[name][row] = value
        if self._draining_rows and row in self._draining:
            self._shown["Activity"][row] = "Retiring"
        self._shown["RemoteUser"][row] = self._accounting_group[row] = tenant.submitter
        self._ranks[row] = tenant.rank
        self._starts[row] = tenant.start

    def release(self, tenant: Tenant) -> None:
        """Remove *tenant* from its slot; a piece returns its resources."""
        row = tenant.row
        if tenant.carving is not None:
            self._pieces.remove(tenant)
            self._change_amounts(row, tenant.carving.amounts, -1)
            return
        self._tenants[row] = None
        self.free += row not in self._draining
        for name in _TEXTS:
            self._shown[name][row] = self._base[name][row]
        self._accounting_group[row] = self._base_group[row]
        self._ranks[row] = self._base_ranks[row]
        self._starts[row] = 0

    def _change_amounts(self, row: int, amounts: Any, sign: int) -> None:
        taken = self._amounts_taken.setdefault(row, {})
        for name, amount in amounts.items():
            taken[name] = taken.get(name, 0.0) + sign * amount
            if not taken[name]:
                del taken[name]
        if not taken:
            del self._amounts_taken[row]

    def machines(self, ends: Mapping[int, int], policy: NegotiationPolicy, now: int) -> Machines:
        """Return the slots that may be promised; *ends* are the times at which jobs end, by their tenants' keys."""
        parts: dict[int, list[Part]] = {}
        for piece in self._pieces:
            if piece.carving is not None:
                parts.setdefault(piece.row, []).append(Part(ends[piece.key], piece.carving.amounts))
        usable = self.promisable(policy)
        usable[[promise.row for promise in self.promises]] = False
        return Machines(self._ads.at(now), usable, np.array(self._partitionable, np.bool_), parts, policy)

    def promisable(self, policy: NegotiationPolicy) -> NDArray[np.bool_]:
        """Return which slots take part in cycles, and are neither drained, offline nor reserved."""
        if self._unusable is None:
            self._unusable = unusable(self._ads)
        is_promisable: NDArray[np.bool_] = slots_taking_part(self._ads, policy) & ~self._unusable
        is_promisable[list(self._draining)] = False
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
        if not self._pieces:
            self._add_claims(ads, now, [])
            return PoolSlots(self._names, range(self._size), ads, self._draining, reserved=reserved)
        pieces = self._pieces
        rows = np.array([*range(self._size), *(piece.row for piece in pieces)], np.intp)
        ads = ads.of_rows(rows)
        self._set_resources(ads, pieces)
        self._add_claims(ads, now, pieces)
        names = (*self._names, *(f"{self._names[piece.row]}#{piece.key}" for piece in pieces))
        keys = [*range(self._size), *(piece.key for piece in pieces)]
        carved = {
            self._size + index: Carved(piece.row, piece.carving.amounts)
            for index, piece in enumerate(pieces)
            if piece.carving is not None
        }
        draining = self._draining
        if draining:
            draining |= {self._size + index for index, piece in enumerate(pieces) if piece.row in self._draining}
        return PoolSlots(names, keys, ads, draining, carved, reserved)

    def _add_claims(self, ads: AdColumns, now: int, pieces: list[Tenant]) -> None:
        """Add the attributes of the claims to the ads."""
        piece_count = len(pieces)
        users = [piece.submitter for piece in pieces]
        for name in ("State", "Activity"):
            ads.with_column(name, self._shown[name] + [_CLAIMED[name]] * piece_count)
        if self._draining_rows:
            draining = [*self._column("Draining"), *([None] * piece_count)]
            for row in self._draining_rows:
                draining[row] = True
            ads.with_column("Draining", draining)
        ads.with_column("RemoteUser", self._shown["RemoteUser"] + users)
        ads.with_column("AccountingGroup", self._accounting_group + users)
        ads.with_column("CurrentRank", self._ranks + [piece.rank for piece in pieces])
        starts = np.concatenate([self._starts, np.array([piece.start for piece in pieces], np.int64)])
        busy = starts > 0
        ads.with_numbers("TotalJobRunTime", np.maximum(now - starts, 0).astype(np.float64), busy)
        ads.with_numbers("JobStart", starts.astype(np.float64), busy)
        if self._shows_limits:
            ads.with_column(
                "ConcurrencyLimits",
                [*self._of_tenants("limits", "ConcurrencyLimits"), *(piece.limits for piece in pieces)],
            )
        if self._shows_group:
            ads.with_column(
                "RemoteNegotiatingGroup",
                [*self._of_tenants("group", "RemoteNegotiatingGroup"), *(piece.group for piece in pieces)],
            )
            ads.with_column(
                "RemoteAutoregroup",
                [*self._of_tenants("autoregroup", "RemoteAutoregroup"), *(piece.autoregroup for piece in pieces)],
            )

    def _of_tenants(self, attribute: str, name: str) -> list[Any]:
        """Return an *attribute* of each slot's tenant; a slot without tenant has what it advertises as *name*."""
        advertised = self._column(name)
        return [
            value if tenant is None else getattr(tenant, attribute)
            for value, tenant in zip(advertised, self._tenants, strict=True)
        ]

    def _set_resources(self, ads: AdColumns, pieces: list[Tenant]) -> None:
        """Set the resources in the ads: what remains of partitionable slots, and those of pieces."""
        piece_count = len(pieces)
        ads.with_column("PartitionableSlot", [value or None for value in self._partitionable] + [None] * piece_count)
        ads.with_column("DynamicSlot", [None] * self._size + [True] * piece_count)
        weights = self._column("SlotWeight")
        ads.with_column("SlotWeight", weights + [piece.weight for piece in pieces])
        names = {name.lower(): name for taken in self._amounts_taken.values() for name in taken}
        for name in names.values():
            remaining = self._numbers(name)
            for row, taken in self._amounts_taken.items():
                remaining[row] -= taken.get(name, 0.0)
            own = [0.0 if piece.carving is None else piece.carving.amounts.get(name, 0.0) for piece in pieces]
            values = np.concatenate([remaining, np.array(own)])
            ads.with_numbers(name, values, ~np.isnan(values))

    def _numbers(self, name: str) -> NDArray[np.float64]:
        values = self._column(name)
        return np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)


def _promised(promise: Promise) -> ReservedSlots:
    return ReservedSlots([promise.row], promise.reservation.admits, promise.reservation.begin)
