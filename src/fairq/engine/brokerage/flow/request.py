"""The request that filters and weights see: one task's chunk and the pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.pool.activity import Activity
from fairq.engine.brokerage.pool.bits import flags_in
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import World

if TYPE_CHECKING:
    from fairq.engine.brokerage.flow.plugin import KeyedWeight

Preassigned = Literal["single", "list"]
T = TypeVar("T")

URGENCY = "task.current_priority", "chunk.is_scout"
"""What `BrokerageRequest.is_urgent` and `BrokerageRequest.is_high_priority` read."""

Answers = dict[Callable[["BrokerageRequest"], Any], Any]
"""What functions of a request answered, by the function."""


def once_per_task(compute: Callable[[BrokerageRequest], T]) -> Callable[[BrokerageRequest], T]:
    """Make *compute* a function that is evaluated once per task."""

    @wraps(compute)
    def answer(request: BrokerageRequest) -> T:
        answers = request.of_task
        found: T
        if compute in answers:
            found = answers[compute]
        else:
            found = answers[compute] = compute(request)
        return found

    return answer


def once_per_pass(compute: Callable[[BrokerageRequest], T]) -> Callable[[BrokerageRequest], T]:
    """Make *compute* a function that is evaluated once per pass of a task."""

    @wraps(compute)
    def answer(request: BrokerageRequest) -> T:
        answers = request.of_pass
        found: T
        if compute in answers:
            found = answers[compute]
        else:
            found = answers[compute] = compute(request)
        return found

    return answer


class CommonWeights(Struct, eq=False):
    """What tasks share whose weights have the same keys.

    Args:
        of: the first weights that apply.
        factors: the factor of each, by row.
        weights: their product, by row.
        tasks: how many tasks have it.
    """

    of: Sequence[KeyedWeight]
    factors: Sequence[NDArray[np.float64]]
    weights: NDArray[np.float64]
    tasks: int = 0


class Ranking(NamedTuple):
    """A set of queues, and their rows in the order in which they are assigned, with their weights."""

    members: int
    rows: NDArray[np.intp]
    weights: NDArray[np.float64]


class Weighing(Struct, eq=False):
    """The weights of the queues that passed the filters, term by term.

    Args:
        size: number of all queues.
        members: the queues weighed, as a set.
        rows: the same, ascending.
        weights: the product of all factors of each of them.
        common: what the task shares with others; its factors are computed again if somebody asks for them.
        own: by row, the weights that are not those of *common*.
        others: the factors of the weights that follow those of *common*, by their names.
        ranked: some of the queues weighed in order, if that is known.
        terms: all factors by the names of their weights, once they are asked for.
    """

    size: int
    members: int
    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    common: CommonWeights
    own: Mapping[int, float]
    others: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    ranked: Ranking | None = None
    terms: dict[str, NDArray[np.float64]] | None = None

    @property
    def weight(self) -> NDArray[np.float64]:
        """The weight of every row, 0 if it is not weighed, as filters of plugins read it."""
        found = np.zeros(self.size)
        found[self.rows] = self.weights
        return found

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weights of *rows*, which are weighed."""
        return self.weights[self.rows.searchsorted(rows)]

    def among(self, members: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the rows of a set of queues that are weighed, ascending, and their weights."""
        if members == self.members:
            return self.rows, self.weights
        is_member = flags_in(members, self.size)[self.rows]
        return self.rows[is_member], self.weights[is_member]

    def has(self, row: int) -> bool:
        """Return whether *row* is weighed."""
        return bool(self.members >> row & 1)

    def terms_of(self, request: BrokerageRequest, row: int) -> dict[str, float]:
        """Return the factors of one row that is weighed, by the names of the weights in their order."""
        # They are asked for of few tasks, and then of many rows.
        if self.terms is None:
            self.terms = {one.name: one.factor(request, self.rows) for one in self.common.of} | self.others
        place = int(self.rows.searchsorted(row))
        return {name: float(factors[place]) for name, factors in self.terms.items()}

    def weight_of(self, row: int) -> float:
        """Return the weight of one row that is weighed."""
        return float(self.weights[self.rows.searchsorted(row)])


class BrokerageRequest:
    """One task's chunk to be brokered to the pool.

    Args:
        task: the task.
        chunk: the input to be brokered.
        columns: the queues.
        rules: the rules in force.
        activity: production or analysis; that of the task if None.
        local: in the analysis flow, whether this is the pass that requires input nearby.

    Attributes:
        preassigned: whether queues are given: one (``single``) or several (``list``); None: all queues.
        weighing: the weights, once they are computed.
        given: in production, the set of the rows to which the task or its merge is pre-assigned; None: all.
        is_fatal: the single given queue is refused although others are not.
        is_express: jobs go by the express links: processing type *urgent* or priority 1000, under the rules panda above
            it.
        of_task, of_pass: the results stored by `once_per_task` and `once_per_pass`.
    """

    def __init__(
        self,
        task: Task,
        chunk: Chunk,
        columns: Columns,
        rules: Rules,
        activity: Activity | None = None,
        local: bool = False,
    ) -> None:
        self.task = task
        self.chunk = chunk
        self.columns = columns
        self.rules = rules
        self.activity: Activity = activity or task.activity
        self.local = local
        self.preassigned: Preassigned | None = None
        self.weighing: Weighing | None = None
        self.given: int | None = None
        self.is_fatal = False
        self.is_express = _is_express(task, rules)
        self.of_task: Answers = {}
        self.of_pass: Answers = {}

    def second_pass(self) -> BrokerageRequest:
        """Return the request for the pass without data locality; what holds for the task is not computed again."""
        second = BrokerageRequest(self.task, self.chunk, self.columns, self.rules, self.activity)
        second.of_task = self.of_task
        return second

    @property
    def is_spared(self) -> bool:
        """Whether queues are given and given queues are exempt from checks other than that of the status."""
        return self.preassigned is not None and self.rules.preassigned_exempt

    @property
    def is_spared_alone(self) -> bool:
        """Whether a single queue is given and is exempt from such checks."""
        return self.preassigned == "single" and self.rules.preassigned_exempt

    @property
    def world(self) -> World:
        """The snapshot of the pool."""
        return self.columns.world

    @property
    def config(self) -> Config:
        """PanDA's own settings."""
        return self.columns.world.config

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


def _is_express(task: Task, rules: Rules) -> bool:
    high = task.current_priority >= 1000 if rules.express_from_1000 else task.current_priority > 1000
    return task.processing_type == "urgent" or high
