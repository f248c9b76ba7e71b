"""Results computed once for all jobs that agree in the attributes read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct, field

from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    attributes_read,
    columns_read,
    expression_of,
)
from fairq.engine.classad.references import closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.expression_form import is_expression, may_read
from fairq.records import Ad

Result = TypeVar("Result")

_CYCLES = 32
"""For so many different values of what is read, results are at hand by autocluster."""


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


ContextNow = Callable[[], RequestContext]
"""Tells the context of a request at the moment: attributes such as SubmitterUserResourcesInUse change with matches."""


class LiveAttributes(Protocol):
    """Attributes of the slots that change within a cycle."""

    live: frozenset[str]
    """Their lower-case names."""
    version: int
    """Changes whenever they do."""

    def refresh(self) -> None:
        """Bring them up to date."""


class Facts(Struct, Generic[Result]):
    """What is known of an evaluation for slots with certain attributes and expressions, whatever values they have.

    Args:
        by_slots: the job attributes that the slots' side reads, and whether it reads slot attributes that change.
        keys: by autocluster, the values of the attributes read, and the names of those that change in the cycle.
        follow: by autocluster, whether slot attributes that change within the cycle are read.
        columns: by the job's expressions, the slot attributes read, in order; None: a result is valid only once.
        columns_of: the same by autocluster.
        results: results by the values of all that they were computed from.
        read: by autocluster, what *columns* tells of it, if its results stay the same within a cycle.
        settled: by that and the values of the slots, the result for each autocluster; of the last few cycles.
    """

    by_slots: tuple[frozenset[str], bool] | None = None
    keys: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    follow: dict[int, bool] = field(default_factory=dict)
    columns: dict[Hashable, tuple[tuple[str, ...], bool] | None] = field(default_factory=dict)
    columns_of: dict[int, tuple[tuple[str, ...], bool] | None] = field(default_factory=dict)
    results: dict[Hashable, Result] = field(default_factory=dict)
    read: dict[int, tuple[tuple[str, ...], bool]] = field(default_factory=dict)
    settled: dict[Hashable, dict[int, Result]] = field(default_factory=dict)


class Remembering(Protocol):
    """The memory of several cycles (`memory.Scene`)."""

    def facts(self, role: str, live: frozenset[str] | None) -> Facts[Any]:
        """What earlier cycles found out about the evaluation *role*."""

    def mark(self, slots: AdColumns, names: Iterable[str]) -> Hashable:
        """A key that is equal only for slots with equal values of the attributes *names*."""


class Recall(NamedTuple):
    """Where earlier cycles are known: the evaluation *role*; what results depend on *besides* jobs and slots.

    *keeps_results*: otherwise, only what is read is kept.
    """

    memory: Remembering
    role: str
    besides: Hashable = None
    keeps_results: bool = True


def expressions_key(job: Mapping[str, Any]) -> Hashable:
    """A key that is equal only for jobs with equal values of all attributes that may read others."""
    # Nested values cannot be keys.
    return tuple([(name, str(value)) for name, value in job.items() if may_read(value)])


class ExpressionCache(Generic[Result]):
    """Results of one evaluation, by the values of the job attributes that it reads.

    Args:
        make: computes a result for a context.
        slots: the slots' ads.
        of_job: names of the job's own attributes that are evaluated.
        of_slots: expressions evaluated on the slots' side with the job as the other ad.
        changing: attributes of the slots that change; results that read them are renewed.
        recall: where to look first for results that read no such attribute; None: they are not known.
    """

    def __init__(
        self,
        make: Callable[[RequestContext], Result],
        slots: AdColumns,
        of_job: Sequence[str],
        of_slots: Sequence[Expression],
        changing: LiveAttributes | None = None,
        recall: Recall | None = None,
    ) -> None:
        self._make = make
        self._slots = slots
        self._of_job = of_job
        self._of_slots = of_slots
        self._changing = changing
        self._recall = recall
        live = None if changing is None else changing.live
        self._facts: Facts[Result] = Facts() if recall is None else recall.memory.facts(recall.role, live)
        if self._facts.by_slots is None:
            changes = False
            if live is not None:
                changes = bool(columns_read(of_slots, "target", slots) & (live | {EVERY_ATTRIBUTE}))
            self._facts.by_slots = attributes_read(of_slots, "target", slots), changes
        self.read_by_slots, self._slots_read_changing = self._facts.by_slots
        """The job attributes that the slots' side reads."""
        self._follow, self._keys = self._facts.follow, self._facts.keys
        self._marks: dict[tuple[str, ...], Hashable] = {}
        self._shared: dict[tuple[tuple[str, ...], bool], dict[int, Result]] = {}
        self._known_to_follow: dict[str, bool] = {}
        self._read_by_job: dict[str, frozenset[str]] = {}
        self._settled: dict[int, Result] = {}
        """By autocluster, where nothing that is read changes within the cycle."""
        self._results: dict[Any, Result] = {}
        self._own: dict[tuple[int, Any], Result] = {}

    def get(self, context: RequestContext) -> Result:
        """Return the result for *context*, computed at most once for equal values."""
        settled = self.settled(context.autocluster)
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
            read = self._facts.read.get(context.autocluster)
            if read is not None and (context.autocluster, key) not in self._own:
                self._of_cycles(read)[context.autocluster] = result
        return result

    def settled(self, autocluster: int) -> Result | None:
        """Return the result for an autocluster if it is known, and the same for everybody to the end of the cycle."""
        result = self._settled.get(autocluster)
        if result is None and (read := self._facts.read.get(autocluster)) is not None:
            result = self._of_cycles(read).get(autocluster)
            if result is not None:
                self._settled[autocluster] = result
        return result

    def _of_cycles(self, read: tuple[tuple[str, ...], bool]) -> dict[int, Result]:
        """The settled results of all cycles in which what is *read* has the same values."""
        shared = self._shared.get(read)
        if shared is None:
            settled = self._facts.settled
            shared = self._shared[read] = settled.setdefault(self._values_of(read), {})
            if len(settled) > _CYCLES:
                del settled[next(iter(settled))]
        return shared

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
        recalls = self._recall is not None and self._recall.keeps_results
        known = self._known_by(context, key) if recalls and not self._follow[context.autocluster] else None
        if known is not None and (recalled := self._facts.results.get(known)) is not None:
            self._results[key] = recalled
            return recalled
        budget = self._slots.budget
        before = 0 if budget is None else budget.cut_short
        result = self._make(context)
        if budget is not None and budget.cut_short > before:
            self._own[context.autocluster, key] = result
        else:
            self._results[key] = result
            if known is not None:
                self._facts.results[known] = result
        return result

    def _known_by(self, context: RequestContext, key: Any) -> Hashable:
        """The key of a result for several cycles: all that it is computed from; None if that cannot be told."""
        assert self._recall is not None
        facts = self._facts
        if context.autocluster not in facts.columns_of:
            texts = expressions_key(context.job)
            if texts not in facts.columns:
                facts.columns[texts] = self._columns_read(context.job)
            facts.columns_of[context.autocluster] = facts.columns[texts]
        read = facts.columns_of[context.autocluster]
        if read is None:
            return None
        if not self._keys[context.autocluster][1]:
            self._facts.read[context.autocluster] = read
        return key, self._values_of(read)

    def _values_of(self, read: tuple[tuple[str, ...], bool]) -> Hashable:
        """A key that is equal only where all that is *read*, but for the job, has equal values."""
        assert self._recall is not None
        names, clock = read
        mark = self._marks.get(names)
        if mark is None:
            mark = self._marks[names] = self._recall.memory.mark(self._slots, names)
        return names, mark, self._slots.now if clock else None, self._recall.besides

    def _columns_read(self, job: Ad) -> tuple[tuple[str, ...], bool] | None:
        """The slot attributes read for *job*, and whether the time matters; None if values do not tell the result."""
        own = [(Side.AD, expression_of(job[name]).node) for name in self._of_job if is_expression(job.get(name))]
        start = [*own, *((Side.COLUMNS, of.node) for of in self._of_slots)]
        found = closure(start, UnknownAd([job], self._slots))
        if found.everything or found.draws:
            return None
        return tuple(sorted(found.names(Side.COLUMNS))), found.clock

    def _key(self, context: RequestContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The values of the attributes read, and the names of those that change in the cycle."""
        job = context.job
        names = set(self.read_by_slots) | set(self._of_job)
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
