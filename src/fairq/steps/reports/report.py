"""Usage in a period: by user, group, slot, and by hours, days, weeks, months or years.

Usage is cut at the ends of the period; jobs count in the period in which they ended. Charges come from the ledger,
whose sums equal those of userprio; running times come from the runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.common.periods import KINDS, Period, bucket_start, day_start, periods
from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, is_group_name
from fairq.state import report_figures, usage
from fairq.state.connection import State, reading
from fairq.steps.cycle.accounting_policy import accounting_policy, is_dominant
from fairq.steps.cycle.accounts import last_update
from fairq.steps.quotas.last_cycle import dominant_resources
from fairq.steps.quotas.loans import borrowed_runs
from fairq.steps.reports.line import Line

if TYPE_CHECKING:
    from fairq.settings import Settings

OTHERS = "others"
OF_JOBS = ("user", "submitter", "group", "slot", "machine")
DIMENSIONS = (*OF_JOBS, *KINDS)
_OF_PEOPLE = ("user", "submitter")
_OF_SLOTS = ("slot", "machine")
_IMPORTED = ("import", "earlier")


class Report(Struct):
    """The *lines* of a report *by* at most two dimensions from *since* to *until*, and their *total*.

    *charged* tells whether lines have charges; the ledger has none by slot. The lines include *edits*. *dominant* has
    the dominant resources of the last cycle, if lines are of users or submitters.
    """

    since: int
    until: int
    by: tuple[str, ...]
    lines: list[Line]
    total: Line
    charged: bool
    notes: list[str] = field(default_factory=list)
    dominant: dict[str, str] = {}


def report(
    path: Path,
    settings: Settings,
    by: Sequence[str],
    since: int,
    until: int,
    *,
    top: int | None = None,
    is_wanted: Callable[[str], bool] = lambda _: True,
) -> Report:
    """Return the use from *since* to *until* by at most two of `DIMENSIONS`, for submitters that *is_wanted* accepts.

    Both ends are moved back to the start of a ledger bucket, except an *until* in an unfinished bucket. Only the *top*
    lines are shown separately.
    """
    groups = accounting_policy(settings).group_names
    notes: list[str] = []
    of_slots = bool(set(by) & set(_OF_SLOTS))
    with reading(path) as state:
        now = last_update(state)
        since, until = _aligned_window(state, since, until, now, notes)
        kind = next((name for name in by if name in KINDS), None)
        spans = [Period("", since, until)] if kind is None else list(periods(kind, since, until))
        parts = [_Lines(span, by, groups, is_wanted) for span in spans]
        for (period_index, submitter, slot), run_sums in _run_sums(state, spans, now, of_slots).items():
            parts[period_index].add_runs(submitter, slot, run_sums)
        if "group" in by and not of_slots:
            for submitter, start, end, weight in borrowed_runs(state, settings, since, until, now):
                for index, seconds in _overlaps(spans, start, end):
                    if (line := parts[index].line(submitter)) is not None:
                        line.borrowed_seconds += seconds * weight
        if not of_slots:
            for part in parts:
                part.add_ended(state)
                part.add_lost(state)
                part.add_ledger(state)
        dominant = dominant_resources(state) if is_dominant(settings) and by[0] in _OF_PEOPLE else {}
        lines = [line for part in parts for line in sorted(part.found.values(), key=_rank) if not line.is_empty]
    total = Line(())
    for line in lines:
        total.add(line)
    lines = _limit_lines(lines, top)
    return Report(since, until, tuple(by), lines, total, not of_slots, notes, _by_key(by[0], dominant, groups))


def _by_key(name: str, dominant: dict[str, str], groups: tuple[str, ...]) -> dict[str, str]:
    """Return the dominant resources of each person's submitters."""
    by_person: dict[str, set[str]] = defaultdict(set)
    for submitter, resource in dominant.items():
        by_person[_key(name, submitter, "", groups)].add(resource)
    return {key: ", ".join(sorted(resources)) for key, resources in by_person.items()}


def _aligned_window(state: State, since: int, until: int, now: int, notes: list[str]) -> tuple[int, int]:
    """Return the window, aligned with the ledger's buckets."""
    thinned = usage.thinned_until(state)

    def aligned(time: int) -> int:
        return day_start(time) if time < thinned else bucket_start(time)

    window = aligned(since), until if until >= now else aligned(until)
    if window != (since, until):
        notes.append("usage is kept by the hour, and by the day after two months: the window begins and ends with one")
    return window


class _RunSums(Struct):
    """The number of runs, their seconds, and their seconds weighted by slot weight."""

    runs: int = 0
    seconds: float = 0.0
    weighted: float = 0.0


def _run_sums(state: State, spans: Sequence[Period], now: int, of_slots: bool) -> dict[tuple[int, str, str], _RunSums]:
    """Return the runs, cut to the spans, by index of the span, submitter, and (if *of_slots*) slot."""
    sums: dict[tuple[int, str, str], _RunSums] = defaultdict(_RunSums)
    # Runs shorter than a span are summed up by SQLite, which reads them at most twice.
    longest = max(span.end - span.start for span in spans)
    for index, span in enumerate(spans):
        for figures in report_figures.run_sums(state, span.start, span.end, longest, by_slot=of_slots):
            sums[index, figures.submitter, figures.slot] = _RunSums(figures.runs, figures.seconds, figures.weighted)
    for submitter, slot, start, end, weight in report_figures.ran(state, spans[0].start, spans[-1].end, longest, now):
        for index, seconds in _overlaps(spans, start, end):
            run_sums = sums[index, submitter, slot if of_slots else ""]
            run_sums.runs += 1
            run_sums.seconds += seconds
            run_sums.weighted += seconds * weight
    return sums


def _overlaps(spans: Sequence[Period], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the consecutive *spans* that the time from *start* to *end* meets, with the seconds there."""
    place = max(0, bisect_right(spans, start, key=lambda span: span.start) - 1)
    while place < len(spans) and (spans[place].start < end or spans[place].start <= start == end):
        yield place, min(end, spans[place].end) - max(start, spans[place].start)
        place += 1


class _Lines:
    """The lines of one period, by their keys."""

    def __init__(
        self, span: Period, by: Sequence[str], groups: tuple[str, ...], is_wanted: Callable[[str], bool]
    ) -> None:
        self.found: dict[tuple[str, ...], Line] = {}
        self._span = span
        self._by = by
        self._groups = groups
        self._wanted = is_wanted
        self._start = span.start if any(name in KINDS for name in by) else None
        self._bare: set[str] = set()

    def line(self, submitter: str, slot: str = "") -> Line | None:
        """Return the line of a submitter (and a slot); None if the submitter is not wanted."""
        if not self._wanted(submitter):
            return None
        keys = tuple(
            self._span.label if name in KINDS else _key(name, submitter, slot, self._groups) for name in self._by
        )
        return self.found.setdefault(keys, Line(keys, self._start))

    def add_runs(self, submitter: str, slot: str, run_sums: _RunSums) -> None:
        """Add the runs of one submitter."""
        if is_group_name(submitter):
            self._bare.add(submitter)
        if (line := self.line(submitter, slot)) is not None:
            line.runs += run_sums.runs
            line.slot_seconds += run_sums.seconds
            line.weighted_seconds += run_sums.weighted

    def add_ended(self, state: State) -> None:
        """Add the jobs that ended."""
        for figures in report_figures.ended(state, self._span.start, self._span.end):
            if (line := self.line(figures.submitter)) is not None:
                line.jobs += figures.jobs
                line.failed += figures.failed
                line.removed += figures.removed
                line.measured += figures.measured
                line.cpu_seconds += figures.cpu
                line.core_seconds += figures.cores
                line.waits.extend(figures.waits)

    def add_lost(self, state: State) -> None:
        """Add the use of preempted runs."""
        for submitter, seconds in report_figures.lost(state, self._span.start, self._span.end).items():
            if (line := self.line(submitter)) is not None:
                line.lost_seconds += seconds

    def add_ledger(self, state: State) -> None:
        """Add charges, edits and imports."""
        for name, row in usage.sums(state, self._span.start, self._span.end).items():
            if self._is_submitter(name) and (line := self.line(name)) is not None:
                line.charged_seconds += row.weighted
                line.entitled_seconds += row.entitled
                line.delivered_seconds += row.delivered
                line.wanting_seconds += row.wanting
        for edit in usage.edits_between(state, self._span.start, self._span.end):
            if self._is_submitter(edit.name) and (line := self.line(edit.name)) is not None:
                if edit.kind in _IMPORTED:
                    line.imported_seconds += edit.weighted
                else:
                    line.edited_seconds += edit.weighted

    def _is_submitter(self, name: str) -> bool:
        """Return whether a ledger row is a submitter's; a group's row would count the use of its members twice."""
        return not is_group_name(name) or name in self._bare


def _key(name: str, submitter: str, slot: str, groups: tuple[str, ...]) -> str:
    if name == "submitter":
        return submitter
    if name == "slot":
        return slot
    if name == "machine":
        return slot.rpartition("@")[2]
    group = assigned_group(submitter, groups)
    if name == "group":
        return group
    # A person: the submitter without the group.
    return submitter if group == ROOT_GROUP or is_group_name(submitter) else submitter[len(group) + 1 :]


def _rank(line: Line) -> tuple[float, float, tuple[str, ...]]:
    """Return the sort key that puts the largest lines first."""
    return -line.charged_seconds, -line.weighted_seconds, line.keys


def _limit_lines(lines: list[Line], top: int | None) -> list[Line]:
    if top is None or len(lines) <= top:
        return lines
    largest = sorted(lines, key=_rank)[:top]
    chosen = {line.keys for line in largest}
    others = Line((OTHERS, *[""] * (len(lines[0].keys) - 1)))
    for line in lines:
        if line.keys not in chosen:
            others.add(line)
    return [*(line for line in lines if line.keys in chosen), others]
