"""The jobs that satisfy a constraint; jobs with equal attributes are tested once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from fairq.common.expression_form import is_expression, may_read
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.evaluation.member_names import UnknownNames
from fairq.steps.jobs.overlay import RUNNING_ATTRIBUTES, Overlay

if TYPE_CHECKING:
    from fairq.engine.classad import Expression

_SHORT: Final = 64


class Matcher:
    """Tests the jobs of *state* against *constraint*.

    Raises:
        ExpressionError: it does not parse.
        EvaluationBudgetError: evaluating it takes too long; from `parts`.
    """

    def __init__(self, state: State, constraint: str) -> None:
        """Parse *constraint*; a number other than 0 counts as true, as in HTCondor's tools."""
        from fairq.engine.classad import parse
        from fairq.engine.classad.library import evaluate_tree, to_ad, to_library, tree

        expression = parse(constraint)
        self._bounded = _Bounded(expression)
        self._known = _KnownValues(expression)
        self.unknown = UnknownNames(expression)
        self._state = state
        self._text = constraint.lower()
        self._tree = tree(constraint)
        self._evaluate = evaluate_tree
        self._to_ad = to_ad
        self._to_library = to_library
        self._overlay = Overlay(state)
        self._shared: dict[int, Ad] = {}
        self._shape: tuple[object, ...] = ()
        self._library_ad: Any = None
        self._shown: tuple[int, Ad] = (0, {})

    def load(self, ranges: Iterable[JobRange]) -> None:
        """Read the shared ads of *ranges* at once, which takes a fraction of the time."""
        self._shared |= jobs.ads(self._state, {job.ad_id for job in ranges} - self._shared.keys())

    def parts(self, job: JobRange) -> list[JobRange]:
        """Return the parts of *job* that satisfy the constraint; its shared ad is loaded."""
        overrides = {**job.overrides_for(job.first_proc), **job.attributes(), "ProcId": job.first_proc}
        overrides |= self._overlay.of(job, job.first_proc)
        ad = {**self._shared[job.ad_id], **overrides}
        key = self._known.key(ad, frozenset(() if len(job) == 1 else _varying(job)))
        known = None if key is None else self._known.values.get(key)
        if known is not None:
            self.unknown.see(ad)
            return [job] if known else []
        self._show(job, overrides)
        if key is not None:
            self._known.values[key] = self._is_true()
            return [job] if self._known.values[key] else []
        if len(job) == 1 or not self._sees_proc(job):
            return [job] if self._is_true() else []
        result: list[JobRange] = []
        for proc in range(job.first_proc, job.last_proc + 1):
            overrides = {**job.overrides_for(proc), "ProcId": proc}
            self._show(job, overrides | self._overlay.of(job, proc), again=True)
            if self._is_true():
                if result and result[-1].last_proc == proc - 1:
                    result[-1].last_proc = proc
                else:
                    result.append(replace(job, first_proc=proc, last_proc=proc))
        return result

    def _show(self, job: JobRange, overrides: Ad, *, again: bool = False) -> None:
        """Update the library's ad to one proc of *job*; most attributes are unchanged from the last proc."""
        self._shown = job.ad_id, overrides
        shape = (job.ad_id, *overrides)
        if not again and shape != self._shape:
            ad = {**self._shared[job.ad_id], **overrides}
            self._library_ad = self._to_ad(ad)
            self.unknown.see(ad)
            self._shape = shape
            return
        for name, value in overrides.items():
            self._library_ad[name] = self._to_library(value)

    def _sees_proc(self, job: JobRange) -> bool:
        """Return whether the constraint can differ for jobs of a range, directly or through an attribute."""
        varying = _varying(job)
        values = [*self._shared[job.ad_id].values(), *job.overrides_for(job.first_proc).values()]
        texts = [self._text, *map(str.lower, filter(is_expression, values))]
        return any(name in text for name in varying for text in texts)

    def _is_true(self) -> bool:
        ad_id, overrides = self._shown
        value = self._bounded.value(
            self._shared[ad_id], overrides, ad_id, lambda: self._evaluate(self._tree, self._library_ad, None)
        )
        return isinstance(value, bool | int | float) and bool(value)


def _varying(job: JobRange) -> set[str]:
    """Return the lower-case names of the attributes that may differ between the jobs of a range."""
    running = RUNNING_ATTRIBUTES if job.status == JobStatus.RUNNING else ()
    return {name.lower() for name in ("ProcId", *(job.template or ()), *running)}


class _KnownValues:
    """Results of the constraint by the attributes that decide it, if these are plain values."""

    def __init__(self, expression: Expression) -> None:
        from fairq.engine.classad.scalar import names_deciding

        self.values: dict[tuple[object, ...], bool] = {}
        self._names = names_deciding(expression)
        self._spelled: dict[tuple[str, ...], tuple[str, ...] | None] = {}

    def key(self, ad: Ad, varying: Collection[str]) -> tuple[object, ...] | None:
        """Return the values that decide the constraint for *ad*; None if unknown or if *varying* attributes matter."""
        if self._names is None or not self._names.isdisjoint(varying):
            return None
        names = tuple(ad)
        if names not in self._spelled:
            self._spelled[names] = self._read(names)
        read = self._spelled[names]
        if read is None:
            return None
        values = [ad[name] for name in read]
        # 1, 1.0 and true are equal in Python, and not in an expression.
        return (read, *map(type, values), *values) if not any(map(may_read, values)) else None

    def _read(self, names: Iterable[str]) -> tuple[str, ...] | None:
        from fairq.engine.classad.references import RESERVED

        lowered = [name.lower() for name in names]
        assert self._names is not None
        # An attribute with the name of a scope, such as Other, hides that scope; of two spellings, one is read.
        if not RESERVED.isdisjoint(lowered) or len(set(lowered)) < len(lowered):
            return None
        return tuple(name for name, lower in zip(names, lowered, strict=True) if lower in self._names)


class _Bounded:
    """Limits the evaluation of a constraint to the budget of a listing."""

    def __init__(self, expression: Expression) -> None:
        from fairq.steps.evaluation.budget import listing_budget

        self._expression = expression
        self._budget = listing_budget()
        self._nodes: dict[tuple[object, ...], float] = {}
        self._unmetered = 0.0
        self._tested = 0
        self._start = self._budget.meter()

    def value(self, shared: Ad, overrides: Ad, key: int, evaluate: Callable[[], Any]) -> Any:
        """Return the value for the ad *shared*, known by *key*, with *overrides*.

        An expensive evaluation runs with a budget in place of *evaluate*, which has none.
        """
        from fairq.engine.classad import evaluate_scalar
        from fairq.engine.classad.costs import BATCH, UNGUARDED
        from fairq.engine.classad.scalar import FREE_PER_AD, nodes_of
        from fairq.steps.evaluation.budget import check, overrun

        # Other differences between jobs that share an ad (numbers and short strings) do not matter for the cost.
        long = (value for value in overrides.values() if isinstance(value, str) and len(value) > _SHORT)
        shape = (key, *overrides, *long)
        nodes = self._nodes.get(shape)
        if nodes is None:
            nodes = self._nodes[shape] = nodes_of(self._expression, {**shared, **overrides})
        if nodes > UNGUARDED:
            value = evaluate_scalar(self._expression, {**shared, **overrides}, budget=self._budget)
            check(self._budget)
            return value
        self._tested += 1
        self._unmetered += nodes
        if self._unmetered > BATCH:
            self._unmetered = 0.0
            if self._budget.meter() - self._start > self._budget.seconds + FREE_PER_AD * self._tested:
                raise overrun(self._expression.text, self._budget)
        return evaluate()
