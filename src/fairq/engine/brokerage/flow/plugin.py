"""The interface of filters and weights, for fairq's own and for plugins.

A filter refuses queues of a task, each for one of its reasons. It judges many queues at once. A weight is a factor of
the weight of the remaining queues. Entry points (``fairq.broker.filters``, ``fairq.broker.weights``) name one object of
these shapes or a sequence of them. `per_queue` makes a filter of a rule about one queue, `per_queue_weight` a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION, Activity
from fairq.engine.brokerage.pool.bits import Parts, bits_at, flags_in
from fairq.engine.brokerage.pool.model import Queue
from fairq.engine.brokerage.pool.world import World

if TYPE_CHECKING:
    from fairq.engine.brokerage.flow.request import BrokerageRequest

View = TypeVar("View")

Rows = NDArray[np.intp]
"""Numbers of queues in the run's `Columns`."""

Codes = NDArray[np.uint8] | NDArray[np.bool_]
"""For each row: 0 or False passes; *k* is refused for the filter's reason number *k* (1 is the first)."""

SWITCHED_OFF: Codes = np.zeros(0, dtype=np.bool_)
"""The answer of a filter that does not apply to these queues; it gets no line in the stage table."""

Details = dict[str, Any]
"""The numbers compared, by PanDA's names if there are any; plain JSON values."""

Phase = Literal["before", "after"]
"""Whether a filter runs before the weights or after them."""

BOTH: frozenset[Activity] = frozenset({PRODUCTION, ANALYSIS})


class Reason(NamedTuple):
    """Why a queue is refused.

    Attributes:
        tag: PanDA's name for it.
        meaning: what it means, in words.
        permanent: the queue is refused at once. Otherwise it counts until the temporary problems are settled.
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
        """Whether it holds for the moment only."""
        return self.passing or not self.permanent


@runtime_checkable
class Filter(Protocol):
    """A filter."""

    @property
    def name(self) -> str:
        """Unique among all filters."""

    @property
    def stage(self) -> str:
        """Its line in the stage table; filters of one stage are next to each other."""

    @property
    def place(self) -> float | None:
        """Its place in the flow; None: after the one before it in the list. fairq's own are 100, 200, ..."""

    @property
    def phase(self) -> Phase:
        """Before the weight or after it."""

    @property
    def activities(self) -> frozenset[Activity]:
        """Production, analysis or both."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All its reasons."""

    def applies(self, request: BrokerageRequest) -> bool:
        """Return whether the filter applies to this task; if none of a stage does, the stage is left out."""

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Return for each of *rows* whether it passes; None: all pass; or `SWITCHED_OFF`."""

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the values compared when *row* was refused for *reason*."""


@runtime_checkable
class Weight(Protocol):
    """A factor of the weight."""

    @property
    def name(self) -> str:
        """Unique among all weights."""

    @property
    def place(self) -> float | None:
        """Its place among the factors; None: after the one before it in the list. fairq's own are 100, 200, ..."""

    @property
    def activities(self) -> frozenset[Activity]:
        """Production, analysis or both."""

    def applies(self, request: BrokerageRequest) -> bool:
        """Return whether the factor applies to this task."""

    def factor(self, request: BrokerageRequest, rows: Rows) -> NDArray[np.float64]:
        """Return the factor of each of *rows*: finite and not negative."""

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the numbers that the factor of *row* was computed from."""


class PlainFilter:
    """Defaults for most filters; subclasses override them."""

    name: str
    stage: str
    place: float | None = None
    phase: Phase = "before"
    activities: frozenset[Activity] = BOTH
    reasons: tuple[Reason, ...]

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to every task."""
        return True

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """To be implemented by the filter."""
        raise NotImplementedError

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return no values."""
        return {}


class KeyedFilter(PlainFilter):
    """A filter that tells what it reads of a task: tasks with equal keys get the same codes, which are kept.

    The codes may depend on the pool and on the rules as well, but on no other property of the task or its chunk, nor
    on the rows that earlier filters left.

    Attributes:
        reads: what `applies` and `key` read of the request, in the words of `fairq.engine.brokerage.flow.alike`: tasks
            that agree in it are asked once for all of them. None: it is not known, and every task is asked.
    """

    reads: tuple[str, ...] | None = None

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return everything of the task and its chunk that `codes` depends on."""
        return None

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Return the codes of all queues; None: all pass. To be implemented by the filter."""
        raise NotImplementedError

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Return the codes of *rows*."""
        codes = self.codes(request)
        return None if codes is None else codes[rows]


class InputFilter(KeyedFilter, Generic[View]):
    """A keyed filter that reads the input of the chunk as well, in which hardly any two tasks agree.

    Attributes:
        reads: what `applies` and `view` read of the request; see `KeyedFilter`.
    """

    def view(self, request: BrokerageRequest) -> View:
        """Return all that the key needs of the task apart from its input. To be implemented by the filter."""
        raise NotImplementedError

    def key_of(self, view: View, request: BrokerageRequest) -> Hashable:
        """Return the key of a task with that *view*, which may be another one's. To be implemented by the filter."""
        raise NotImplementedError

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the key of a task on its own."""
        return self.key_of(self.view(request), request)


class SetFilter(PlainFilter):
    """A filter that answers with sets of queues, and may look at the queues that earlier filters left."""

    def parts(self, request: BrokerageRequest, left: int) -> Parts | None:
        """Return what is refused for each reason, of *left* and perhaps of others; None: `SWITCHED_OFF`."""
        raise NotImplementedError

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Return the codes of *rows*."""
        size = len(request.columns)
        parts = self.parts(request, bits_at(rows, size))
        if parts is None:
            return SWITCHED_OFF
        codes = np.zeros(size, dtype=np.uint8)
        for code, refused in parts:
            codes[flags_in(refused, size)] = code
        return codes[rows]


class PlainWeight:
    """Defaults for most weights; subclasses override them."""

    name: str
    place: float | None = None
    activities: frozenset[Activity] = BOTH

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to every task."""
        return True

    def factor(self, request: BrokerageRequest, rows: Rows) -> NDArray[np.float64]:
        """To be implemented by the weight."""
        raise NotImplementedError

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return no values."""
        return {}


class KeyedWeight(PlainWeight):
    """A weight that tells what it reads of a task: tasks with equal keys get the same factors, which are kept, but for
    a few queues of their own.

    The factors may depend on the pool and on the rules as well.

    Attributes:
        reads: what `applies` and `key` read of the request; see `KeyedFilter`.
    """

    reads: tuple[str, ...] | None = None

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return everything of the task and its chunk that `factors` depends on."""
        return None

    def factors(self, request: BrokerageRequest) -> NDArray[np.float64]:
        """Return the factors of all queues. To be implemented by the weight."""
        raise NotImplementedError

    def own(self, request: BrokerageRequest, members: int) -> Mapping[int, float]:
        """Return the queues of a set whose factors depend on more of the task or its chunk, with these factors."""
        return {}

    def factor(self, request: BrokerageRequest, rows: Rows) -> NDArray[np.float64]:
        """Return the factors of *rows*, which ascend."""
        own = self.own(request, bits_at(rows, len(request.columns)))
        result = self.factors(request)[rows]
        if own:
            result[rows.searchsorted(list(own))] = list(own.values())
        return result


class per_queue(PlainFilter):  # noqa: N801 - reads as the function that it is used as
    """A filter from a rule about one queue at a time.

    Args:
        name: unique among all filters.
        reason: why it refuses.
        rule: (task, queue, world) to None or False if the queue passes, and otherwise to True or the numbers compared.
        stage: line of the stage table; the name if empty.
        place: in the flow; after fairq's own if None.
        phase: before the weight or after it.
        activities: production, analysis or both.
    """

    def __init__(
        self,
        name: str,
        reason: Reason,
        rule: Callable[[Task, Queue, World], Mapping[str, Any] | bool | None],
        *,
        stage: str = "",
        place: float | None = None,
        phase: Phase = "before",
        activities: frozenset[Activity] = BOTH,
    ) -> None:
        self.name = name
        self.reasons = (reason,)
        self.stage = stage or name
        self.place = place
        self.phase = phase
        self.activities = activities
        self._rule = rule

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Ask the rule about each queue."""
        task, world, queues = request.task, request.world, request.columns.queues
        refused = (self._rule(task, queues[row], world) not in (None, False) for row in rows)
        return np.fromiter(refused, np.bool_, len(rows))

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the values that the rule compared, if it returns them."""
        answer = self._rule(request.task, request.columns.queues[row], request.world)
        return dict(answer) if isinstance(answer, Mapping) else {}


class per_queue_weight(PlainWeight):  # noqa: N801
    """A weight from a rule about one queue at a time: (task, queue, world) to a factor."""

    def __init__(
        self,
        name: str,
        rule: Callable[[Task, Queue, World], float],
        *,
        place: float | None = None,
        activities: frozenset[Activity] = BOTH,
    ) -> None:
        self.name = name
        self.place = place
        self.activities = activities
        self._rule = rule

    def factor(self, request: BrokerageRequest, rows: Rows) -> NDArray[np.float64]:
        """Ask the rule about each queue."""
        task, world, queues = request.task, request.world, request.columns.queues
        return np.fromiter((self._rule(task, queues[row], world) for row in rows), np.float64, len(rows))
