"""What task queues need to know of idle jobs, by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad, JobStatus
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.kept_queues import JobKey

Numbers = NDArray[np.int64]

_NUMBERS = ("cluster", "first_proc", "last_proc", "ad_id", "priority")
_TEXTS = ("schedd", "owner")
_ADS = ("own", "template")
"""The columns of a job, by what they hold."""

_AT_ONCE = 500
"""So many ads are read together."""

_ORDER = "ORDER BY cluster, schedd, first_proc"


class IdleRanges(NamedTuple):
    """Ranges of idle jobs, ordered by cluster, schedd, first proc; the columns are those of `JobRange`.

    *own* and *template* are places in *owns* (texts) and *templates*, where equal ones are once; -1: none.
    """

    cluster: Numbers
    first_proc: Numbers
    last_proc: Numbers
    ad_id: Numbers
    priority: Numbers
    schedd: Sequence[str]
    owner: Sequence[str]
    own: Numbers
    template: Numbers
    owns: list[str]
    templates: list[Ad]

    def own_ads(self) -> Iterator[list[Ad]]:
        """Yield the ads of *owns*, some at a time: who needs a part of each keeps no more."""
        return (rows.loads_all(self.owns[start : start + _AT_ONCE]) for start in range(0, len(self.owns), _AT_ONCE))


def count(state: State) -> int:
    """Return how many ranges of idle jobs there are."""
    found = state.connection.execute("SELECT count(*) FROM job WHERE status = ?", (JobStatus.IDLE,))
    return int(found.fetchone()[0])


def condition(state: State) -> str:
    """Return the SQL condition by which all idle jobs are found in least time, in the order of clusters and procs."""
    (every,) = state.connection.execute("SELECT count(*) FROM job").fetchone()
    # The plus keeps SQLite from the index of statuses: to read most jobs in their order takes a third of the time.
    return f"{'+status' if count(state) > every / 4 else 'status'} = {int(JobStatus.IDLE)}"


def load(state: State) -> IdleRanges:
    """Return all idle jobs."""
    found = f"FROM job WHERE {condition(state)} {_ORDER}"
    # SQLite puts a column into one text in a third of the time that Python takes to make an object of each value.
    columns = [f"group_concat({name})" for name in _NUMBERS] + [f"json_group_array({name})" for name in _TEXTS]
    counts = [f"count({name})" for name in _ADS]
    size, *values = state.connection.execute(
        f"SELECT count(*), {', '.join(columns + counts)} FROM (SELECT {', '.join(_NUMBERS + _TEXTS + _ADS)} {found})"
    ).fetchone()
    numbers = [_numbers(text, size) for text in values[: len(_NUMBERS)]]
    texts = [rows.loads_array(text) for text in values[len(_NUMBERS) : len(columns)]]
    ads: list[list[str | None]] = [
        [text for (text,) in state.connection.execute(f"SELECT {name} {found}")] if count else [None] * size
        for name, count in zip(_ADS, values[len(columns) :], strict=True)
    ]
    return _ranges(numbers, texts, ads)


def at(state: State, keys: Iterable[JobKey]) -> IdleRanges:
    """Return those of the ranges *keys* that are there and idle."""
    where = f"cluster = ? AND schedd = ? AND first_proc = ? AND status = {int(JobStatus.IDLE)}"
    find = f"SELECT {', '.join(_NUMBERS + _TEXTS + _ADS)} FROM job WHERE {where}"
    each = (state.connection.execute(find, key).fetchone() for key in sorted(set(keys)))
    found = [row for row in each if row is not None]
    columns = list(zip(*found, strict=True)) if found else [()] * len(_NUMBERS + _TEXTS + _ADS)
    texts, ads = len(_NUMBERS), len(_NUMBERS + _TEXTS)
    return _ranges([np.array(column, np.int64) for column in columns[:texts]], columns[texts:ads], columns[ads:])


def _numbers(text: str | None, size: int) -> Numbers:
    """Return the *size* numbers of a text."""
    found = np.fromstring(text or "", np.int64, sep=",")
    if len(found) != size:
        raise ValueError("a number of a job is none")
    return found


def _ranges(
    numbers: Sequence[Numbers], texts: Sequence[Sequence[str]], ads: Sequence[Sequence[str | None]]
) -> IdleRanges:
    cluster, first, last, ad_id, priority = numbers
    schedd, owner = texts
    (own, owns), (template, templates) = map(_once, ads)
    return IdleRanges(
        cluster, first, last, ad_id, priority, schedd, owner, own, template, owns, rows.loads_all(templates)
    )


def _once(texts: Sequence[str | None]) -> tuple[Numbers, list[str]]:
    """Return over the *texts* the place of each one among the different ones, and these."""
    different = dict.fromkeys(texts)
    if len(different) == len(texts) and None not in different:
        return np.arange(len(texts)), list(texts)  # type: ignore[arg-type]
    different.pop(None, None)
    once: list[str] = list(different)  # type: ignore[arg-type]
    places: dict[str | None, int] = dict(zip(once, range(len(once)), strict=True))
    places[None] = -1
    return np.fromiter(map(places.__getitem__, texts), np.int64, len(texts)), once
