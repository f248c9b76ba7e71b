"""What imported accounting ads say beyond the records: it counts for the views until a cycle says more."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from fairq.records import Ad
from fairq.state import cycles, meta
from fairq.state.connection import State

_REPORTED = "reported_accounting"


@dataclass(frozen=True, slots=True)
class Reported:
    """The report that was imported.

    Args:
        quotas: what the ads of groups say of their quotas, by group.
        names: all records, in the order of the report.
        used: the records whose ads say what was used, even if that is nothing.
    """

    quotas: Mapping[str, Ad] = field(default_factory=dict)
    names: Sequence[str] = ()
    used: Collection[str] = ()


def keep_reported(state: State, reported: Reported) -> None:
    """Keep what was *reported* until the next cycle."""
    meta.set(state, _REPORTED, json.dumps({"cycle": cycles.next_number(state), **asdict(reported)}))


def last_reported(state: State) -> Reported:
    """Return what was imported since the last cycle; empty if nothing was."""
    kept = meta.get(state, _REPORTED)
    found = json.loads(kept) if kept else {}
    if found.pop("cycle", None) != cycles.next_number(state):
        return Reported()
    return Reported(**found)
