"""The idle jobs of one submitter by column: ranges are read, sorted and searched without a record each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.columns.rows import Rows
from fairq.common.records import JobRange, JobStatus

Numbers = NDArray[np.int64]

NUMBERS = (
    "cluster",
    "first_proc",
    "last_proc",
    "ad_id",
    "queue_date",
    "status_date",
    "priority",
    "hold_code",
    "hold_subcode",
)
"""The columns that hold numbers."""

TEXTS = ("owner", "own", "template", "reason")
"""The columns that hold texts, as numbers of the list of texts."""

_IDLE = int(JobStatus.IDLE)  # as other records have it: the representation of an ad's values tells autoclusters apart
_NONE = np.iinfo(np.int64).min
"""In a column of numbers: none."""


class IdleJobs(Rows[JobRange]):
    """Ranges of idle jobs of *submitter* at *schedd*, as rows of the columns `NUMBERS`, `TEXTS` and ``kind``.

    A kind is the number of a `KnownKind`, 0 if none is known. Reading a row makes a new record.
    """

    def __init__(self, schedd: str, submitter: str, columns: dict[str, Numbers], texts: Sequence[str | None]) -> None:
        self.schedd, self.submitter = schedd, submitter
        self.columns, self.texts = columns, texts

    def __len__(self) -> int:
        return len(self.columns["cluster"])

    def at(self, row: int) -> JobRange:
        """Return the range of a row."""
        return self._range([self.columns[name].item(row) for name in NUMBERS + TEXTS])

    def _range(self, values: Sequence[int]) -> JobRange:
        cluster, first, last, ad_id, queue_date, status_date, priority, code, subcode, *texts = values
        owner, own, template, reason = (self.texts[number] for number in texts)
        return JobRange(
            cluster,
            first,
            last,
            ad_id,
            self.submitter,
            owner or "",
            _IDLE,
            queue_date,
            status_date,
            priority,
            self.schedd,
            None if own is None else json.loads(own),
            None if template is None else json.loads(template),
            reason,
            None if code == _NONE else code,
            None if subcode == _NONE else subcode,
        )

    def __iter__(self) -> Iterator[JobRange]:
        # Numbers of NumPy, taken one by one, cost three times as much.
        lists = [self.columns[name].tolist() for name in NUMBERS + TEXTS]
        return (self._range(values) for values in zip(*lists, strict=True))

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return int((self.columns["last_proc"] - self.columns["first_proc"] + 1).sum())

    def is_plain(self) -> NDArray[np.bool_]:
        """Return which ranges have nothing of their own beside their columns."""
        missing = np.array([text is None for text in self.texts], np.bool_)
        return missing[self.columns["own"]] & missing[self.columns["template"]]

    def without(self, clusters: Iterable[int]) -> IdleJobs:
        """Return the ranges of all other clusters."""
        of_these = among(self.columns["cluster"], clusters)
        return self._rows(~of_these) if of_these.any() else self

    def of_clusters(self, clusters: Iterable[int]) -> IdleJobs:
        """Return the ranges of these clusters."""
        return self._rows(among(self.columns["cluster"], clusters))

    def joined(self, other: IdleJobs) -> IdleJobs:
        """Return these ranges, and *other* ones of the same submitter after them."""
        columns = {
            name: np.concatenate([column, other.columns[name] + (len(self.texts) if name in TEXTS else 0)])
            for name, column in self.columns.items()
        }
        return IdleJobs(self.schedd, self.submitter, columns, [*self.texts, *other.texts])

    def _rows(self, rows: NDArray[np.bool_]) -> IdleJobs:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return IdleJobs(self.schedd, self.submitter, columns, self.texts)


def among(own: Numbers, clusters: Iterable[int]) -> NDArray[np.bool_]:
    """Return which of the numbers *own* are among *clusters*."""
    # For a hundred numbers, np.isin takes four times as long.
    wanted = np.sort(np.fromiter(clusters, np.int64))
    if not len(wanted):
        return np.zeros(len(own), np.bool_)
    found: NDArray[np.bool_] = wanted[np.minimum(np.searchsorted(wanted, own), len(wanted) - 1)] == own
    return found


def idle_jobs(rows_of: Mapping[tuple[str, str], Sequence[Sequence[Any]]]) -> Iterator[IdleJobs]:
    """Return rows by schedd and submitter, each with the values of `NUMBERS` and `TEXTS`; their kinds are unknown."""
    # An array of its own for each column of each submitter would cost several times as much.
    values: list[list[Any]] = [[] for _ in NUMBERS + TEXTS]
    every_text: list[list[str | None]] = []
    for rows in rows_of.values():
        texts: dict[str | None, int] = {}
        for name, column, of_rows in zip(NUMBERS + TEXTS, values, zip(*rows, strict=True), strict=True):
            column.extend((texts.setdefault(text, len(texts)) for text in of_rows) if name in TEXTS else of_rows)
        every_text.append(list(texts))
    columns: dict[str, Numbers] = {}
    for name, column in zip(NUMBERS + TEXTS, values, strict=True):
        known = [_NONE if value is None else value for value in column] if name.startswith("hold") else column
        columns[name] = np.array(known, np.int64)
    columns["kind"] = np.zeros(len(columns["cluster"]), np.int64)
    start = 0
    for (schedd, submitter), texts_of_rows in zip(rows_of, every_text, strict=True):
        here = slice(start, start := start + len(rows_of[schedd, submitter]))
        yield IdleJobs(schedd, submitter, {name: column[here] for name, column in columns.items()}, texts_of_rows)


class KnownKind(Struct, frozen=True):
    """What all jobs of a kind have in common: their attributes *names* (lower case) are those of *ad*."""

    names: frozenset[str]
    ad: dict[str, Any]


class Kinds:
    """The kinds known before a cycle by number, and what the cycle *learned*, by the number of a shared ad.

    That is the kind of the jobs with this ad that have nothing of their own: a known one, or a new one.
    """

    def __init__(self, known: dict[int, KnownKind] | None = None) -> None:
        self.known = known or {}
        self.learned: dict[int, KnownKind] = {}
