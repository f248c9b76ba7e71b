"""One task's chunk, as filters and weights read it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar

from fairq.engine.brokerage.jobs.atom import Atom, smallest_job
from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Activity

Preassigned = Literal["single", "list"]
T = TypeVar("T")

Answers = dict[Callable[["Ask"], Any], Any]
"""Results of functions of a task, by function."""


def once_per_task(compute: Callable[[Ask], T]) -> Callable[[Ask], T]:
    """Make *compute* a function that is evaluated once per task."""
    return _once(compute, lambda ask: ask.of_task)


def once_per_pass(compute: Callable[[Ask], T]) -> Callable[[Ask], T]:
    """Make *compute* a function that is evaluated once per pass of a task."""
    return _once(compute, lambda ask: ask.of_pass)


def _once(compute: Callable[[Ask], T], answers_of: Callable[[Ask], Answers]) -> Callable[[Ask], T]:
    @wraps(compute)
    def answer(ask: Ask) -> T:
        answers = answers_of(ask)
        if compute not in answers:
            answers[compute] = compute(ask)
        result: T = answers[compute]
        return result

    return answer


class Ask:
    """One task's chunk to be brokered to the pool.

    Args:
        task: the task.
        chunk: the input to be brokered.
        pool: the queues and the rules in force.
        activity: production or analysis; that of the task if None.
        local: in the analysis flow, whether this is the pass that requires input nearby.

    Attributes:
        given_rows: in production, the rows that the task or its merge is pre-assigned to; None: all.
        preassigned: ``single`` or ``list`` if the task names one queue or several; None: all queues.
        is_express: jobs use the express links: processing type *urgent*, or priority from 1000 (rules panda: above it).
        of_task, of_pass: the results stored by `once_per_task` and `once_per_pass`.
    """

    def __init__(
        self, task: Task, chunk: Chunk, pool: Pool, activity: Activity | None = None, local: bool = False
    ) -> None:
        self.task = task
        self.chunk = chunk
        self.pool = pool
        self.rules: Rules = pool.rules
        self.activity: Activity = activity or task.activity
        self.local = local
        self.given_rows: frozenset[int] | None = None
        self.preassigned: Preassigned | None = None
        priority = task.current_priority
        high = priority >= 1000 if pool.rules.express_from_1000 else priority > 1000
        self.is_express = task.processing_type == "urgent" or high
        self.of_task: Answers = {}
        self.of_pass: Answers = {}

    def second_pass(self) -> Ask:
        """Return the second pass, without data locality; it shares the results stored for the task."""
        second = Ask(self.task, self.chunk, self.pool, self.activity)
        second.preassigned, second.of_task = self.preassigned, self.of_task
        return second

    @property
    def is_spared(self) -> bool:
        """Whether queues are given and the rules exempt given queues from checks (except that of the status)."""
        return self.preassigned is not None and self.rules.preassigned_exempt

    @property
    def is_spared_alone(self) -> bool:
        """Whether a single queue is given and the rules exempt it from checks."""
        return self.preassigned == "single" and self.rules.preassigned_exempt

    @property
    def config(self) -> Config:
        """PanDA's own settings."""
        return self.pool.config

    @property
    def is_urgent(self) -> bool:
        """Whether opportunistic and inactive queues are to be avoided: priority 800 and above, and scouts."""
        return self.task.current_priority >= 800 or self.chunk.is_scout

    @property
    def is_high_priority(self) -> bool:
        """Priority 900 and above, and scouts."""
        return self.task.current_priority >= 900 or self.chunk.is_scout

    @property
    def asks_for_cores(self) -> bool:
        """Whether the task's jobs may use several cores."""
        return self.task.core_count not in (None, 0, 1)

    @property
    def takes_jumbo_jobs(self) -> bool:
        """Whether the task uses jumbo jobs."""
        return self.task.has_rule("NJ")

    @property
    def stays_near(self) -> bool:
        """Whether a negative ``t1Weight`` keeps the task's jobs, except merges, at one queue near the nucleus."""
        return (self.task.rule("TW") or 0) < 0 and not self.chunk.is_merging


@once_per_task
def atom_of(ask: Ask) -> Atom:
    """Return the smallest job of the chunk."""
    return smallest_job(ask.task, ask.chunk)
