"""Dominant shares: a match weighs as much as its largest share of any resource of the pool.

Ghodsi and others, Dominant Resource Fairness, NSDI 2011; docs/scarce.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, Expression, evaluate_in_columns
from fairq.engine.classad.kinds import UNDEFINED_KIND
from fairq.engine.slot_names import SlotNames

CORES = "Cpus"

_USUAL = ("Memory", "GPUs")

_NOT_SCARCE = frozenset({"disk", "swap"})

_MAX_AMOUNT = 1e100
"""Maximum valid amount, so that sums remain finite."""

Numbers = NDArray[np.float64]


class Price(Struct, frozen=True):
    """The value of a unit of a *resource* on the slots for which *constraint* is true (None: on all)."""

    resource: str
    price: float
    constraint: Expression | None = None


class Dominance(Struct, frozen=True):
    """The weight of resources.

    Args:
        chosen: the resources that count besides the cores; empty: memory, GPUs and the custom resources of the slots.
        prices: for a resource and a slot, the first price whose constraint holds counts; without one, the price is 1.
        units: the weight of one unit of each resource at price 1, cores first; empty until `of_pool` sets it.
            The whole pool's amount of each resource weighs as much as its cores.
        cheapest: by lower-case resource, the smallest price in the pool.
    """

    chosen: tuple[str, ...] = ()
    prices: Sequence[Price] = ()
    units: Mapping[str, float] = field(default_factory=dict)
    cheapest: Mapping[str, float] = field(default_factory=dict)

    def of_pool(self, slots: AdColumns, counted: NDArray[np.bool_]) -> Dominance:
        """Return these rules with the units and smallest prices of a pool, over the *counted* slots."""
        cores = float(_amounts(CORES, slots, None)[counted].sum())
        units, cheapest = dict[str, float](), dict[str, float]()
        for name in dict.fromkeys((CORES, *(self.chosen or (*_USUAL, *_custom(slots))))):
            amounts, prices = _amounts(name, slots, None)[counted], self._prices(name, slots, None)[counted]
            total = float((amounts * prices).sum())
            units[name] = cores / total if total > 0 else 0.0
            cheapest[name.lower()] = float(prices[amounts > 0].min(initial=np.inf)) if total > 0 else 1.0
        return replace(self, units=units, cheapest=cheapest)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of the pool that count, cores first."""
        return tuple(self.units)

    def weights(self, slots: AdColumns, rows: NDArray[np.intp] | None = None) -> Numbers:
        """Return the weight of each resource in every slot, or in *rows*: one row per resource."""
        rates = self.rates(slots, self.resources, rows)
        return np.array([_amounts(name, slots, rows) for name in self.resources]) * rates

    def rates(self, slots: AdColumns, resources: Sequence[str], rows: NDArray[np.intp] | None = None) -> Numbers:
        """Return the weight of a unit of each of *resources* (0: it does not count) in every slot, or in *rows*."""
        units = self._by_key()
        return np.array([units.get(name.lower(), 0.0) * self._prices(name, slots, rows) for name in resources])

    def of_request(self, amounts: Mapping[str, float]) -> Numbers:
        """Return the weight of each resource in a request of these *amounts*, at the smallest prices."""
        requested = {name.lower(): amount for name, amount in amounts.items()}
        return np.array(
            [unit * self.cheapest[key] * requested.get(key, 0.0) for key, unit in self._by_key().items()], np.float64
        )

    def name(self, weights: Numbers) -> str | None:
        """Return the resource with the largest of *weights* (as in `resources`), None if all are 0."""
        return self.resources[int(weights.argmax())] if weights.any() else None

    def _by_key(self) -> dict[str, float]:
        return {name.lower(): unit for name, unit in self.units.items()}

    def _prices(self, resource: str, slots: AdColumns, rows: NDArray[np.intp] | None) -> Numbers:
        prices = np.ones(len(slots) if rows is None else len(rows))
        for price in reversed(self.prices):
            if price.resource.lower() != resource.lower():
                continue
            if price.constraint is None:
                prices[:] = price.price
            else:
                prices[evaluate_in_columns(price.constraint, slots, {}, rows).is_true()] = price.price
        return prices


def used_by(users: SlotNames, rows: Numbers) -> dict[str, Numbers]:
    """Return the weight of each resource that each user holds; *rows* is the weight of each resource in every slot."""
    held = np.flatnonzero(users.codes >= 0)
    used = np.zeros((len(users.distinct), len(rows)))
    np.add.at(used, users.codes[held], rows[:, held].T)
    return dict(zip(users.distinct, used, strict=True))


class DominantResources:
    """Finds the dominant resource of matches and submitters; *slots* and *users* are those at the start of a cycle."""

    def __init__(self, dominant: Dominance, slots: AdColumns, users: SlotNames) -> None:
        self._dominant, self._rows = dominant, dominant.weights(slots)
        self._rates = dominant.rates(slots, dominant.resources)
        self._used = used_by(users, self._rows)

    def of(self, slots: Sequence[int], amounts: Mapping[str, float] | None) -> Numbers:
        """Return the weight of each resource in all of *slots*, or in the *amounts* carved out of one."""
        if amounts is None:
            return np.asarray(self._rows[:, slots].sum(axis=1))
        carved = {name.lower(): amount for name, amount in amounts.items()}
        carved_amounts = [carved.get(name.lower(), 0.0) for name in self._dominant.resources]
        return np.array(carved_amounts, np.float64) * self._rates[:, slots[0]]

    def add(self, submitter: str, weights: Numbers) -> None:
        """Add what a submitter uses of each resource."""
        self._used[submitter] = self._used.get(submitter, 0.0) + weights

    def of_match(self, slot: int, amounts: Mapping[str, float] | None) -> str | None:
        """Return the dominant resource of a match with all of a *slot*, or with the *amounts* carved out of it."""
        return self._dominant.name(self.of([slot], amounts))

    def of_job(self, ad: Ad) -> tuple[str | None, float]:
        """Return the dominant resource of what a job (names in lower case) requests, and its weight."""
        requests = {name: ad.get(f"request{name.lower()}", name == CORES) for name in self._dominant.resources}
        numbers = {name: float(amount) for name, amount in requests.items() if isinstance(amount, int | float)}
        weights = self._dominant.of_request(numbers)
        return self._dominant.name(weights), float(weights.max())

    @property
    def of_submitters(self) -> dict[str, str]:
        """The dominant resource of each submitter that uses any."""
        names = {submitter: self._dominant.name(used) for submitter, used in sorted(self._used.items())}
        return {submitter: name for submitter, name in names.items() if name is not None}


def _amounts(name: str, slots: AdColumns, rows: NDArray[np.intp] | None) -> Numbers:
    amounts: Numbers = evaluate_in_columns(name, slots, {}, rows).as_rank(0.0)
    return np.where((amounts > 0) & (amounts <= _MAX_AMOUNT), amounts, 0.0)


def _custom(slots: AdColumns) -> list[str]:
    """Return the resources that slots list, except the usual ones and those that are seldom scarce."""
    listed = evaluate_in_columns("MachineResources", slots, {})
    texts = {listed.python(row) for row in np.flatnonzero(listed.kind != UNDEFINED_KIND).tolist()}
    names = {name.lower(): name for text in sorted(map(str, texts)) for name in text.replace(",", " ").split()}
    excluded = _NOT_SCARCE | {name.lower() for name in (CORES, *_USUAL)}
    return [name for lower, name in names.items() if lower not in excluded and name.isidentifier()]
