"""What becomes of the queues of tasks in a flow, step by step; tasks whose queues go the same way share it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.bits import Runs

TEMPORARY_STAGE = "temporary problem check"

_COUNTS_KEPT = 10_000
"""Sets whose numbers of members are kept: a few megabytes."""


class StageCount(NamedTuple):
    """Queues before and after one stage: *rows* counts pseudo queues, *units* counts queues as CRIC knows them.

    *marked* counts the rows that it refuses temporarily; they are still counted after it.
    """

    stage: str
    rows_before: int
    rows_after: int
    units_before: int
    units_after: int
    marked: int = 0


class Refusal(Struct, frozen=True, gc=False):
    """Queues refused for one reason, unless an earlier refusal of the same task has them.

    Args:
        number: of the reason in the plan.
        rows: the queues, as a set of `fairq.engine.brokerage.pool.bits`.
        permanent: the queues are refused at once.
        shared: the same object stands for all tasks that have the same needs.
    """

    number: int
    rows: int
    permanent: bool = True
    shared: bool = False


class Answer:
    """What a filter refuses to some tasks; no other filter has the same object."""

    __slots__ = ("refusals",)

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        self.refusals = refusals


Answers = tuple[Answer | None, ...]
"""Of several filters; None: a filter does not apply."""

_NOTHING = Answer(())
"""Any answer that refuses nothing of what is left."""


class Course(Struct, eq=False):
    """What became of the queues so far: the same object stands for all tasks whose queues went the same way.

    Args:
        tally: that of the flow of these tasks.
        members: the set of the rows not refused, those with a temporary problem included.
        refusals, marks, stages: see `FilterPipeline`.
        counts: the numbers of rows and units after the last stage.
        marked: None if no filter has looked at the queues in the stage under way; otherwise the number of rows that it
            has marked.
        before: the last course before this one that tasks have in common; None: they have this one in common.
        is_open: filters go on looking: queues are left.
        next: the courses after this one: by the answer of a filter, the answers of several, or the stage that ends.
    """

    tally: Tally
    members: int
    refusals: tuple[Refusal, ...]
    marks: tuple[Refusal, ...]
    stages: tuple[StageCount, ...]
    counts: tuple[int, int]
    marked: int | None = None
    before: Course | None = None
    is_open: bool = True
    next: dict[Answer | Answers | str, Course] = field(default_factory=dict)

    @property
    def shared(self) -> Course:
        """The last course up to this one that tasks have in common."""
        return self if self.before is None else self.before

    def after(self, answer: Answer) -> Course:
        """Return the course after the answer of a filter that other tasks get as well."""
        found = self.next.get(answer)
        if found is None:
            found = self.next[answer] = self._refuse(answer.refusals, self.before)
            self.tally.courses += 1
        return found

    def refuse(self, refusals: Iterable[Refusal]) -> Course:
        """Return the course after a filter refused the queues that are left and that *refusals* name."""
        return self._refuse(refusals, self.shared)

    def _refuse(self, refusals: Iterable[Refusal], shared: Course | None) -> Course:
        members, refused, marks, marked = self.members, self.refusals, self.marks, self.marked or 0
        for refusal in refusals:
            hit = members & refusal.rows
            if not hit:
                continue
            if refusal.permanent:
                refused = (*refused, refusal)
                members ^= hit
            else:
                marks = (*marks, refusal)
                marked += hit.bit_count()
        if refused is self.refusals and marks is self.marks:
            return self.looked()
        return Course(self.tally, members, refused, marks, self.stages, self.counts, marked, shared, members != 0)

    def looked(self) -> Course:
        """Return the course after a filter that refused nothing."""
        if self.marked is not None:
            return self
        found = self.next.get(_NOTHING)
        if found is None:
            found = self.next[_NOTHING] = Course(
                self.tally,
                self.members,
                self.refusals,
                self.marks,
                self.stages,
                self.counts,
                0,
                self.before,
                self.members != 0,
            )
        return found

    def refuse_all(self, number: int) -> Course:
        """Return the course after every queue is refused for the reason of this *number*."""
        refused = (*self.refusals, self.tally.refusal_of_all(number))
        return Course(self.tally, 0, refused, self.marks, self.stages, self.counts, None, self.shared, False)

    def end_stage(self, stage: str) -> Course:
        """Return the course after *stage*, with the count of what it left."""
        found = self.next.get(stage)
        if found is None:
            is_private = self.before is not None
            counts = self.tally.counted(self.members) if is_private else self.tally.counts(self.members)
            stages = (*self.stages, self.tally.line(stage, self.counts, counts, self.marked or 0))
            found = Course(
                self.tally,
                self.members,
                self.refusals,
                self.marks,
                stages,
                counts,
                None,
                self.before,
                self.members != 0,
            )
            if not is_private:
                self.next[stage] = found
        return found

    def settle_temporary(self) -> Course:
        """Return the course after the queues with a temporary problem are removed, for the last one each."""
        if not self.marks:
            return self.end_stage(TEMPORARY_STAGE)
        found = self.next.get(TEMPORARY_STAGE)
        if found is None:
            members, refused = self.members, self.refusals
            for mark in reversed(self.marks):
                hit = members & mark.rows
                if hit:
                    refused = (*refused, mark)
                    members ^= hit
            settled = Course(self.tally, members, refused, self.marks, self.stages, self.counts, before=self.before)
            found = self.next[TEMPORARY_STAGE] = settled.end_stage(TEMPORARY_STAGE)
        return found


class Tally:
    """Counts the queues of a flow in one run, and the courses that tasks have in common.

    Args:
        unit_of: for each row the number of its unit, ascending.

    Attributes:
        every: the set of all rows.
        courses: how many courses tasks have in common.
    """

    def __init__(self, unit_of: NDArray[np.intp]) -> None:
        self.every = (1 << len(unit_of)) - 1
        self.courses = 0
        self._runs = Runs(unit_of)
        self._counts: dict[int, tuple[int, int]] = {}
        self._lines: dict[tuple[str, tuple[int, int], tuple[int, int], int], StageCount] = {}
        self._of_all: dict[int, Refusal] = {}

    def start(self) -> Course:
        """Return a new course in which no queue is refused."""
        self.courses = 0
        # A filter looks even where there are no queues from the first, which makes a stage of 0 queues.
        return Course(self, self.every, (), (), (), self.counts(self.every))

    def refusal_of_all(self, number: int) -> Refusal:
        """Return the refusal of every queue for the reason of this *number*."""
        return self._of_all.setdefault(number, Refusal(number, self.every, shared=True))

    def line(self, stage: str, before: tuple[int, int], after: tuple[int, int], marked: int) -> StageCount:
        """Return a line of the stage table: the same object for equal lines, so that they need not be compared."""
        key = stage, before, after, marked
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = StageCount(stage, before[0], after[0], before[1], after[1], marked)
        return found

    def counts(self, members: int) -> tuple[int, int]:
        """Return the numbers of rows and of units in the set *members*; after the first stages, tasks have the same."""
        found = self._counts.get(members)
        if found is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            found = self._counts[members] = self.counted(members)
        return found

    def counted(self, members: int) -> tuple[int, int]:
        """Return `counts` of a set that no other task is likely to have."""
        return members.bit_count(), self._runs.count(members)
