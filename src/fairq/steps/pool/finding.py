"""The result of one check of a pool."""

from __future__ import annotations

from msgspec import Struct

GOOD, FAULT, NOT_NEEDED = "good", "fault", "not needed"


class Finding(Struct, frozen=True):
    """The result of one check: *name*, *status* (good, fault or not needed), detail, and the cure of a fault."""

    name: str
    status: str
    detail: str
    cure: str | None = None
