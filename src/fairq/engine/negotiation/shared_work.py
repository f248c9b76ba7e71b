"""Work done once for all jobs that agree in the attributes it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fairq.engine.classad import EVERY_ATTRIBUTE, AdColumns, Expression, attributes_read, expression_of
from fairq.records import Ad

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a slot: a kind of job and the attributes that the cycle itself gives it.

    Args:
        autocluster: the number of the kind.
        job: one ad of that kind, names in lower case.
        submitter: whose job it is.
        priority: the submitter's effective priority.
        ephemeral: attributes that exist only during negotiation, names in lower case (reference 3.11).
    """

    autocluster: int
    job: Ad
    submitter: str
    priority: float
    ephemeral: Ad = field(default_factory=dict)

    def ad(self) -> Ad:
        """The job's ad as the expressions see it."""
        return {**self.job, **self.ephemeral}


class SharedWork(Generic[Result]):
    """Results of one evaluation, kept by the values of the job attributes that it reads.

    Args:
        make: works a result out for an asker.
        slots: the slots' ads.
        of_job: names of the job's own attributes that are evaluated.
        of_slots: expressions evaluated on the slots' side with the job as the other ad.
    """

    def __init__(
        self,
        make: Callable[[Asker], Result],
        slots: AdColumns,
        of_job: Sequence[str],
        of_slots: Sequence[Expression],
    ) -> None:
        self._make = make
        self._slots = slots
        self._of_job = of_job
        self._read_by_slots = attributes_read(of_slots, "target", slots)
        self._read_by_job: dict[str, frozenset[str]] = {}
        self._keys: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._results: dict[Any, Result] = {}

    def get(self, asker: Asker) -> Result:
        """Return the result for *asker*, worked out at most once for all who agree."""
        known = self._keys.get(asker.autocluster)
        if known is None:
            known = self._keys[asker.autocluster] = self._key(asker)
        values, live = known
        key = (values, *(asker.ephemeral[name] for name in live)) if live else values
        result = self._results.get(key)
        if result is None:
            result = self._results[key] = self._make(asker)
        return result

    def _key(self, asker: Asker) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The values of what is read, and the names of those read attributes that change in the cycle."""
        job = asker.job
        names = set(self._read_by_slots) | set(self._of_job)
        todo = list(names)
        while todo:
            value = job.get(todo.pop())
            if isinstance(value, str) and value.startswith("/Expr("):
                read = self._read_by_job.get(value)
                if read is None:
                    read = self._read_by_job[value] = attributes_read(
                        [expression_of(value)], "my", self._slots
                    )
                new = read - names
                names |= new
                todo += new
        if EVERY_ATTRIBUTE in names:
            names |= job.keys() | asker.ephemeral.keys()
        live = tuple(sorted(names & asker.ephemeral.keys()))
        return tuple(f"{name}={job[name]!r}" for name in sorted(names) if name in job), live
