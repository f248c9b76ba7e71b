"""The partitionable slots of a cycle that may be matched more than once, and the rest of each.

docs/htcondor.md 3.14. Under ``carve`` every partitionable slot is divided as jobs take what they request; under
``whole`` (today's negotiator) only those with a consumption policy are divided; others are matched as a whole
(consumption_policy.cpp; matchmaker.cpp, negotiate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.expression_form import attribute
from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, Expression, evaluate_in_columns, parse
from fairq.engine.classad.kinds import UNDEFINED_KIND
from fairq.engine.dominance import Dominance
from fairq.engine.negotiation.pieces import (
    Carving,
    assigned_gpus,
    available_gpus,
    described_by,
    suitable_gpus,
    with_gpus,
    without_gpus,
)
from fairq.engine.negotiation.policy import NegotiationPolicy, PartitionableSlots
from fairq.engine.negotiation.pool import slot_weights
from fairq.engine.negotiation.requests import CORES, MODIFIED, Alone, Requests, default_modifications, whole_cores

_ALWAYS = ("Cpus", "Memory", "Disk")
"""Resources of every slot, even if its MachineResources omits them."""

_MEMORY = 1

GPUS = "GPUs"

_NAMING = ("assignedgpus", "availablegpus")


class Partitions:
    """Partitionable slots that are divided, and the rest of every resource in each.

    Slots are counted here from 0 in pool order, as *parts*; `rows` are their indices in the pool. Resources
    count in the order of `resources`; a missing resource (not in `has`) counts as 0.

    Args:
        ads: all slots of the pool.
        divided: which of them are divided.
        rule: how; under ``whole``, a slot without a claim left remains a candidate until a job is to have it.
        modifications: how requests are raised, by resource; None: as HTCondor does by default.
        dominant: what resources weigh, if a match weighs as much as its largest share of one.
    """

    def __init__(
        self,
        ads: AdColumns,
        divided: NDArray[np.bool_],
        rule: PartitionableSlots = "carve",
        modifications: Mapping[str, Expression] | None = None,
        dominant: Dominance | None = None,
    ) -> None:
        self._needs_claim = rule == "carve"
        self._pool = ads
        self.rows = np.flatnonzero(divided)
        self.parts: dict[int, int] = {row: part for part, row in enumerate(self.rows.tolist())}
        self.ads = ads.of_rows(self.rows)
        self.resources = _resources(self.ads)
        values = [evaluate_in_columns(name, self.ads, {}) for name in self.resources]
        shape = (len(self.resources), len(self.rows))
        self.has = np.array([one.kind != UNDEFINED_KIND for one in values], np.bool_).reshape(shape)
        self.left = np.array([one.as_rank(0.0) for one in values], np.float64).reshape(shape)
        self._cores = self.left[0].copy()
        self.has_policy = consumption_policies(self.ads)
        self._any_policy = bool(self.has_policy.any())
        self.claims = np.full(len(self.rows), np.inf)
        """How many matches each part can have in this cycle: a slot with a consumption policy advertises its claims."""
        if self._any_policy:
            advertised = evaluate_in_columns("NumClaims", self.ads, {}).as_rank(np.inf)
            self.claims[self.has_policy] = advertised[self.has_policy]
            if self._needs_claim:
                self.left[:, self.claims <= 0] = 0.0
        self.asking = Requests(self.resources, default_modifications() if modifications is None else modifications)
        self.changed: list[int] = []
        self.is_changed = np.zeros(len(self.rows), np.bool_)
        self._shown: int | None = None
        """How many changes `ads` show; None: something else."""
        self._next: tuple[int, Carving, NDArray[np.float64], Ad] | None = None
        self.binds_gpus = rule == "carve" and GPUS in self.resources
        """Whether a match takes the GPUs that its job requires, and not just a number of them."""
        self._gpus: dict[int, Ad] = {}
        """The attributes that name the GPUs left, of the parts from which some were taken."""
        self._gpus_shown = True
        self._dominant = dominant
        self._rates = None if dominant is None else dominant.rates(self.ads, self.resources)
        """The weight of a unit of each resource in each part."""

    def requests(self) -> list[Expression]:
        """Expressions that read what the jobs request of the resources."""
        read = [f"Request{name}" for name in self.resources]
        return [parse(f"TARGET.{name}") for name in ([*read, "RequireGPUs"] if self.binds_gpus else read)]

    def amounts_of(self, job: Ad) -> Alone | None:
        """What a job (names in lower case) takes of each resource; None if its ad alone does not tell."""
        return None if self._any_policy else self.asking.alone(job)

    def carved(
        self,
        asked: NDArray[np.float64],
        raised: NDArray[np.float64],
        suits: NDArray[np.bool_],
        left: NDArray[np.float64],
        parts: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """The amounts to carve out of *parts*: those *raised* where they are left and the job so raised *suits*.

        Elsewhere, they are those *asked* (per resource, and part or all alike); of memory and disk, in whole units, and
        what is left up to the raised amount where nothing was asked. Of a resource that a slot does not have, nothing
        is raised.
        """
        raised = np.where(self.has[:, parts], raised, asked)
        fits = suits & (raised <= left).all(axis=0)
        amounts = np.where(fits, raised, asked)
        if not fits.all():
            some = slice(CORES, MODIFIED)
            whole = np.minimum(np.where(asked[some] > 0, np.ceil(asked[some]), raised[some]), left[some])
            amounts[some] = np.where(fits, raised[some], np.maximum(whole, asked[some]))
        return amounts

    def share(self, amounts: NDArray[np.float64], parts: NDArray[np.intp]) -> NDArray[np.float64]:
        """The share of the cores that each of *parts* had at first, in the *amounts* carved out of it."""
        shares: NDArray[np.float64] = amounts[0] / np.maximum(self._cores[parts], 1.0)
        return shares

    def dominant_price(self, amounts: NDArray[np.float64], parts: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """The weights of the *amounts* carved out of *parts*: of the largest one; None: weights are not dominant."""
        if self._rates is None:
            return None
        found: NDArray[np.float64] = (amounts * self._rates[:, parts]).max(axis=0)
        return found

    def weights_left(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The weight that the slots *rows* have left of each resource with a dominant weight."""
        assert self._dominant is not None and self._rates is not None
        parts = [self.parts[row] for row in rows.tolist()]
        left = self.left[:, parts] * self._rates[:, parts]
        places = {name.lower(): place for place, name in enumerate(self.resources)}
        nothing = np.zeros(len(parts))
        found = [places.get(name.lower()) for name in self._dominant.resources]
        return np.array([nothing if place is None else left[place] for place in found])

    def with_enough(self, amounts: tuple[float, ...]) -> NDArray[np.bool_]:
        """The parts that have as much left of every resource; none if the job takes nothing."""
        return self.suffices(np.array(amounts)[:, None], self.left, np.arange(len(self.rows)))

    def suffices(
        self, asked: NDArray[np.float64], left: NDArray[np.float64], parts: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Where so much *left* of *parts* suffices for what a job asks: all of it, and any memory at all."""
        some_memory = (left[_MEMORY] > 0) | ~self.has[_MEMORY, parts] | self.has_policy[parts]
        takes = (asked >= 0).all(axis=0) & (asked > 0).any(axis=0)
        enough: NDArray[np.bool_] = np.asarray((asked <= left).all(axis=0) & takes & some_memory)
        return enough

    def propose(
        self,
        part: int,
        cost: float,
        amounts: NDArray[np.float64],
        job: Ad,
        victims: tuple[int, ...] = (),
        given_back: NDArray[np.float64] | None = None,
    ) -> None:
        """Set the next match of a slot with a *job*: *amounts* per resource, for a weight of *cost*.

        Before it, its dynamic slots *victims* return the amounts *given_back*.
        """
        taken = {name: amount for name, amount in zip(self.resources, amounts.tolist(), strict=True) if amount}
        self._next = part, Carving(cost, taken, victims), amounts if given_back is None else amounts - given_back, job

    def carve(self, row: int) -> Carving | None:
        """Take the proposed part from the slot *row* of the pool; None if that slot is not divided."""
        if self._next is None or self.rows[self._next[0]] != row:
            return None
        part, piece, amounts, job = self._next
        self._next = None
        self.left[:, part] -= amounts
        self.claims[part] -= 1
        if self._needs_claim and self.claims[part] <= 0:
            self.left[:, part] = 0.0  # whatever is left, no job can have it without a claim
        self._note_change(part)
        return self._with_gpus(part, piece, job)

    def _with_gpus(self, part: int, piece: Carving, job: Ad) -> Carving:
        """Take the GPUs of a piece: the first ones left that the job requires, as a startd binds them."""
        count = int(piece.amounts.get(GPUS, 0))
        if not count:
            return piece
        victims = (self._pool.json_ad(victim, ("assignedgpus",)) for victim in piece.victims)
        ad = with_gpus(self._gpus_of(part), [name for victim in victims for name in assigned_gpus(victim)])
        chosen = self._suitable_gpus(ad, job)[:count]
        if len(chosen) < count:
            return piece
        self._gpus[part] = without_gpus(ad, chosen)
        self._gpus_shown = not self.binds_gpus
        return replace(piece, gpus=tuple(chosen))

    def _suitable_gpus(self, ad: Ad, job: Ad) -> list[str]:
        return suitable_gpus(ad, available_gpus(ad), job, self.ads.now or 0)

    def _gpus_of(self, part: int) -> Ad:
        """The attributes of a part that name and describe its GPUs."""
        if part not in self._gpus:
            ad = self.ads.json_ad(part, _NAMING)
            described = (described_by(name).lower() for name in available_gpus(ad))
            self._gpus[part] = self.ads.json_ad(part, (*_NAMING, *described))
        return self._gpus[part]

    def _show_gpus(self) -> None:
        """Update AvailableGPUs in `ads`."""
        if self._gpus_shown:
            return
        self._gpus_shown = True
        listed = [self.ads.json_ad(part, ("availablegpus",)).get("availablegpus") for part in range(len(self.ads))]
        for part, ad in self._gpus.items():
            listed[part] = attribute(ad, "availablegpus")
        self.ads.with_column("AvailableGPUs", listed)

    def drop(self, part: int) -> None:
        """Offer a slot to nobody any more in this cycle."""
        self.left[:, part] = 0.0
        self._note_change(part)

    def _note_change(self, part: int) -> None:
        self.changed.append(part)
        self.is_changed[part] = True

    def is_used_up(self, row: int) -> bool:
        """Whether the slot *row* has no core left; no real machine then accepts a job."""
        return bool(self.left[0, self.parts[row]] <= 0)

    def least_piece(self, jobs: Sequence[Ad], policy: NegotiationPolicy) -> float:
        """The smallest possible weight: that of the smallest request of *jobs* for every resource.

        Infinite if no slot has that much.
        """
        least = [min((_number(job, name) for job in jobs), default=np.inf) for name in self.resources]
        least[0] = whole_cores(np.array(least[:1])).item()
        amounts = np.array(least, np.float64)[:, None]
        parts = np.flatnonzero((amounts <= self.left).all(axis=0))
        if not len(parts) or not policy.use_slot_weights:
            return 1.0 if len(parts) else float("inf")
        costs = self.dominant_price(amounts, parts)
        if costs is None:
            self.show()
            before = slot_weights(self.ads, policy, parts)
            self.show(self.left - amounts)
            costs = before - slot_weights(self.ads, policy, parts)
        return float(costs[costs > 0].min(initial=np.inf))

    def show(self, left: NDArray[np.float64] | None = None) -> None:
        """Let `ads` show so much *left* of each resource and part; None: what is left now."""
        now = len(self.changed) if left is None else None
        if now is not None and now == self._shown:
            return
        self._shown = now
        self._show_gpus()
        for number, name in enumerate(self.resources):
            self.ads.with_numbers(name, (self.left if left is None else left)[number], self.has[number])


def divided_slots(
    ads: AdColumns, rule: PartitionableSlots, candidates: NDArray[np.bool_], held: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The slots to divide: partitionable candidates that are not claimed as a whole."""
    divided = candidates & ~held & evaluate_in_columns("PartitionableSlot", ads, {}).is_true()
    if rule == "whole" and divided.any():
        divided &= consumption_policies(ads)
    return divided


def jobs_in_slot(ads: AdColumns, slot: int, job: Ad) -> int:
    """The number of identical jobs for which a whole slot, partitionable or not, has cores and memory; at least 1."""
    rows = np.array([slot], np.intp)
    fits = [np.inf]
    for name in ("Cpus", "Memory"):
        amount = _number(job, name)
        if amount > 0:
            fits.append(evaluate_in_columns(name, ads, {}, rows).as_rank(0.0)[0] // amount)
    return max(1, int(min(fits))) if min(fits) < np.inf else 1


def consumption_policies(ads: AdColumns) -> NDArray[np.bool_]:
    """The slots that define the consumption of each of their resources by a job (cp_supports_policy)."""
    supports = np.zeros(len(ads), np.bool_)
    listed = evaluate_in_columns("MachineResources", ads, {})
    needed: dict[str, NDArray[np.bool_]] = {}
    for row in np.flatnonzero(listed.kind != UNDEFINED_KIND).tolist():
        names = _names(listed.python(row))
        for name in names:
            if name not in needed:
                needed[name] = ads.has(f"Consumption{name}")
        supports[row] = bool(names) and all(needed[name][row] for name in names)
    return supports


def _names(listed: object) -> tuple[str, ...]:
    """The resources in MachineResources, except swap, which is never allocated."""
    if not isinstance(listed, str):
        return ()
    return tuple(name for name in listed.replace(",", " ").split() if name.isidentifier() and name.lower() != "swap")


def _number(job: Ad, resource: str) -> float:
    """A job's request of a resource; an expression counts as 0."""
    request = job.get(f"request{resource.lower()}", 1.0 if resource == "Cpus" else 0.0)
    return float(request) if isinstance(request, int | float) else 0.0


def _resources(ads: AdColumns) -> tuple[str, ...]:
    listed = evaluate_in_columns("MachineResources", ads, {})
    found = {name.lower(): name for name in _ALWAYS}
    if not ads.column("gpus").is_missing:
        found["gpus"] = GPUS
    for text in {listed.python(row) for row in range(len(ads)) if listed.kind[row] != UNDEFINED_KIND}:
        for name in _names(text):
            found.setdefault(name.lower(), name)
    return tuple(found.values())
