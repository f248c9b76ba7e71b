"""The form of filters and weights, for fairq's own and for those of plugins.

A filter is two functions. *reads* takes a task's `Ask` and returns all values of the task that the answer depends on,
or None if the filter does not apply. *judge* takes only the pool and these values, and yields the refused queues for
each reason, with the figures compared at a queue. Therefore answers can be cached by the values. A weight has the same
form.

Entry points (``fairq.broker.filters``, ``fairq.broker.weights``) name one filter or weight, or a sequence of them.
`per_queue` makes a filter of a rule about one queue, `per_queue_weight` a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.columns import Booleans, Floats
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Activity, Queue, World

if TYPE_CHECKING:
    from fairq.engine.brokerage.flow.ask import Ask
    from fairq.engine.brokerage.pool.columns import Pool

Details = dict[str, Any]
"""The numbers compared, by PanDA's names if there are any; plain JSON values."""

Figures = Callable[[int], Details]
"""Function that returns the numbers compared at a row."""

Values = tuple[Any, ...]
"""What a filter or weight reads of a task; hashable if its results are kept."""

Phase = Literal["before", "after"]
"""Whether a filter runs before the weights or after them."""

BOTH: frozenset[Activity] = frozenset({PRODUCTION, ANALYSIS})


class Reason(NamedTuple):
    """Why a queue is refused.

    Attributes:
        tag: PanDA's name for it.
        meaning: what it means, in words.
        permanent: the queue is refused at once; otherwise in the temporary problem check.
        remedy: the change that would help, as the end of *it would pass if*, with names of the `Details` in braces;
            ``{count:job|jobs}`` is the count with the word that agrees.
        passing: the issue is temporary, although the queue is refused at once.

    The engine's own reasons have no words; the command line adds them by tag. The words of other reasons are shown.
    """

    tag: str
    meaning: str = ""
    permanent: bool = True
    remedy: str = ""
    passing: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the issue is temporary."""
        return self.passing or not self.permanent


def no_figures(row: int) -> Details:
    """Return no figures."""
    return {}


class Refusal(NamedTuple):
    """The queues refused for one reason, one value per row; of several reasons for a queue, the first one counts."""

    reason: Reason
    rows: Booleans
    figures: Figures = no_figures


class Left(NamedTuple):
    """The remaining queues and, once weighed, the weight of each row; for filters and weights that look back."""

    rows: Booleans
    weights: Floats = np.zeros(0)


Refusals: TypeAlias = "Iterable[Refusal]"
"""The answer of a filter; None instead of it: the filter does not apply."""


class Filter(NamedTuple):
    """A filter.

    Args:
        name: unique among all filters.
        stage: its line in the stage table; filters of one stage are next to each other.
        reasons: all its reasons.
        reads: from an `Ask` to what *judge* reads of the task; None: the filter does not apply to it.
        judge: from the pool and these values to `Refusals`, for all queues at once.
        kept: cache answers by the values; False if values hardly repeat, such as the input at each queue.
        looks_back: *judge* gets `Left` as the argument after the pool; its answers are not cached.
        alike: from the pool and the values to a coarser cache key, if values hardly repeat. Values with the same key
            get the same answer; figures come from the values themselves.
        phase: before the weight or after it.
        place: position in the flow; None: after its predecessor in the list. fairq's own are 100, 200, ...
        activities: production, analysis or both.
    """

    name: str
    stage: str
    reasons: tuple[Reason, ...]
    reads: Callable[[Ask], Values | None]
    judge: Callable[..., Refusals | None]
    kept: bool = True
    looks_back: bool = False
    alike: Callable[..., Values] | None = None
    phase: Phase = "before"
    place: float | None = None
    activities: frozenset[Activity] = BOTH


class Weight(NamedTuple):
    """A factor of the weight.

    Args:
        name: unique among all weights.
        reads: see `Filter`; None: the factor does not count for the task.
        weigh: from the pool and these values to the factor of each row (None: it does not count, but its figures are
            shown) and its figures.
        kept, looks_back, place, activities: see `Filter`.
        alike: for a weight that is not cached, from the values to a key that decides the factors of most queues; the
            weights of tasks with the same key are stored together.
    """

    name: str
    reads: Callable[[Ask], Values | None]
    weigh: Callable[..., tuple[Floats | None, Figures]]
    kept: bool = True
    looks_back: bool = False
    alike: Callable[..., Values] | None = None
    place: float | None = None
    activities: frozenset[Activity] = BOTH


def refuses(
    name: str, stage: str, *reasons: Reason, reads: Callable[[Ask], Values | None], **fields: Any
) -> Callable[[Callable[..., Refusals | None]], Filter]:
    """Return a decorator that makes a `Filter` of its *judge*; *fields* are other fields of the filter."""
    return lambda judge: Filter(name, stage, reasons, reads, judge, **fields)


def weighs(
    name: str, *, reads: Callable[[Ask], Values | None], **fields: Any
) -> Callable[[Callable[..., tuple[Floats | None, Figures]]], Weight]:
    """Return a decorator that makes a `Weight` of its *weigh*; *fields* are other fields of the weight."""
    return lambda weigh: Weight(name, reads, weigh, **fields)


def per_queue(
    name: str,
    reason: Reason,
    rule: Callable[[Task, Queue, World], Mapping[str, Any] | bool | None],
    *,
    stage: str = "",
    place: float | None = None,
    phase: Phase = "before",
    activities: frozenset[Activity] = BOTH,
) -> Filter:
    """Return a filter from a rule about one queue at a time.

    Args:
        name: unique among all filters.
        reason: why it refuses.
        rule: (task, queue, world) to None or False if the queue passes, and otherwise to True or the numbers compared.
        stage: line of the stage table; the name if empty.
        place, phase, activities: see `Filter`.
    """

    def judge(pool: Pool, remaining: Left, task: Task) -> Refusals:
        refused = np.zeros(len(pool), np.bool_)
        for row in np.flatnonzero(remaining.rows).tolist():
            refused[row] = rule(task, pool.queues[row], pool.world) not in (None, False)

        def figures(row: int) -> Details:
            answer = rule(task, pool.queues[row], pool.world)
            return dict(answer) if isinstance(answer, Mapping) else {}

        yield Refusal(reason, refused, figures)

    return Filter(
        name, stage or name, (reason,), lambda ask: (ask.task,), judge, looks_back=True, phase=phase, place=place,
        activities=activities,
    )  # fmt: skip


def per_queue_weight(
    name: str,
    rule: Callable[[Task, Queue, World], float],
    *,
    place: float | None = None,
    activities: frozenset[Activity] = BOTH,
) -> Weight:
    """Return a weight from a rule about one queue at a time: (task, queue, world) to a factor."""

    def weigh(pool: Pool, remaining: Left, task: Task) -> tuple[Floats, Figures]:
        factors = np.ones(len(pool))
        for row in np.flatnonzero(remaining.rows).tolist():
            factors[row] = rule(task, pool.queues[row], pool.world)
        return factors, no_figures

    return Weight(name, lambda ask: (ask.task,), weigh, looks_back=True, place=place, activities=activities)
