"""The jobs that satisfy a constraint; jobs with equal attributes are tested once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from fairq.records import Ad, JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.evaluation.unknown import UnknownNames
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

    def parts(self, job: JobRange) -> list[JobRange]:
        """Return the parts of *job* that satisfy the constraint."""
        if job.ad_id not in self._shared:
            self._shared |= jobs.ads(self._state, [job.ad_id])
        self._show(job, {**job.overrides_for(job.first_proc), **job.attributes(), "ProcId": job.first_proc})
        if len(job) == 1 or not self._sees_proc(job):
            return [job] if self._is_true() else []
        result: list[JobRange] = []
        for proc in range(job.first_proc, job.last_proc + 1):
            self._show(job, {**job.overrides_for(proc), "ProcId": proc}, again=True)
            if self._is_true():
                if result and result[-1].last_proc == proc - 1:
                    result[-1].last_proc = proc
                else:
                    result.append(replace(job, first_proc=proc, last_proc=proc))
        return result

    def _show(self, job: JobRange, overrides: Ad, *, again: bool = False) -> None:
        """Update the library's ad to one proc of *job*; most attributes are unchanged from the last proc."""
        overrides |= self._overlay.of(job, overrides["ProcId"])
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
        running = RUNNING_ATTRIBUTES if job.status == JobStatus.RUNNING else ()
        varying = {name.lower() for name in ("ProcId", *(job.template or ()), *running)}
        values = [*self._shared[job.ad_id].values(), *job.overrides_for(job.first_proc).values()]
        texts = [self._text, *(v.lower() for v in values if isinstance(v, str) and v.startswith("/Expr("))]
        return any(name in text for name in varying for text in texts)

    def _is_true(self) -> bool:
        ad_id, overrides = self._shown
        value = self._bounded.value(
            self._shared[ad_id], overrides, ad_id, lambda: self._evaluate(self._tree, self._library_ad, None)
        )
        return isinstance(value, bool | int | float) and bool(value)


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
