"""Changes that would let a job run, as data: the kind, the owner and the new value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct


class ChangeKind(StrEnum):
    """What is changed."""

    JOB_ATTRIBUTE = "job attribute"
    REQUIREMENTS_CLAUSE = "requirements clause"
    SLOT_CLAUSE = "slot clause"
    JOB_PRIORITY = "job priority"
    FACTOR = "factor"
    PRIORITY = "priority"
    FLOOR = "floor"
    CEILING = "ceiling"
    QUOTA = "quota"
    ACCEPT_SURPLUS = "accept surplus"
    CONCURRENCY_LIMIT = "concurrency limit"
    SETTING = "setting"
    TIME_BUDGET = "time budget"
    FREE_SLOT = "free slot"
    UNDRAIN = "undrain slot"
    ADD_SLOT = "add slot"


OWNERS = frozenset({ChangeKind.JOB_ATTRIBUTE, ChangeKind.REQUIREMENTS_CLAUSE, ChangeKind.JOB_PRIORITY})
"""Changes that the owner of a job can make; others need an administrator."""


def maker(changes: Iterable[Change]) -> str:
    """Return who can make all of *changes*: the "owner" of the job, or only an "administrator"."""
    return "owner" if all(change.kind in OWNERS for change in changes) else "administrator"


REQUESTS = {
    "requestcpus": "request_cpus",
    "requestmemory": "request_memory",
    "requestdisk": "request_disk",
    "requestgpus": "request_gpus",
}
"""The submit commands of job attributes; a change of such an attribute has the command as its kind."""


TIME_BUDGETS: dict[str, str] = {
    "cycle": "negotiator_max_time_per_cycle",
    "submitter": "negotiator_max_time_per_submitter",
    "schedd": "negotiator_max_time_per_schedd",
    "spin": "negotiator_max_time_per_piespin",
}
"""The setting of each time budget."""


class Change(Struct, frozen=True):
    """One change.

    Args:
        kind: the kind of change.
        of: the job, slot, submitter, group, limit or setting (a setting without a value is left out). For an added
            slot, the slot that it resembles (*to* is then its name, or the number of added slots).
        to: the new value; None for a removed clause.
        attribute: of a job or slot: the attribute, in lower case for a clause.
        clause: the clause that is removed or replaced.
        now: the current value, if known.
    """

    kind: ChangeKind
    of: str
    to: Any = None
    attribute: str | None = None
    clause: str | None = None
    now: Any = None

    def document(self) -> dict[str, Any]:
        """Return the change as plain data."""
        name = REQUESTS.get((self.attribute or "").lower()) if self.kind is ChangeKind.JOB_ATTRIBUTE else None
        record = {"change": name or str(self.kind), "of": self.of, "to": self.to}
        optional = {"attribute": self.attribute, "clause": self.clause, "now": self.now}
        return record | {name: value for name, value in optional.items() if value is not None}
