"""Machines promised to large jobs that have waited long, so that smaller jobs do not take every core that gets free.

A job is large if the end of no single job would make room for it on any machine. It is promised the machine that has
room for it first. Until then, other jobs start there only if they end in time (backfilling, as in EASY).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.common.reservation import Reservation
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.decision import CycleDecision, StopReason
from fairq.engine.negotiation.evaluation import requirements_met
from fairq.engine.negotiation.partitionable import Partitions
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.simulation.queues import JobKey


class Promise(Struct, frozen=True):
    """The machine at *row* is promised to a *job* of *submitter*, by a reservation."""

    job: JobKey
    submitter: str
    row: int
    reservation: Reservation


class Part(Struct, frozen=True):
    """The part of a machine that a job uses until its *end* (seconds since 1970)."""

    end: int
    amounts: Mapping[str, float]


class Machines:
    """The slots that may be promised.

    Args:
        ads: all slots without claims, partitionable ones whole.
        usable, divided: per slot, whether it takes jobs, and whether it is partitionable.
        parts: by row, the parts of a slot that jobs use.
        policy: has the rules for rounding up requests.
    """

    def __init__(
        self,
        ads: AdColumns,
        usable: NDArray[np.bool_],
        divided: NDArray[np.bool_],
        parts: Mapping[int, Sequence[Part]],
        policy: NegotiationPolicy,
    ) -> None:
        self._ads, self._parts = ads, parts
        self._undivided = np.flatnonzero(usable & ~divided)
        self._machines = Partitions(ads, usable & divided, modifications=policy.modify_requests)

    def find_room(self, job: Ad) -> tuple[int, int] | None:
        """Return the earliest time and the row with room for a large *job* (names in lower case).

        None if the job fits nowhere or is not large.
        """
        machines = self._machines
        if not len(machines.rows) or requirements_met(job, self._ads, self._undivided).any():
            return None
        fitting = np.flatnonzero(requirements_met(job, machines.ads, np.arange(len(machines.rows))))
        requests = machines.request_rules.requested(job, machines.ads, fitting)
        candidates = []
        for column, machine in enumerate(fitting.tolist()):
            row = int(machines.rows[machine])
            parts = sorted(self._parts.get(row, ()), key=lambda part: part.end)
            amounts = [np.array([part.amounts.get(name, 0.0) for name in machines.resources]) for part in parts]
            free = machines.remaining[:, machine] - sum(amounts)
            ended = 0
            while ended < len(parts) and (requests[:, column] > free).any():
                free = free + amounts[ended]
                ended += 1
            if (requests[:, column] <= free).all():
                if ended < 2:
                    return None
                candidates.append((parts[ended - 1].end, row))
        return min(candidates, default=None)


_LIMIT_REASONS = frozenset(
    {StopReason.CEILING, StopReason.QUOTA, StopReason.CONCURRENCY_LIMIT, StopReason.SCHEDD}
    | {StopReason.SUBMITTER_CONSTRAINT, StopReason.JOB_CONSTRAINT}
)


def limited_submitters(decision: CycleDecision) -> set[str]:
    """Return the submitters stopped by a limit that further free slots would not lift."""
    return {entry.submitter for entry in decision.submitters if entry.stopped in _LIMIT_REASONS}
