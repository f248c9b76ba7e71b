"""The requests of a job to a partitionable slot, raised as a startd raises them (docs/htcondor.md 3.14)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.expression_form import may_read
from fairq.common.records import Ad
from fairq.engine.classad import UNDEFINED, AdColumns, Expression, evaluate_in_ad, expression_of, parse
from fairq.engine.classad.kinds import UNDEFINED_KIND
from fairq.engine.classad.scalar import names_deciding

DEFAULT_REQUEST = {"cpus": 1.0}
"""Default requests of a job; 0 for other resources."""

CORES, MODIFIED = 1, 3
"""Number of resources, in their order, that are raised for the match, and that are raised when a slot is carved."""

_STEPS = re.compile(r"quantize\(\s*(?:MY\.)?(\w+)\s*,\s*\{\s*(\d{1,15})\s*\}\s*\)", re.IGNORECASE)

Amounts = NDArray[np.float64]

Rows = NDArray[np.intp]


def default_modifications() -> dict[str, Expression]:
    """Return HTCondor's defaults by lower-case resource: whole cores, memory in 128 MB, disk in 1,024 KB."""
    steps = {"cpus": 1, "memory": 128, "disk": 1024}
    return {name: parse(f"quantize(Request{name.capitalize()}, {{{step}}})") for name, step in steps.items()}


class FixedAmounts(Struct, frozen=True):
    """The amounts of every resource if they are the same on all slots: *requested*, with whole cores, and *raised*."""

    requested: tuple[float, ...]
    raised: tuple[float, ...]


class Requests:
    """Computes the requests of jobs for the *resources* of a cycle's partitionable slots, Cpus first.

    *modifications* are the expressions that raise a request, by resource in lower case.
    """

    def __init__(self, resources: Sequence[str], modifications: Mapping[str, Expression]) -> None:
        self._attributes = [f"request{name.lower()}" for name in resources]
        self._defaults = [DEFAULT_REQUEST.get(name.lower(), 0.0) for name in resources]
        self._modifications = [modifications.get(name.lower()) for name in resources]
        self._steps = [_step(*pair) for pair in zip(self._modifications, self._attributes, strict=True)]

    def fixed_amounts(self, job: Ad) -> FixedAmounts | None:
        """Return the amounts that a job (names in lower case) takes, None if they may depend on the slot."""
        requests = [job.get(name, default) for name, default in zip(self._attributes, self._defaults, strict=True)]
        if not all(isinstance(amount, int | float) for amount in requests):
            return None
        if not all(self._is_raise_fixed(number, job) for number in range(MODIFIED)):
            return None
        no_slot, row = AdColumns([{}]), np.zeros(1, np.intp)
        requested = self.requested(job, no_slot, row)
        raised = self.raised(job, requested, no_slot, row)
        return FixedAmounts(tuple(requested[:, 0].tolist()), tuple(raised[:, 0].tolist()))

    def requested(self, job: Ad, ads: AdColumns, parts: Rows) -> Amounts:
        """Return the amounts that a job requests of each of *parts*, with whole cores; infinite if not a number."""
        amounts = np.zeros((len(self._attributes), len(parts)))
        for number, (name, default) in enumerate(zip(self._attributes, self._defaults, strict=True)):
            request = job.get(name, UNDEFINED)
            if request is UNDEFINED:
                amounts[number] = default
            elif isinstance(request, int | float):
                amounts[number] = float(request)
            else:
                values = evaluate_in_ad(expression_of(request), job, ads, parts)
                amounts[number] = np.where(values.kind == UNDEFINED_KIND, default, values.as_rank(np.inf))
        cores = amounts[0]
        amounts[0] = np.where(cores < 0, cores, whole_cores(self._raised(0, job, cores, ads, parts)))
        return amounts

    def raised(self, job: Ad, requested: Amounts, ads: AdColumns, parts: Rows) -> Amounts:
        """Return the amounts *requested* of *parts*, with memory and disk raised to what a startd carves."""
        amounts = requested.copy()
        for number in range(CORES, MODIFIED):
            amounts[number] = self._raised(number, job, requested[number], ads, parts)
        return amounts

    def with_requests(self, job: Ad, amounts: Sequence[float]) -> Ad:
        """Return the job with *amounts* of the first resources as its requests, as far as it has such requests."""
        changed: Ad = {}
        for name, amount in zip(self._attributes, amounts, strict=False):
            request = job.get(name, amount)
            if request != amount:
                changed[name] = int(amount) if amount.is_integer() else amount
        return {**job, **changed} if changed else job

    def _is_raise_fixed(self, number: int, job: Ad) -> bool:
        """Return whether a request is raised in the same way on all slots."""
        modification = self._modifications[number]
        if modification is None or self._steps[number] is not None:
            return True
        names = names_deciding(modification)
        return names is not None and not any(may_read(job[name]) for name in names if name in job)

    def _raised(self, number: int, job: Ad, requested: NDArray[np.float64], ads: AdColumns, parts: Rows) -> Amounts:
        modification, step = self._modifications[number], self._steps[number]
        if step is not None:
            return np.maximum(np.ceil(requested / step) * step, step)
        raised = requested.copy()
        if modification is not None:
            for amount in np.unique(requested[np.isfinite(requested)]).tolist():
                equal = np.flatnonzero(requested == amount)
                job_with_amount = {**job, self._attributes[number]: amount}
                values = evaluate_in_ad(modification, job_with_amount, ads, parts[equal]).as_rank(np.nan)
                raised[equal] = np.where(np.isfinite(values) & (values > 0), values, amount)
        return raised


def whole_cores(amounts: NDArray[np.float64]) -> Amounts:
    """Round numbers of cores up to whole ones, at least 1; not-a-number is kept."""
    return np.ceil(np.maximum(amounts, 1.0))


def price(before: NDArray[np.float64], after: NDArray[np.float64], share: NDArray[np.float64]) -> Amounts:
    """Return how much a match lowers a slot's weight; if it does not, its *share* of it: no match is free."""
    lost = np.maximum(before - after, 0.0)
    return np.where(lost > 0, lost, before * share)


def _step(modification: Expression | None, attribute: str) -> float | None:
    """Return the step of an expression that rounds *attribute* up to a multiple, None for other expressions."""
    match = None if modification is None else _STEPS.fullmatch(modification.text.strip())
    return float(match[2]) if match and match[1].lower() == attribute and int(match[2]) > 0 else None
