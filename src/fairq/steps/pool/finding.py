"""The result of one check of a pool."""

from __future__ import annotations

from dataclasses import dataclass

GOOD, FAULT, NOT_NEEDED = "good", "fault", "not needed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: *name*, *status* (good, fault or not needed), detail, and the cure of a fault."""

    name: str
    status: str
    detail: str
    cure: str | None = None
