"""Results computed once for all jobs that agree in the attributes read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    attributes_read,
    columns_read,
    expression_of,
)
from fairq.expression_form import is_expression
from fairq.records import Ad

Result = TypeVar("Result")


class RequestContext(Struct, frozen=True):
    """A request for a slot: an autocluster and the attributes that the cycle adds.

    Args:
        autocluster: its number.
        job: one ad of the autocluster, names in lower case.
        submitter: the submitter of the job.
        priority: the submitter's effective priority.
        ephemeral: attributes that exist only during negotiation, names in lower case (docs/htcondor.md 3.11).
    """

    autocluster: int
    job: Ad
    submitter: str
    priority: float
    ephemeral: Ad = field(default_factory=dict)

    def ad(self) -> Ad:
        """The job's ad as the expressions see it."""
        return {**self.job, **self.ephemeral}


class LiveAttributes(Protocol):
    """Attributes of the slots that change within a cycle."""

    live: frozenset[str]
    """Their lower-case names."""
    version: int
    """Changes whenever they do."""

    def refresh(self) -> None:
        """Bring them up to date."""


class ExpressionCache(Generic[Result]):
    """Results of one evaluation, by the values of the job attributes that it reads.

    Args:
        make: computes a result for a context.
        slots: the slots' ads.
        of_job: names of the job's own attributes that are evaluated.
        of_slots: expressions evaluated on the slots' side with the job as the other ad.
        changing: attributes of the slots that change; results that read them are renewed.
    """

    def __init__(
        self,
        make: Callable[[RequestContext], Result],
        slots: AdColumns,
        of_job: Sequence[str],
        of_slots: Sequence[Expression],
        changing: LiveAttributes | None = None,
    ) -> None:
        self._make = make
        self._slots = slots
        self._of_job = of_job
        self._read_by_slots = attributes_read(of_slots, "target", slots)
        self._changing = changing
        self._slots_read_changing = False
        if changing is not None:
            read = columns_read(of_slots, "target", slots)
            self._slots_read_changing = bool(read & (changing.live | {EVERY_ATTRIBUTE}))
        self._follow: dict[int, bool] = {}
        self._known_to_follow: dict[str, bool] = {}
        self._read_by_job: dict[str, frozenset[str]] = {}
        self._keys: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._settled: dict[int, Result] = {}
        """By autocluster, where nothing that is read changes within the cycle."""
        self._results: dict[Any, Result] = {}
        self._own: dict[tuple[int, Any], Result] = {}

    def get(self, context: RequestContext) -> Result:
        """Return the result for *context*, computed at most once for equal values."""
        settled = self._settled.get(context.autocluster)
        if settled is not None:
            return settled
        known = self._keys.get(context.autocluster)
        if known is None:
            known = self._keys[context.autocluster] = self._key(context)
        values, live = known
        key = (values, *(context.ephemeral[name] for name in live)) if live else values
        if self._changing is not None and self._follow[context.autocluster]:
            self._changing.refresh()
            key = (key, self._changing.version)
        result = self._results.get(key)
        if result is None:
            result = self._own.get((context.autocluster, key))
        if result is None:
            result = self._new(context, key)
        if not live and not self._follow[context.autocluster]:
            self._settled[context.autocluster] = result
        return result

    def is_settled(self, context: RequestContext) -> bool:
        """Whether the result for the autocluster of *context* is the same for everybody, to the end of the cycle."""
        self.get(context)
        return context.autocluster in self._settled

    def forget(self) -> None:
        """Drop all results; they are computed again when needed."""
        self._settled.clear()
        self._results.clear()
        self._own.clear()

    def _new(self, context: RequestContext, key: Any) -> Result:
        """Compute a result and store it; only for the context's autocluster if a budget ended the evaluation."""
        budget = self._slots.budget
        before = 0 if budget is None else budget.cut_short
        result = self._make(context)
        if budget is not None and budget.cut_short > before:
            self._own[context.autocluster, key] = result
        else:
            self._results[key] = result
        return result

    def _key(self, context: RequestContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The values of the attributes read, and the names of those that change in the cycle."""
        job = context.job
        names = set(self._read_by_slots) | set(self._of_job)
        todo = list(names)
        while todo:
            value = job.get(todo.pop())
            if is_expression(value):
                read = self._read_by_job.get(value)
                if read is None:
                    read = self._read_by_job[value] = attributes_read([expression_of(value)], "my", self._slots)
                new = read - names
                names |= new
                todo += new
        if EVERY_ATTRIBUTE in names:
            names |= job.keys() | context.ephemeral.keys()
        self._follow[context.autocluster] = self._slots_read_changing or self._job_reads_changing(context, names)
        live = tuple(sorted(names & context.ephemeral.keys()))
        return tuple(f"{name}={job[name]!r}" for name in sorted(names) if name in job), live

    def _job_reads_changing(self, context: RequestContext, names: Iterable[str]) -> bool:
        """Whether any of the job's own attributes *names* reads an attribute of the slots that changes."""
        if self._changing is None:
            return False
        values = (context.job.get(name) for name in names)
        texts = set(filter(is_expression, values))
        for text in texts - self._known_to_follow.keys():
            read = columns_read([expression_of(text)], "my", self._slots)
            self._known_to_follow[text] = bool(read & (self._changing.live | {EVERY_ATTRIBUTE}))
        return any(self._known_to_follow[text] for text in texts)
