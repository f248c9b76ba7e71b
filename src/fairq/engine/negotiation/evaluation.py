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
        """Return the job's ad with the attributes that the cycle adds."""
        return {**self.job, **self.ephemeral}


ADDED = frozenset(
    {
        *("submitteruserprio", "submittorprio", "submitteruserresourcesinuse", "submitternegotiatinggroup"),
        *("submitterautoregroup", "submittergroup", "submittergroupresourcesinuse", "submittergroupquota"),
    }
)
"""Lower-case names of the attributes that a cycle adds to jobs."""


Result = TypeVar("Result")

ContextOf = Callable[[int], RequestContext]
"""Returns the request of an autocluster with the current attributes."""

_MAX_TEMPORARY = 256
"""Maximum number of stored results that depend on attributes that change."""


class LiveAttributes(Protocol):
    """Attributes of the slots that change with the matches made; *version* changes with them."""

    live: frozenset[str]
    version: int

    def refresh(self) -> None:
        """Update the attributes."""


class _Reads(Struct, frozen=True):
    """The inputs of an autocluster's result.

    Args:
        values: the values of the job's attributes that are read.
        added: the names of the attributes read that a cycle adds to jobs.
        follows_matches: whether it reads attributes of slots that change with the matches.
    """

    values: Hashable
    added: tuple[str, ...]
    follows_matches: bool


class Evaluation(Generic[Result]):
    """The results of a function, shared by all autoclusters that agree in what it reads.

    Args:
        compute: computes the result of a request.
        kinds: an ad of each autocluster.
        slots: the slots' ads.
        job_attributes: names of the job's attributes that are evaluated.
        slot_expressions: expressions that are evaluated with MY = slot.
        live: attributes of slots that change.
    """

    def __init__(
        self,
        compute: Callable[[RequestContext], Result],
        kinds: Sequence[Ad],
        slots: AdColumns,
        job_attributes: Sequence[str],
        slot_expressions: Sequence[Expression],
        live: LiveAttributes | None,
    ) -> None:
        self._compute, self._kinds, self._slots, self._job_attributes, self._live = (
            compute,
            kinds,
            slots,
            job_attributes,
            live,
        )
        self._by_slots = attributes_read(slot_expressions, "target", slots)
        self._changing = frozenset() if live is None else live.live | {EVERY_ATTRIBUTE}
        self._slots_follow_matches = bool(self._changing) and bool(
            columns_read(slot_expressions, "target", slots) & self._changing
        )
        self._read_by: dict[str, tuple[frozenset[str], bool]] = {}
        self._reads: dict[int, _Reads] = {}
        self._final: dict[int, Result] = {}
        self._results: dict[Hashable, Result] = {}
        self._temporary: dict[Hashable, Result] = {}

    @property
    def reads_jobs(self) -> bool:
        """Whether the slots' side reads any attribute of jobs."""
        return bool(self._by_slots)

    def get(self, kind: int, context_of: ContextOf) -> Result:
        """Return the result for an autocluster."""
        result = self._final.get(kind)
        if result is not None:
            return result
        reads = self.reads(kind)
        if not reads.added and not reads.follows_matches:
            result = self._final[kind] = self._get_or_compute(self._results, reads.values, kind, context_of)
            return result
        added = context_of(kind).ephemeral
        key: list[Hashable] = [reads.values, *(added.get(name) for name in reads.added)]
        if reads.follows_matches:
            assert self._live is not None
            self._live.refresh()
            key.append(self._live.version)
        if len(self._temporary) > _MAX_TEMPORARY:
            self._temporary.clear()
        return self._get_or_compute(self._temporary, tuple(key), kind, context_of)

    def reads(self, kind: int) -> _Reads:
        """Return the inputs of an autocluster's result."""
        reads = self._reads.get(kind)
        if reads is None:
            reads = self._reads[kind] = self._find(self._kinds[kind])
        return reads

    def forget(self) -> None:
        """Drop all results; they are computed again when needed."""
        self._final.clear()
        self._results.clear()
        self._temporary.clear()

    def is_constant(self, kind: int) -> bool:
        """Return whether the result is the same for everybody to the end of the cycle."""
        reads = self.reads(kind)
        return not reads.added and not reads.follows_matches

    def _get_or_compute(
        self, results: dict[Hashable, Result], key: Hashable, kind: int, context_of: ContextOf
    ) -> Result:
        result = results.get(key)
        if result is None:
            result = results.get((kind, key))
        if result is None:
            budget = self._slots.budget
            before = 0 if budget is None else budget.cut_short
            result = self._compute(context_of(kind))
            # A result cut short by a budget is not shared with other autoclusters.
            is_cut_short = budget is not None and budget.cut_short > before
            results[(kind, key) if is_cut_short else key] = result
        return result

    def _find(self, job: Ad) -> _Reads:
        names, follows_matches = set(self._by_slots) | set(self._job_attributes), self._slots_follow_matches
        pending = list(names)
        while pending:
            value = job.get(pending.pop())
            if is_expression(value):
                read, changes = self._read_by_text(value)
                follows_matches |= changes
                pending += read - names
                names |= read
        if EVERY_ATTRIBUTE in names:
            names |= job.keys() | ADDED
        values = tuple([f"{name}={job[name]!r}" for name in sorted(names) if name in job])
        return _Reads(values, tuple(sorted(names & ADDED)), follows_matches)

    def _read_by_text(self, text: str) -> tuple[frozenset[str], bool]:
        cached = self._read_by.get(text)
        if cached is None:
            own = [expression_of(text)]
            changes = bool(self._changing) and bool(columns_read(own, "my", self._slots) & self._changing)
            cached = self._read_by[text] = attributes_read(own, "my", self._slots), changes
        return cached


LOWEST = -np.inf
"""The value of a negotiator rank that is undefined or not a number."""


def negotiator_rank(
    expression: Expression, slots: AdColumns, job: Ad, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Evaluate one of the negotiator's rank expressions with MY = slot, TARGET = job, for all slots or *rows*."""
    return as_stored(evaluate_in_columns(expression, slots, job, rows).as_rank(LOWEST))


def as_stored(ranks: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return ranks as the negotiator stores them, rounded to 32-bit floats (EvalNegotiatorMatchRank)."""
    with np.errstate(over="ignore"):
        return ranks.astype(np.float32)


def suitable(job: Ad, slots: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return those of *rows* that suit a *job*: the Requirements of both sides are true (docs/htcondor.md 3.7)."""
    return rows[requirements_met(job, slots, rows)]


def requirements_met(job: Ad, slots: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return for each of *rows* of *slots* whether the Requirements of both sides are true; missing ones are not.

    *job* has its names in lower case.
    """
    met = np.zeros(len(rows), np.bool_)
    if "requirements" in job:
        accepted = np.flatnonzero(evaluate_in_ad(expression_of(job["requirements"]), job, slots, rows).is_true())
        met[accepted] = evaluate_in_columns("Requirements", slots, job, rows[accepted]).is_true()
    return met


_ROWS_PER_EXPRESSION = 16
"""With fewer rows for each expression, expressions of one shape are evaluated together."""


class ShapedExpressions:
    """Slots whose *attributes* have the shapes of their expressions instead of the expressions, until restored.

    Evaluation by column is fast if many rows have one expression. Machines that prefer their owners have different
    Rank texts: a few shapes with different constants. In a shape, ``MY._Rank3`` stands for constant number 3.
    """

    def __init__(self, slots: AdColumns, attributes: Sequence[str]) -> None:
        self._slots = slots
        self._before = {name: slots.column(name.lower()) for name in attributes}
        for name in attributes:
            self._share_shapes(name)

    def restore(self) -> None:
        """Restore the slots' own expressions."""
        for name, column in self._before.items():
            if self._slots.column(name.lower()) is not column:
                self._slots.give(name, column)

    def _share_shapes(self, attribute: str) -> None:
        slots, count = self._slots, len(self._before[attribute].expressions)
        if count < 2 or count * _ROWS_PER_EXPRESSION < len(slots):
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
        width = max(len(constants) for _, constants in shaped.values())
        columns: list[list[Any]] = [[None] * len(values) for _ in range(width)]
        for row, value in enumerate(values):
            if is_expression(value):
                values[row], constants = shaped[value]
                for index, constant in enumerate(constants):
                    columns[index][row] = constant
        for index, column_values in enumerate(columns):
            slots.with_column(f"_{attribute}{index}", column_values)
        slots.with_column(attribute, [None if value is ABSENT else value for value in values])


def _without_constants(node: Node, attribute: str, constants: list[Any]) -> Node | None:
    """Return the tree with references for constants, which it adds to *constants*; None if impossible."""

    def with_references(part: Node) -> Node:
        match part:
            case Literal(value):
                if isinstance(value, Absent) or (isinstance(value, str) and is_expression(value)):
                    return part
                constants.append(value)
                return Reference(Reference(None, "MY"), f"_{attribute}{len(constants) - 1}")
            case Unary(operator, operand):
                return Unary(operator, with_references(operand))
            case Binary(operator, left, right) if operator != "[]":
                return Binary(operator, with_references(left), with_references(right))
            case Conditional(condition, positive, negative):
                return Conditional(with_references(condition), with_references(positive), with_references(negative))
            case Reference():
                return part
            case _:
                # Functions may treat constants differently.
                raise _OtherShape

    try:
        return with_references(node)
    except _OtherShape:
        return None


class _OtherShape(Exception):  # noqa: N818 - no error: the expression is kept
    """The constants of a part of an expression cannot become columns."""
