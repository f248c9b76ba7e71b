"""The input of a cycle: the slots in their current state, and the idle jobs of each submitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.carving import Carved
from fairq.idle_jobs import Kinds
from fairq.records import Ad, JobRange


class PoolSlots(Struct, frozen=True):
    """All slots of the pool, in the order the negotiator lists them.

    Args:
        names: one per slot, as advertised.
        keys: one per slot, the accountant's key of its use.
        ads: the slots' ads as columns, with the claims that fairq has made.
        draining: indices of slots that get no more jobs.
        carved: the dynamic slots that fairq made itself, by index.
    """

    names: Sequence[str]
    keys: Sequence[int]
    ads: AdColumns
    draining: frozenset[int] = frozenset()
    carved: Mapping[int, Carved] = field(default_factory=dict)


class SubmitterQueue(Struct, frozen=True):
    """One submitter at one schedd: its idle jobs in any order, its number of running jobs, and their slot weight.

    Where cycles follow each other, *version* changes with every job that comes, and no other queue
    has had it; jobs go only as cycles match them.
    """

    name: str
    schedd: str
    running_jobs: int
    idle: Sequence[JobRange]
    running_weight: float = 0.0
    version: int | None = None


class Jobs(Struct, frozen=True):
    """All submitters' queues, the shared ads of their jobs by ad id, and the *kinds* of jobs that are known."""

    queues: Sequence[SubmitterQueue]
    ads: Mapping[int, Ad]
    kinds: Kinds = field(default_factory=Kinds)
