"""Since when, by whom and why slots are drained: the history has it."""

from __future__ import annotations

from fairq.common.records import Ad
from fairq.state import history, slots
from fairq.state.connection import State

DRAIN_NAMES = ("LastDrainStartTime", "DrainedBy", "DrainReason")
"""The attributes of a drained slot's ad that tell it; names of HTCondor's startd, except the second one."""

_LOOKED_AT = 20
"""Number of changes of a slot among which the last drain is looked for."""


def drain_records(state: State) -> dict[str, Ad]:
    """Return the values of `DRAIN_NAMES` of all drained slots, as far as the history knows them, by name."""
    return {name: record for name in slots.draining_names(state) if (record := _record(state, name))}


def _record(state: State, name: str) -> Ad:
    for entry in reversed(history.load(state, _LOOKED_AT, subject=f"slot {name}")):
        if isinstance(entry.after, dict) and entry.after.get("Draining") is True:
            reason = entry.reason or entry.after.get("Reason")
            values = zip(DRAIN_NAMES, (entry.time, entry.user, reason), strict=True)
            return {attribute: value for attribute, value in values if value is not None}
    return {}
