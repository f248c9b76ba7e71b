"""Which submitter uses which slot, and for which job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from fairq.records import Claim
from fairq.state import rows
from fairq.state.connection import State
from fairq.state.job_ranges import Procs

_SELECT = (
    "SELECT slot_id, submitter, start_time, slot_weight, schedd, cluster, proc, current_rank, "
    "concurrency_limits, negotiating_group, autoregroup, advertised, charged, matched FROM claim"
)
_ADVERTISED = 11


def load_all(state: State) -> list[Claim]:
    """Return every claim, in pool order of the slots."""
    return [_claim(row) for row in state.connection.execute(f"{_SELECT} ORDER BY slot_id")]


def of_procs(state: State, procs: Iterable[Procs]) -> list[Claim]:
    """Return the claims of the jobs among *procs*."""
    found: list[Claim] = []
    for schedd, cluster, first_proc, last_proc in procs:
        found += (
            _claim(row)
            for row in state.connection.execute(
                f"{_SELECT} WHERE cluster = ? AND schedd = ? AND proc BETWEEN ? AND ? ORDER BY proc",
                (cluster, schedd, first_proc, last_proc),
            )
        )
    return found


def of_slots(state: State, slot_ids: Iterable[int]) -> list[Claim]:
    """Return the claims on these slots."""
    find = state.connection.execute
    found = (find(f"{_SELECT} WHERE slot_id = ?", (number,)).fetchone() for number in slot_ids)
    return [_claim(row) for row in found if row is not None]


def slots_of_jobs(state: State) -> set[int]:
    """Return the numbers of the slots that jobs of the queue have."""
    return {number for (number,) in state.connection.execute("SELECT slot_id FROM claim WHERE cluster IS NOT NULL")}


def any_advertised(state: State) -> bool:
    """Tell whether any claim has further attributes of an imported slot's ad."""
    query = "SELECT EXISTS (SELECT 1 FROM claim WHERE advertised IS NOT NULL)"
    return bool(state.connection.execute(query).fetchone()[0])


def longest_submitter(state: State) -> int:
    """Return the number of characters of the longest submitter that has a claim; 0 without claims."""
    return int(state.connection.execute("SELECT coalesce(max(length(submitter)), 0) FROM claim").fetchone()[0])


def count_matched(state: State) -> int:
    """Return how many claims of jobs of the queue fairq's cycles made."""
    query = "SELECT count(*) FROM claim WHERE matched AND cluster IS NOT NULL"
    return int(state.connection.execute(query).fetchone()[0])


def store(state: State, claims: Iterable[Claim]) -> None:
    """Store claims, each in the place of a former one on its slot."""
    # In the order of the table's key: in any other, SQLite takes twice as long.
    claims = sorted(claims, key=attrgetter("slot_id"))
    if state.connection.execute("SELECT EXISTS (SELECT 1 FROM claim)").fetchone()[0]:
        state.connection.executemany("DELETE FROM claim WHERE slot_id = ?", [(claim.slot_id,) for claim in claims])
    rows.insert(
        state,
        "INSERT INTO claim (slot_id, submitter, start_time, slot_weight, schedd, cluster, proc, "
        "current_rank, concurrency_limits, negotiating_group, autoregroup, advertised, charged, matched)",
        map(_row, claims),
    )


def release(state: State, slot_ids: Iterable[int]) -> list[Claim]:
    """Delete the claims on these slots and return them; a free slot is passed over."""
    released: list[Claim] = []
    for number in slot_ids:
        row = state.connection.execute(f"{_SELECT} WHERE slot_id = ?", (number,)).fetchone()
        if row is not None:
            released.append(_claim(row))
    state.connection.executemany("DELETE FROM claim WHERE slot_id = ?", [(claim.slot_id,) for claim in released])
    return released


def delete_all(state: State) -> None:
    """Delete every claim."""
    state.connection.execute("DELETE FROM claim")


def _claim(row: tuple[Any, ...]) -> Claim:
    claim = Claim(*row)
    claim.charged = bool(claim.charged)
    claim.matched = bool(claim.matched)
    if claim.autoregroup is not None:
        claim.autoregroup = bool(claim.autoregroup)
    if row[_ADVERTISED] is not None:
        claim.advertised = json.loads(row[_ADVERTISED])
    return claim


def _row(claim: Claim) -> tuple[Any, ...]:
    return (
        claim.slot_id,
        claim.submitter,
        claim.start_time,
        claim.slot_weight,
        claim.schedd,
        claim.cluster,
        claim.proc,
        claim.current_rank,
        claim.concurrency_limits,
        claim.negotiating_group,
        claim.autoregroup,
        None if claim.advertised is None else rows.dumps(claim.advertised),
        claim.charged,
        claim.matched,
    )
