"""Data of imported accounting ads beyond the records; the views use it until the next cycle."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import asdict

from fairq.common.records import Ad
from fairq.state import cycles, meta
from fairq.state.connection import State

_REPORTED = "reported_accounting"


class Reported(Struct, frozen=True):
    """An imported report.

    Args:
        quotas: the quota attributes of the groups' ads, by group.
        names: the names of all records, in the order of the report.
        used: the records whose ads contain their usage, even if it is 0.
    """

    quotas: Mapping[str, Ad] = field(default_factory=dict)
    names: Sequence[str] = ()
    used: Collection[str] = ()


def keep_reported(state: State, reported: Reported) -> None:
    """Store *reported* until the next cycle."""
    meta.set(state, _REPORTED, json.dumps({"cycle": cycles.next_number(state), **asdict(reported)}))


def last_reported(state: State) -> Reported:
    """Return the report imported since the last cycle; empty if there is none."""
    stored = meta.get(state, _REPORTED)
    document = json.loads(stored) if stored else {}
    if document.pop("cycle", None) != cycles.next_number(state):
        return Reported()
    return Reported(**document)
