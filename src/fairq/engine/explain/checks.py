"""Every clause of the Requirements of a job and of the slots, over the whole pool."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.expression_form import is_expression, may_read
from fairq.common.records import Ad
from fairq.engine.classad import (
    ERROR_KIND,
    UNDEFINED_KIND,
    AdColumns,
    Values,
    evaluate_in_ad,
    evaluate_in_columns,
    evaluate_scalar,
)
from fairq.engine.classad.column import ABSENT
from fairq.engine.classad.nodes import Literal
from fairq.engine.explain.clauses import Clause, clauses_of
from fairq.engine.explain.comparisons import Comparison, comparison

MOST_SLOT_EXPRESSIONS = 200
"""Maximum number of distinct slot Requirements to split; others count as one clause."""


class JobCheck(Struct, frozen=True):
    """A clause of the job: *passes* marks the slots that it allows; *compared_with* is the value compared.

    *undefined* and *error* count the slots on which it has these values.
    """

    clause: Clause
    passes: NDArray[np.bool_]
    comparison: Comparison | None
    compared_with: Any = None
    undefined: int = 0
    error: int = 0


class SlotCheck(Struct, frozen=True):
    """A clause of slots: the slots with it (*rows*), and those on which it allows the job (*passes*)."""

    clause: Clause
    rows: NDArray[np.intp]
    passes: NDArray[np.bool_]
    comparison: Comparison | None

    @property
    def refusing(self) -> NDArray[np.intp]:
        """The slots that refuse the job by this clause."""
        return self.rows[~self.passes]


class PoolChecks:
    """The clauses of both sides for one job (its ad with names in lower case) over all slots."""

    def __init__(self, job: Ad, slots: AdColumns) -> None:
        self.job = job
        self.slots = slots

    @cached_property
    def of_job(self) -> list[JobCheck]:
        """The job's clauses in the order written."""
        checks = []
        for clause in clauses_of(self.job):
            values = evaluate_in_ad(clause.expression, self.job, self.slots)
            undefined, error = (int(np.count_nonzero(values.kind == kind)) for kind in (UNDEFINED_KIND, ERROR_KIND))
            compared = comparison(clause.text, self.job)
            compared_with = None if compared is None else self._compared_value(compared)
            is_value = isinstance(compared_with, bool | int | float | str)
            comparison_and_value = (compared, compared_with) if is_value else (None, None)
            checks.append(JobCheck(clause, values.is_true(), *comparison_and_value, undefined, error))
        return checks

    def _compared_value(self, compared: Comparison) -> Any:
        """Return the value with which the job compares, in the job alone."""
        node = compared.value.node
        if compared.own is not None:
            value = self.job.get(compared.own.lower())
        else:
            value = node.value if isinstance(node, Literal) else None
        # HTCondor's library returns plain values unchanged, and takes long to load.
        if isinstance(value, int | float) or (isinstance(value, str) and value.isprintable() and not may_read(value)):
            return value
        return evaluate_scalar(compared.value, self.job, None, self.slots.now, self.slots.budget)

    @cached_property
    def of_slots(self) -> list[SlotCheck]:
        """The clauses of the slots' Requirements; equal clauses of many slots are one."""
        rows_by_clause: dict[Clause, list[NDArray[np.intp]]] = defaultdict(list)
        for number, rows in enumerate(_rows_by_value(self.slots, np.arange(len(self.slots)), "requirements")):
            levels = 5 if number < MOST_SLOT_EXPRESSIONS else 0
            for clause, clause_rows in self._clauses(rows, "requirements", levels):
                rows_by_clause[clause].append(clause_rows)
        return [self._slot_check(clause, np.concatenate(rows)) for clause, rows in rows_by_clause.items()]

    def fitting(self) -> NDArray[np.bool_]:
        """Return the matching slots: all clauses of both sides are true."""
        fits = np.ones(len(self.slots), np.bool_)
        for check in self.of_job:
            fits &= check.passes
        for slot_check in self.of_slots:
            fits[slot_check.refusing] = False
        return fits

    def values(self, check: JobCheck, rows: NDArray[np.intp] | list[int] | None = None) -> Values:
        """Return the attribute that *check* compares, of all slots or of *rows*."""
        assert check.comparison is not None
        return evaluate_in_columns(check.comparison.attribute, self.slots, self.job, rows)

    def bounds(self, check: SlotCheck, rows: NDArray[np.intp] | list[int]) -> Values:
        """Return the values with which the slots *rows* compare the job's attribute."""
        assert check.comparison is not None
        return evaluate_in_columns(check.comparison.value, self.slots, self.job, rows)

    def _clauses(self, rows: NDArray[np.intp], attribute: str, levels: int) -> list[tuple[Clause, NDArray[np.intp]]]:
        """Return the clauses of *attribute*, equal in all *rows*; a named expression is replaced by its clauses."""
        ad = self.slots.json_ad(int(rows[0]), [attribute])
        result: list[tuple[Clause, NDArray[np.intp]]] = []
        for clause in clauses_of(ad, attribute):
            name = clause.text.lower().removeprefix("my.")
            if levels and name.isidentifier() and self.slots.nodes(name):
                for same_rows in _rows_by_value(self.slots, rows, name):
                    value = self.slots.json_value(int(same_rows[0]), name)
                    result += (
                        self._clauses(same_rows, name, levels - 1) if is_expression(value) else [(clause, same_rows)]
                    )
            else:
                result.append((clause, rows))
        return result

    def _slot_check(self, clause: Clause, rows: NDArray[np.intp]) -> SlotCheck:
        passes = evaluate_in_columns(clause.expression, self.slots, self.job, rows).is_true()
        compared = comparison(clause.text, self.slots.names())
        return SlotCheck(clause, rows, passes, compared)


def _rows_by_value(slots: AdColumns, rows: NDArray[np.intp], attribute: str) -> list[NDArray[np.intp]]:
    """Return the slots of *rows* that have *attribute*, grouped by its JSON form."""
    if slots.column(attribute).is_constant and len(rows):
        return [rows] if slots.json_value(int(rows[0]), attribute) is not ABSENT else []
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows.tolist():
        value = slots.json_value(row, attribute)
        if value is not ABSENT:
            groups[repr(value)].append(row)
    return [np.array(members, np.intp) for members in groups.values()]
