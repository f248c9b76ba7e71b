"""The slots that pilots brought along, each as long as the claim on it, and the delays between their matches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairq.common.records import DelayState, PilotSlot
from fairq.state import rows
from fairq.state.connection import State

_PILOTS = rows.Records(PilotSlot, "pilot_slot")
_DELAYS = rows.Records(DelayState, "matching_delay")


def load_all(state: State) -> list[PilotSlot]:
    """Return the slots of all pilots, in pool order."""
    return _PILOTS.select(state, "ORDER BY slot_id")


class PilotJob(NamedTuple):
    """A job that a pilot runs, and the pilot's computing element."""

    schedd: str
    cluster: int
    proc: int
    grid_ce: str | None


def jobs_at(state: State, site: str) -> list[PilotJob]:
    """Return the jobs that pilots at *site* run."""
    cursor = state.connection.execute(
        "SELECT coalesce(schedd, ''), cluster, proc, grid_ce FROM pilot_slot JOIN claim USING (slot_id) "
        "WHERE site = ? AND cluster IS NOT NULL ORDER BY slot_id",
        (site,),
    )
    return [PilotJob(*row) for row in cursor]


def add(state: State, pilots: Iterable[PilotSlot]) -> None:
    """Mark slots of the pool as a pilot's."""
    _PILOTS.add(state, pilots)


def dissolve(state: State, slot_ids: Iterable[int]) -> None:
    """Take those of these slots that are a pilot's out of the pool; their claims must have been released."""
    rows.dissolve_slots(state, "pilot_slot", slot_ids)


def forget_all(state: State) -> None:
    """Forget which slots are pilots', before the pool is replaced."""
    state.connection.execute("DELETE FROM pilot_slot")


def load_delays(state: State, site: str | None = None) -> list[DelayState]:
    """Return the delays at *site*, or all of them."""
    return _DELAYS.select(state, "WHERE ?1 IS NULL OR site = ?1 ORDER BY site, attribute, value", (site,))


def put_delays(state: State, delays: Iterable[DelayState]) -> None:
    """Store delays, each in the place of what was known of it."""
    _DELAYS.add(state, delays, "INSERT OR REPLACE")
