"""The slots that pilots brought along, each as long as the claim on it, and the delays between their matches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairq.common.records import DelayState, PilotSlot
from fairq.state import rows
from fairq.state.connection import State


def load_all(state: State) -> list[PilotSlot]:
    """Return the slots of all pilots, in pool order."""
    cursor = state.connection.execute("SELECT slot_id, site, grid_ce, pilot FROM pilot_slot ORDER BY slot_id")
    return [PilotSlot(*row) for row in cursor]


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
    state.connection.executemany(
        "INSERT INTO pilot_slot (slot_id, site, grid_ce, pilot) VALUES (?, ?, ?, ?)",
        ((pilot.slot_id, pilot.site, pilot.grid_ce, pilot.pilot) for pilot in pilots),
    )


def dissolve(state: State, slot_ids: Iterable[int]) -> None:
    """Take those of these slots that are a pilot's out of the pool; their claims must have been released."""
    rows.dissolve_slots(state, "pilot_slot", slot_ids)


def forget_all(state: State) -> None:
    """Forget which slots are pilots', before the pool is replaced."""
    state.connection.execute("DELETE FROM pilot_slot")


def load_delays(state: State, site: str | None = None) -> list[DelayState]:
    """Return the delays at *site*, or all of them."""
    cursor = state.connection.execute(
        "SELECT site, attribute, value, tokens, time FROM matching_delay WHERE ?1 IS NULL OR site = ?1 "
        "ORDER BY site, attribute, value",
        (site,),
    )
    return [DelayState(*row) for row in cursor]


def put_delays(state: State, delays: Iterable[DelayState]) -> None:
    """Store delays, each in the place of what was known of it."""
    state.connection.executemany(
        "INSERT OR REPLACE INTO matching_delay (site, attribute, value, tokens, time) VALUES (?, ?, ?, ?, ?)",
        ((delay.site, delay.attribute, delay.value, delay.tokens, delay.time) for delay in delays),
    )
