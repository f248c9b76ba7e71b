"""The idle jobs by column: ranges are sorted and searched without building records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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

TEXTS = ("schedd", "submitter", "owner", "own", "template", "reason")
"""The columns that hold texts, as indices in the list of texts."""

KIND = "kind"
"""The column with the number of a `KnownKind`; 0 if none is known or the jobs have attributes of their own."""

QUEUE = "queue"
"""Instead of `KIND`, the column with the number of a task queue with the needs of the jobs; 0: none is known."""

PRIORITIES = "priorities"
"""With `QUEUE`, the column with the priorities in the shared ads, as JSON."""

NO_NUMBER = int(np.iinfo(np.int64).min)
"""The value that means None in a column of numbers."""

_IDLE = int(JobStatus.IDLE)  # as other records have it: the representation of an ad's values tells autoclusters apart


class IdleJobs(Rows[JobRange]):
    """Ranges of idle jobs as rows of the columns `NUMBERS`, `TEXTS` and `KIND`. Reading a row builds a new record.

    *texts* has every text once; the first one is None.
    """

    def __init__(self, columns: dict[str, Numbers], texts: Sequence[str | None]) -> None:
        self.columns, self.texts = columns, texts

    def __len__(self) -> int:
        return len(self.columns["cluster"])

    def at(self, row: int) -> JobRange:
        """Return the range of a row."""
        return self._range([self.columns[name].item(row) for name in NUMBERS + TEXTS])

    def _range(self, values: Sequence[int]) -> JobRange:
        cluster, first, last, ad_id, queue_date, status_date, priority, hold_code, hold_subcode, *codes = values
        schedd, submitter, owner, own, template, reason = (self.texts[code] for code in codes)
        return JobRange(
            cluster,
            first,
            last,
            ad_id,
            submitter or "",
            owner or "",
            _IDLE,
            queue_date,
            status_date,
            priority,
            schedd or "",
            None if own is None else json.loads(own),
            None if template is None else json.loads(template),
            reason,
            None if hold_code == NO_NUMBER else hold_code,
            None if hold_subcode == NO_NUMBER else hold_subcode,
        )

    def __iter__(self) -> Iterator[JobRange]:
        # Numbers of NumPy, taken one by one, cost three times as much.
        lists = [self.columns[name].tolist() for name in NUMBERS + TEXTS]
        return (self._range(values) for values in zip(*lists, strict=True))

    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return int((self.columns["last_proc"] - self.columns["first_proc"] + 1).sum())

    def is_plain(self) -> NDArray[np.bool_]:
        """Return which ranges have neither attributes of their own nor a template."""
        is_plain: NDArray[np.bool_] = (self.columns["own"] == 0) & (self.columns["template"] == 0)
        return is_plain

    def of_clusters(self, clusters: Numbers) -> IdleJobs:
        """Return the ranges of these clusters."""
        return self.take(np.isin(self.columns["cluster"], clusters))

    def by_submitter(self) -> dict[tuple[str, str], IdleJobs]:
        """Return the ranges by submitter and schedd, in their present order."""
        keys = self.columns["submitter"] * len(self.texts) + self.columns["schedd"]
        order = np.argsort(keys, kind="stable")
        bounds = np.flatnonzero(np.diff(keys[order], prepend=-1, append=-1))
        # A column without strides has one value for all rows, and is not copied.
        columns = {name: column[order] if any(column.strides) else column for name, column in self.columns.items()}
        sorted_jobs = IdleJobs(columns, self.texts)
        parts = (sorted_jobs.take(slice(*pair)) for pair in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        return {(first.submitter, first.schedd): jobs for jobs in parts for first in [jobs.at(0)]}

    def take(self, rows: NDArray[Any] | slice) -> IdleJobs:
        """Return the ranges at these rows."""
        return IdleJobs({name: column[rows] for name, column in self.columns.items()}, self.texts)


class KnownKind(Struct, frozen=True, eq=False):
    """What all jobs of a kind have in common: *ad* has their values of the attributes *names* (lower case)."""

    names: frozenset[str]
    ad: dict[str, Any]


class Kinds:
    """The kinds known before a cycle, by number, and the kinds that the cycle *learned*, by id of the shared ad.

    A learned kind is that of the jobs with this shared ad and no attributes of their own. It may be a known kind.
    """

    def __init__(self, known: dict[int, KnownKind] | None = None) -> None:
        self.known = known or {}
        self.learned: dict[int, KnownKind] = {}
