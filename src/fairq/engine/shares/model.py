"""The records of DIRAC's scheme: requirements of task queues, jobs, groups, and credentials of pilots."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

DEFAULT_SHARE = 1000
"""The JobShare of a group without one (docs/dirac.md 3.1)."""


class Requirements(NamedTuple):
    """The common requirements of a task queue's jobs (docs/dirac.md 1.1, DIRAC TaskQueueDB).

    Created by `identity.requirements`, which strips, sorts and checks. Two jobs share a task queue exactly if these are
    equal. Names are case-sensitive (in DIRAC, this depends on the database). The fields that define *families* come
    first.

    Attributes:
        owner: the user's name.
        group: the group that the job was submitted with.
        cpu_time: CPU time in HS06 seconds, after bucketing (`cpu_time.bucket`).
        grid_ces, platforms, job_types, tags, sites, banned_sites: sets of names, empty: no requirement.
        min_ram, max_ram: MB; 0: no requirement.
    """

    owner: str
    group: str
    cpu_time: int
    grid_ces: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    banned_sites: tuple[str, ...] = ()
    min_ram: int = 0
    max_ram: int = 0


class TaskQueue(NamedTuple):
    """A task queue in its current state.

    Attributes:
        id: its number.
        requirements: the common requirements of its jobs.
        jobs: number of waiting jobs; 0: an emptied queue, which takes no part in the division.
        real_priorities: the sum of its jobs' real priorities (`user_priority.in_sum`).
    """

    id: int
    requirements: Requirements
    jobs: int
    real_priorities: float


class WaitingJob(NamedTuple):
    """A job in a task queue: its number, and its UserPriority (`user_priority.read_priority`)."""

    id: int
    user_priority: float


class OwnerGroup(Struct, frozen=True):
    """A group's part in the registry (`groups.read_group` makes it from DIRAC's options).

    Attributes:
        name: as jobs name it in OwnerGroup.
        share: JobShare, an absolute weight.
        job_sharing: property JobSharing: all its task queues are one pool, whoever owns them.
        background: AllowBackgroundTQs: queues whose jobs average at most 0.1 get the minimum priority.
        vo: the virtual organisation; "": none.
    """

    name: str
    share: float = DEFAULT_SHARE
    job_sharing: bool = False
    background: bool = False
    vo: str = ""


class Credentials(Struct, frozen=True):
    """The credentials of a pilot.

    Attributes:
        group: the group of its proxy.
        properties: of that group: GenericPilot, JobSharing, ...
        owner: the user's name; None if unknown.
        dn: the distinguished name; None if unknown.
    """

    group: str
    properties: frozenset[str] = frozenset()
    owner: str | None = None
    dn: str | None = None
