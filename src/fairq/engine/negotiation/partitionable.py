"""The partitionable slots of a cycle that may be matched more than once, and what remains of each.

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
from fairq.engine.negotiation.requests import (
    CORES,
    MODIFIED,
    FixedAmounts,
    Requests,
    default_modifications,
    whole_cores,
)

_ALWAYS = ("Cpus", "Memory", "Disk")
"""Resources of every slot, even if its MachineResources omits them."""

_MEMORY = 1

GPUS = "GPUs"

_NAMING = ("assignedgpus", "availablegpus")


class Partitions:
    """Partitionable slots that are divided, and what remains of every resource in each.

    These slots are numbered from 0 in pool order, as *parts*; `rows` are their indices in the pool. Arrays have a row
    per resource, in the order of `resources`; a missing resource (not in `has`) counts as 0.

    Args:
        ads: all slots of the pool.
        divided: per slot, whether it is divided.
        rule: how slots are divided; under ``whole``, a slot without a claim left is a candidate until it is chosen.
        modifications: the expressions that raise requests, by resource; None: HTCondor's defaults.
        dominant: the weights of resources, if a match weighs as much as its largest share of one.
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
        self.has = np.array([column.kind != UNDEFINED_KIND for column in values], np.bool_).reshape(shape)
        self.remaining = np.array([column.as_rank(0.0) for column in values], np.float64).reshape(shape)
        self._cores = self.remaining[0].copy()
        self.has_policy = consumption_policies(self.ads)
        self._any_policy = bool(self.has_policy.any())
        self.claims = np.full(len(self.rows), np.inf)
        """The number of matches each part can still have: a slot with a consumption policy advertises its claims."""
        if self._any_policy:
            advertised = evaluate_in_columns("NumClaims", self.ads, {}).as_rank(np.inf)
            self.claims[self.has_policy] = advertised[self.has_policy]
            if self._needs_claim:
                self.remaining[:, self.claims <= 0] = 0.0
        self.request_rules = Requests(
            self.resources, default_modifications() if modifications is None else modifications
        )
        self.changed: list[int] = []
        self.is_changed = np.zeros(len(self.rows), np.bool_)
        self._shown: int | None = None
        """The number of changes that `ads` show; None: they show other amounts."""
        self._proposed: tuple[int, Carving, NDArray[np.float64], Ad] | None = None
        self.binds_gpus = rule == "carve" and GPUS in self.resources
        """Whether a match takes particular GPUs that its job requires, not only a number of them."""
        self._gpus: dict[int, Ad] = {}
        """For parts from which GPUs were taken: the attributes that name the remaining ones."""
        self._gpus_shown = True
        self._dominant = dominant
        self._rates = None if dominant is None else dominant.rates(self.ads, self.resources)
        """The weight of a unit of each resource in each part."""

    def requests(self) -> list[Expression]:
        """Return expressions that read what jobs request of the resources."""
        read = [f"Request{name}" for name in self.resources]
        return [parse(f"TARGET.{name}") for name in ([*read, "RequireGPUs"] if self.binds_gpus else read)]

    def amounts_of(self, job: Ad) -> FixedAmounts | None:
        """Return what a job (names in lower case) takes of each resource, None if it depends on the slot."""
        return None if self._any_policy else self.request_rules.fixed_amounts(job)

    def carved(
        self,
        requested: NDArray[np.float64],
        raised: NDArray[np.float64],
        suits: NDArray[np.bool_],
        remaining: NDArray[np.float64],
        parts: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Return the amounts to carve out of *parts*: *raised* ones where they remain and such a job *suits*.

        Elsewhere, they are those *requested* (per resource; per part, or one column for all). Memory and disk are then
        rounded up to whole units; if none was requested, they are what remains, up to the raised amount. A resource
        that a slot does not have is not raised.
        """
        raised = np.where(self.has[:, parts], raised, requested)
        fits = suits & (raised <= remaining).all(axis=0)
        amounts = np.where(fits, raised, requested)
        if not fits.all():
            raisable = slice(CORES, MODIFIED)
            whole_units = np.minimum(
                np.where(requested[raisable] > 0, np.ceil(requested[raisable]), raised[raisable]), remaining[raisable]
            )
            amounts[raisable] = np.where(fits, raised[raisable], np.maximum(whole_units, requested[raisable]))
        return amounts

    def share(self, amounts: NDArray[np.float64], parts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the fraction of its initial cores that each of *parts* loses with *amounts*."""
        shares: NDArray[np.float64] = amounts[0] / np.maximum(self._cores[parts], 1.0)
        return shares

    def dominant_price(self, amounts: NDArray[np.float64], parts: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the largest weight among the *amounts* carved out of each part, None if weights are not dominant."""
        if self._rates is None:
            return None
        largest: NDArray[np.float64] = (amounts * self._rates[:, parts]).max(axis=0)
        return largest

    def weights_left(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the remaining weight of each dominant resource in the slots *rows*."""
        assert self._dominant is not None and self._rates is not None
        parts = [self.parts[row] for row in rows.tolist()]
        weights_left = self.remaining[:, parts] * self._rates[:, parts]
        index_by_name = {name.lower(): index for index, name in enumerate(self.resources)}
        zeros = np.zeros(len(parts))
        indices = [index_by_name.get(name.lower()) for name in self._dominant.resources]
        return np.array([zeros if index is None else weights_left[index] for index in indices])

    def with_enough(self, amounts: tuple[float, ...]) -> NDArray[np.bool_]:
        """Return per part whether *amounts* remain of every resource; never if all are 0."""
        return self.suffices(np.array(amounts)[:, None], self.remaining, np.arange(len(self.rows)))

    def suffices(
        self, requested: NDArray[np.float64], remaining: NDArray[np.float64], parts: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return for each of *parts* whether *remaining* suffices for *requested*, and any memory remains."""
        some_memory = (remaining[_MEMORY] > 0) | ~self.has[_MEMORY, parts] | self.has_policy[parts]
        takes = (requested >= 0).all(axis=0) & (requested > 0).any(axis=0)
        enough: NDArray[np.bool_] = np.asarray((requested <= remaining).all(axis=0) & takes & some_memory)
        return enough

    def propose(
        self,
        part: int,
        cost: float,
        amounts: NDArray[np.float64],
        job: Ad,
        victims: tuple[int, ...] = (),
        returned: NDArray[np.float64] | None = None,
    ) -> None:
        """Set the next match of *part* with a *job*: *amounts* per resource, with the weight *cost*.

        Before it, its preempted dynamic slots *victims* return the amounts *returned*.
        """
        taken = {name: amount for name, amount in zip(self.resources, amounts.tolist(), strict=True) if amount}
        self._proposed = part, Carving(cost, taken, victims), amounts if returned is None else amounts - returned, job

    def carve(self, row: int) -> Carving | None:
        """Take the proposed part from the slot *row* of the pool; None if that slot is not divided."""
        if self._proposed is None or self.rows[self._proposed[0]] != row:
            return None
        part, carving, amounts, job = self._proposed
        self._proposed = None
        self.remaining[:, part] -= amounts
        self.claims[part] -= 1
        if self._needs_claim and self.claims[part] <= 0:
            self.remaining[:, part] = 0.0  # without a claim, no job can have what remains
        self._record_change(part)
        return self._with_gpus(part, carving, job)

    def _with_gpus(self, part: int, carving: Carving, job: Ad) -> Carving:
        """Take the first remaining GPUs that suit the job, as a startd does; return *carving* with them."""
        count = int(carving.amounts.get(GPUS, 0))
        if not count:
            return carving
        victims = (self._pool.json_ad(victim, ("assignedgpus",)) for victim in carving.victims)
        ad = with_gpus(self._gpus_of(part), [name for victim in victims for name in assigned_gpus(victim)])
        chosen = self._suitable_gpus(ad, job)[:count]
        if len(chosen) < count:
            return carving
        self._gpus[part] = without_gpus(ad, chosen)
        self._gpus_shown = not self.binds_gpus
        return replace(carving, gpus=tuple(chosen))

    def _suitable_gpus(self, ad: Ad, job: Ad) -> list[str]:
        return suitable_gpus(ad, available_gpus(ad), job, self.ads.now or 0)

    def _gpus_of(self, part: int) -> Ad:
        """Return the attributes of a part that name and describe its GPUs."""
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

    def withdraw(self, part: int) -> None:
        """Stop offering a slot in this cycle."""
        self.remaining[:, part] = 0.0
        self._record_change(part)

    def _record_change(self, part: int) -> None:
        self.changed.append(part)
        self.is_changed[part] = True

    def is_used_up(self, row: int) -> bool:
        """Return whether the slot *row* has no core left; a real machine then accepts no job."""
        return bool(self.remaining[0, self.parts[row]] <= 0)

    def least_piece(self, jobs: Sequence[Ad], policy: NegotiationPolicy) -> float:
        """Return the smallest possible weight of a match, which takes the smallest request for every resource.

        Infinite if no slot has that much.
        """
        smallest_requests = [min((_number(job, name) for job in jobs), default=np.inf) for name in self.resources]
        smallest_requests[0] = whole_cores(np.array(smallest_requests[:1])).item()
        amounts = np.array(smallest_requests, np.float64)[:, None]
        parts = np.flatnonzero((amounts <= self.remaining).all(axis=0))
        if not len(parts) or not policy.use_slot_weights:
            return 1.0 if len(parts) else float("inf")
        costs = self.dominant_price(amounts, parts)
        if costs is None:
            self.show()
            before = slot_weights(self.ads, policy, parts)
            self.show(self.remaining - amounts)
            costs = before - slot_weights(self.ads, policy, parts)
        return float(costs[costs > 0].min(initial=np.inf))

    def show(self, remaining: NDArray[np.float64] | None = None) -> None:
        """Make `ads` show *remaining* of each resource and part; None: what remains now."""
        change_count = len(self.changed) if remaining is None else None
        if change_count is not None and change_count == self._shown:
            return
        self._shown = change_count
        self._show_gpus()
        for number, name in enumerate(self.resources):
            self.ads.with_numbers(name, (self.remaining if remaining is None else remaining)[number], self.has[number])


def divided_slots(
    ads: AdColumns, rule: PartitionableSlots, candidates: NDArray[np.bool_], held: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return per slot whether to divide it: partitionable candidates that are not claimed as a whole."""
    divided = candidates & ~held & evaluate_in_columns("PartitionableSlot", ads, {}).is_true()
    if rule == "whole" and divided.any():
        divided &= consumption_policies(ads)
    return divided


def jobs_in_slot(ads: AdColumns, slot: int, job: Ad) -> int:
    """Return the number of identical jobs for which a slot has cores and memory; at least 1."""
    rows = np.array([slot], np.intp)
    fits = [np.inf]
    for name in ("Cpus", "Memory"):
        amount = _number(job, name)
        if amount > 0:
            fits.append(evaluate_in_columns(name, ads, {}, rows).as_rank(0.0)[0] // amount)
    return max(1, int(min(fits))) if min(fits) < np.inf else 1


def consumption_policies(ads: AdColumns) -> NDArray[np.bool_]:
    """Return per slot whether it defines a job's consumption of each of its resources (cp_supports_policy)."""
    supports = np.zeros(len(ads), np.bool_)
    listed = evaluate_in_columns("MachineResources", ads, {})
    defined: dict[str, NDArray[np.bool_]] = {}
    for row in np.flatnonzero(listed.kind != UNDEFINED_KIND).tolist():
        names = _names(listed.python(row))
        for name in names:
            if name not in defined:
                defined[name] = ads.has(f"Consumption{name}")
        supports[row] = bool(names) and all(defined[name][row] for name in names)
    return supports


def _names(listed: object) -> tuple[str, ...]:
    """Return the resources in MachineResources, except swap, which is never allocated."""
    if not isinstance(listed, str):
        return ()
    return tuple(name for name in listed.replace(",", " ").split() if name.isidentifier() and name.lower() != "swap")


def _number(job: Ad, resource: str) -> float:
    """Return a job's request of a resource; an expression counts as 0."""
    request = job.get(f"request{resource.lower()}", 1.0 if resource == "Cpus" else 0.0)
    return float(request) if isinstance(request, int | float) else 0.0


def _resources(ads: AdColumns) -> tuple[str, ...]:
    listed = evaluate_in_columns("MachineResources", ads, {})
    resources = {name.lower(): name for name in _ALWAYS}
    if not ads.column("gpus").is_missing:
        resources["gpus"] = GPUS
    for text in {listed.python(row) for row in range(len(ads)) if listed.kind[row] != UNDEFINED_KIND}:
        for name in _names(text):
            resources.setdefault(name.lower(), name)
    return tuple(resources.values())
