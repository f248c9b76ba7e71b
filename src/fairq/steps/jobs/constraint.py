"""The jobs that satisfy a constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fairq.common.expression_form import is_expression
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.evaluation.member_names import UnknownNames
from fairq.steps.jobs.overlay import RUNNING_ATTRIBUTES, Overlay


class Matcher:
    """Finds the jobs of *state* for which *constraint* is true; raises ExpressionError if it does not parse."""

    def __init__(self, state: State, constraint: str) -> None:
        """Parse *constraint*."""
        from fairq.engine.classad import parse
        from fairq.steps.evaluation.budget import listing_budget

        self._expression = parse(constraint)
        self._budget = listing_budget()
        self._text = constraint.lower()
        self._state = state
        self._overlay = Overlay(state)
        self._texts: dict[int, str] = {}
        """The expressions of shared ads, in lower case, by number."""
        self.unknown = UnknownNames(self._expression)

    def satisfying(self, ranges: Sequence[JobRange]) -> list[JobRange]:
        """Return the parts of *ranges* that satisfy the constraint.

        Raises EvaluationBudgetError if evaluating it takes too long.
        """
        from fairq.steps.evaluation.budget import evaluated, is_true

        shared = jobs.ads(self._state, {job.ad_id for job in ranges})
        tested = [(job, part) for job in ranges for part in self._alike(job, shared[job.ad_id])]
        values = evaluated(self._expression, self._ads(tested, shared), self._budget)
        chosen: list[JobRange] = []
        former: JobRange | None = None
        for (job, part), value in zip(tested, values, strict=True):
            if not is_true(value):
                continue
            if job is former and chosen[-1].last_proc == part.first_proc - 1:
                chosen[-1].last_proc = part.last_proc
            else:
                chosen.append(part)
            former = job
        return chosen

    def _ads(self, tested: Sequence[tuple[JobRange, JobRange]], shared: Mapping[int, Ad]) -> Iterator[Ad]:
        for _, part in tested:
            ad = part.ad_of(shared[part.ad_id], part.first_proc) | self._overlay.attributes(part, part.first_proc)
            self.unknown.see(ad)
            yield ad

    def _alike(self, job: JobRange, shared: Ad) -> Iterator[JobRange]:
        """Yield the parts of a range that the constraint cannot tell apart, directly or through an attribute."""
        if len(job) == 1:
            yield job
            return
        if job.ad_id not in self._texts:
            self._texts[job.ad_id] = " ".join(filter(is_expression, shared.values())).lower()
        own = filter(is_expression, job.overrides_for(job.first_proc).values())
        text = " ".join([self._text, self._texts[job.ad_id], *map(str.lower, own)])
        running = RUNNING_ATTRIBUTES if job.status == JobStatus.RUNNING else ()
        is_told_apart = any(name.lower() in text for name in ("ProcId", *(job.template or ()), *running))
        yield from job.each() if is_told_apart else [job]
