"""What a job requests of a partitionable slot, raised as a startd raises it (docs/htcondor.md 3.14)."""

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
"""Default requests of a job; for other resources, nothing."""

CORES, MODIFIED = 1, 3
"""Of the resources in their order, how many change for the match itself, and how many when a slot is carved."""

_STEPS = re.compile(r"quantize\(\s*(?:MY\.)?(\w+)\s*,\s*\{\s*(\d{1,15})\s*\}\s*\)", re.IGNORECASE)

Amounts = NDArray[np.float64]

Rows = NDArray[np.intp]


def default_modifications() -> dict[str, Expression]:
    """HTCondor's defaults, by resource in lower case: cores in ones, memory in 128 MB, disk in 1,024 KB."""
    steps = {"cpus": 1, "memory": 128, "disk": 1024}
    return {name: parse(f"quantize(Request{name.capitalize()}, {{{step}}})") for name, step in steps.items()}


class Alone(Struct, frozen=True):
    """The amounts of every resource if the job's ad alone tells them: *asked*, with whole cores, and *raised*."""

    asked: tuple[float, ...]
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

    def alone(self, job: Ad) -> Alone | None:
        """The amounts that a job (names in lower case) takes; None if a slot may have a say in them."""
        given = [job.get(name, default) for name, default in zip(self._attributes, self._defaults, strict=True)]
        if not all(isinstance(amount, int | float) for amount in given):
            return None
        if not all(self._is_raised_alone(number, job) for number in range(MODIFIED)):
            return None
        nowhere, one = AdColumns([{}]), np.zeros(1, np.intp)
        asked = self.asked(job, nowhere, one)
        raised = self.raised(job, asked, nowhere, one)
        return Alone(tuple(asked[:, 0].tolist()), tuple(raised[:, 0].tolist()))

    def asked(self, job: Ad, ads: AdColumns, parts: Rows) -> Amounts:
        """The amounts that a job asks of each of *parts*, with whole cores; infinite where it asks for no number."""
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

    def raised(self, job: Ad, asked: Amounts, ads: AdColumns, parts: Rows) -> Amounts:
        """The amounts *asked* of *parts* with memory and disk raised to what a startd carves."""
        amounts = asked.copy()
        for number in range(CORES, MODIFIED):
            amounts[number] = self._raised(number, job, asked[number], ads, parts)
        return amounts

    def shown(self, job: Ad, amounts: Sequence[float]) -> Ad:
        """The job with these *amounts*, of the first resources, as its requests, as far as it has requests."""
        changed: Ad = {}
        for name, amount in zip(self._attributes, amounts, strict=False):
            given = job.get(name, amount)
            if given != amount:
                changed[name] = int(amount) if amount.is_integer() else amount
        return {**job, **changed} if changed else job

    def _is_raised_alone(self, number: int, job: Ad) -> bool:
        """Whether the job's ad alone tells how a request is raised."""
        modification = self._modifications[number]
        if modification is None or self._steps[number] is not None:
            return True
        names = names_deciding(modification)
        return names is not None and not any(may_read(job[name]) for name in names if name in job)

    def _raised(self, number: int, job: Ad, asked: NDArray[np.float64], ads: AdColumns, parts: Rows) -> Amounts:
        modification, step = self._modifications[number], self._steps[number]
        if step is not None:
            return np.maximum(np.ceil(asked / step) * step, step)
        raised = asked.copy()
        if modification is not None:
            for amount in np.unique(asked[np.isfinite(asked)]).tolist():
                alike = np.flatnonzero(asked == amount)
                given = {**job, self._attributes[number]: amount}
                values = evaluate_in_ad(modification, given, ads, parts[alike]).as_rank(np.nan)
                raised[alike] = np.where(np.isfinite(values) & (values > 0), values, amount)
        return raised


def whole_cores(amounts: NDArray[np.float64]) -> Amounts:
    """Raise numbers of cores to whole ones, at least one; what is no number stays so."""
    return np.ceil(np.maximum(amounts, 1.0))


def price(before: NDArray[np.float64], after: NDArray[np.float64], share: NDArray[np.float64]) -> Amounts:
    """What a slot's weight loses by a match; if it loses nothing, the match's *share* of it: nothing is free."""
    lost = np.maximum(before - after, 0.0)
    return np.where(lost > 0, lost, before * share)


def _step(modification: Expression | None, attribute: str) -> float | None:
    """The step of an expression that rounds *attribute* up to a multiple, which needs no evaluation."""
    found = None if modification is None else _STEPS.fullmatch(modification.text.strip())
    return float(found[2]) if found and found[1].lower() == attribute and int(found[2]) > 0 else None
