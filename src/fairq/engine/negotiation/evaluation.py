"""Values of expressions over the slots, computed again only when something that they read has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.common.expression_form import as_expression, is_expression
from fairq.common.records import Ad
from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    attributes_read,
    columns_read,
    evaluate_in_ad,
    evaluate_in_columns,
    expression_of,
)
from fairq.engine.classad.column import ABSENT
from fairq.engine.classad.kinds import Absent
from fairq.engine.classad.nodes import (
    Binary,
    Conditional,
    Literal,
    Node,
    Reference,
    Unary,
    unparse,
)


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


ADDED = frozenset(
    {
        *("submitteruserprio", "submittorprio", "submitteruserresourcesinuse", "submitternegotiatinggroup"),
        *("submitterautoregroup", "submittergroup", "submittergroupresourcesinuse", "submittergroupquota"),
    }
)
"""Lower-case names of the attributes that a cycle adds to jobs."""


Result = TypeVar("Result")

Ask = Callable[[int], RequestContext]
"""Returns the request of an autocluster with the attributes of this moment."""

_MOST_KEPT = 256
"""Number of results that depend on the moment, kept at once."""


class LiveAttributes(Protocol):
    """Attributes of the slots that follow the matches made; *version* changes with them."""

    live: frozenset[str]
    version: int

    def refresh(self) -> None:
        """Update the attributes."""


class _Reads(Struct, frozen=True):
    """What decides the result of an autocluster.

    Args:
        values: those of the job's attributes read.
        of_moment: the names of the attributes read that a cycle adds to jobs.
        follows: whether attributes of slots are read that follow the matches.
    """

    values: Hashable
    of_moment: tuple[str, ...]
    follows: bool


class Evaluation(Generic[Result]):
    """The results of *make*, shared by all autoclusters that agree in what it reads.

    Args:
        make: computes a result.
        kinds: an ad of each autocluster.
        slots: the slots' ads.
        of_job: names of the job's attributes that are evaluated.
        of_slots: expressions that are evaluated with MY = slot.
        live: attributes of slots that change.
    """

    def __init__(
        self,
        make: Callable[[RequestContext], Result],
        kinds: Sequence[Ad],
        slots: AdColumns,
        of_job: Sequence[str],
        of_slots: Sequence[Expression],
        live: LiveAttributes | None,
    ) -> None:
        self._make, self._kinds, self._slots, self._of_job, self._live = make, kinds, slots, of_job, live
        self._by_slots = attributes_read(of_slots, "target", slots)
        self._changing = frozenset() if live is None else live.live | {EVERY_ATTRIBUTE}
        self._follows = bool(self._changing) and bool(columns_read(of_slots, "target", slots) & self._changing)
        self._read_by: dict[str, tuple[frozenset[str], bool]] = {}
        self._reads: dict[int, _Reads] = {}
        self._settled: dict[int, Result] = {}
        self._results: dict[Hashable, Result] = {}
        self._of_moment: dict[Hashable, Result] = {}

    @property
    def reads_jobs(self) -> bool:
        """Whether the slots' side reads any attribute of jobs."""
        return bool(self._by_slots)

    def get(self, kind: int, ask: Ask) -> Result:
        """Return the result for an autocluster."""
        found = self._settled.get(kind)
        if found is not None:
            return found
        reads = self.reads(kind)
        if not reads.of_moment and not reads.follows:
            found = self._settled[kind] = self._known(self._results, reads.values, kind, ask)
            return found
        added = ask(kind).ephemeral
        key: list[Hashable] = [reads.values, *(added.get(name) for name in reads.of_moment)]
        if reads.follows:
            assert self._live is not None
            self._live.refresh()
            key.append(self._live.version)
        if len(self._of_moment) > _MOST_KEPT:
            self._of_moment.clear()
        return self._known(self._of_moment, tuple(key), kind, ask)

    def reads(self, kind: int) -> _Reads:
        """Find what decides the result of an autocluster."""
        found = self._reads.get(kind)
        if found is None:
            found = self._reads[kind] = self._find(self._kinds[kind])
        return found

    def forget(self) -> None:
        """Drop all results; they are computed again when needed."""
        self._settled.clear()
        self._results.clear()
        self._of_moment.clear()

    def is_settled(self, kind: int) -> bool:
        """Whether the result is the same for everybody to the end of the cycle."""
        reads = self.reads(kind)
        return not reads.of_moment and not reads.follows

    def _known(self, results: dict[Hashable, Result], key: Hashable, kind: int, ask: Ask) -> Result:
        found = results.get(key)
        if found is None:
            found = results.get((kind, key))
        if found is None:
            budget = self._slots.budget
            before = 0 if budget is None else budget.cut_short
            found = self._make(ask(kind))
            # What a budget has cut short is the result of this autocluster alone.
            is_cut_short = budget is not None and budget.cut_short > before
            results[(kind, key) if is_cut_short else key] = found
        return found

    def _find(self, job: Ad) -> _Reads:
        names, follows = set(self._by_slots) | set(self._of_job), self._follows
        todo = list(names)
        while todo:
            value = job.get(todo.pop())
            if is_expression(value):
                read, changes = self._of_text(value)
                follows |= changes
                todo += read - names
                names |= read
        if EVERY_ATTRIBUTE in names:
            names |= job.keys() | ADDED
        values = tuple([f"{name}={job[name]!r}" for name in sorted(names) if name in job])
        return _Reads(values, tuple(sorted(names & ADDED)), follows)

    def _of_text(self, text: str) -> tuple[frozenset[str], bool]:
        found = self._read_by.get(text)
        if found is None:
            own = [expression_of(text)]
            changes = bool(self._changing) and bool(columns_read(own, "my", self._slots) & self._changing)
            found = self._read_by[text] = attributes_read(own, "my", self._slots), changes
        return found


LOWEST = -np.inf
"""The value of a negotiator rank that is undefined or not a number."""


def negotiator_rank(
    expression: Expression, slots: AdColumns, job: Ad, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Evaluate one of the negotiator's rank expressions with MY = slot, TARGET = job, for all slots or *rows*."""
    return as_stored(evaluate_in_columns(expression, slots, job, rows).as_rank(LOWEST))


def as_stored(ranks: NDArray[np.float64]) -> NDArray[np.float32]:
    """Ranks as the negotiator stores them, rounded to 32-bit floats (EvalNegotiatorMatchRank)."""
    with np.errstate(over="ignore"):
        return ranks.astype(np.float32)


def suitable(job: Ad, slots: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return which of *rows* suit a *job*: the Requirements of both sides are true (docs/htcondor.md 3.7)."""
    return rows[agreed(job, slots, rows)]


def agreed(job: Ad, slots: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where, among *rows* of *slots*, the Requirements of both sides are true; missing ones are not.

    *job* has its names in lower case.
    """
    agreed = np.zeros(len(rows), np.bool_)
    if "requirements" in job:
        wanted = np.flatnonzero(evaluate_in_ad(expression_of(job["requirements"]), job, slots, rows).is_true())
        agreed[wanted] = evaluate_in_columns("Requirements", slots, job, rows[wanted]).is_true()
    return agreed


_ROWS_PER_EXPRESSION = 16
"""With fewer rows, expressions are put together by their shape."""


class ShapedExpressions:
    """Slots whose *attributes* have the shapes of their expressions in place of the texts, until they are restored.

    A column is for many rows of one expression. Machines that prefer their owners have a Rank text each: a few shapes,
    with a name or number of their own. In its place, ``MY._Rank3`` stands for the third constant of the text.
    """

    def __init__(self, slots: AdColumns, attributes: Sequence[str]) -> None:
        self._slots = slots
        self._before = {name: slots.column(name.lower()) for name in attributes}
        for name in attributes:
            self._put_together(name)

    def restore(self) -> None:
        """Give the slots their own expressions again."""
        for name, column in self._before.items():
            if self._slots.column(name.lower()) is not column:
                self._slots.give(name, column)

    def _put_together(self, attribute: str) -> None:
        slots, many = self._slots, len(self._before[attribute].expressions)
        if many < 2 or many * _ROWS_PER_EXPRESSION < len(slots):
            return
        values = [slots.json_value(row, attribute.lower()) for row in range(len(slots))]
        shaped: dict[str, tuple[str, list[Any]]] = {}
        for text in {value for value in values if is_expression(value)}:
            constants: list[Any] = []
            node = expression_of(text).node
            shape = None if node is None else _without_constants(node, attribute, constants)
            shaped[text] = (text, []) if shape is None else (as_expression(unparse(shape)), constants)
        if len({shape for shape, _ in shaped.values()}) * 2 > len(shaped):
            return
        most = max(len(constants) for _, constants in shaped.values())
        columns: list[list[Any]] = [[None] * len(values) for _ in range(most)]
        for row, value in enumerate(values):
            if is_expression(value):
                values[row], constants = shaped[value]
                for place, constant in enumerate(constants):
                    columns[place][row] = constant
        for place, of_place in enumerate(columns):
            slots.with_column(f"_{attribute}{place}", of_place)
        slots.with_column(attribute, [None if value is ABSENT else value for value in values])


def _without_constants(node: Node, attribute: str, constants: list[Any]) -> Node | None:
    """Return the tree with a reference for every constant, which is added to *constants*; None for other trees."""

    def of(part: Node) -> Node:
        match part:
            case Literal(value):
                if isinstance(value, Absent) or (isinstance(value, str) and is_expression(value)):
                    return part
                constants.append(value)
                return Reference(Reference(None, "MY"), f"_{attribute}{len(constants) - 1}")
            case Unary(operator, operand):
                return Unary(operator, of(operand))
            case Binary(operator, left, right) if operator != "[]":
                return Binary(operator, of(left), of(right))
            case Conditional(condition, positive, negative):
                return Conditional(of(condition), of(positive), of(negative))
            case Reference():
                return part
            case _:
                # Functions may treat constants in their own way.
                raise _OtherShape

    try:
        return of(node)
    except _OtherShape:
        return None


class _OtherShape(Exception):  # noqa: N818 - no error: the text stays as it is
    """A part of an expression is none whose constants can be columns."""
