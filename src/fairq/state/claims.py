"""Which submitter uses which slot, and for which job.

What claims have in common, their terms, is stored once: a cycle makes thousands that differ only in slot and job.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import count, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import astuple

from fairq.common.procs import Procs
from fairq.common.records import Ad, Claim
from fairq.state import rows
from fairq.state.connection import State, keeping_few_pages

if TYPE_CHECKING:
    from fairq.columns.claims import ClaimTable

_TERMS = (
    "submitter, start_time, slot_weight, current_rank, concurrency_limits, negotiating_group, autoregroup, advertised, "
    "charged, matched"
)
_JOB = Claim.__struct_fields__.index("schedd")
_MANY = 5000
"""From so many claims on, it takes less time to put all of them into the indexes at the end than each by itself."""

_SELECT = f"SELECT slot_id, schedd, cluster, proc, {_TERMS} FROM whole_claim"


_BYTES = 100
"""What a claim takes of the file, at most, with its indexes."""

_FEW = 1_000
"""The pages of so many slots may stay in memory."""

_Terms = tuple[Any, ...]
_Charge = tuple[str, int, float]
_Details = tuple[float, str | None, str | None, bool | None, Ad | None, bool, bool]


class AlikeClaims(NamedTuple):
    """Claims that differ only in slot and proc: those of consecutive procs, on *slots*; *claim* is the first."""

    claim: Claim
    slots: Sequence[int]


def load_all(state: State) -> list[Claim]:
    """Return every claim, in pool order of the slots."""
    execute = state.connection.execute
    # Their terms are read once, not with every claim.
    terms = {number: _split_terms(columns) for number, *columns in execute(f"SELECT id, {_TERMS} FROM claim_terms")}
    cursor = execute("SELECT terms, slot_id, schedd, cluster, proc FROM claim ORDER BY slot_id")
    claims: list[Claim] = []
    for number, slot_id, schedd, cluster, proc in cursor:
        charge, details = terms[number]
        claims.append(Claim(*(slot_id, *charge, schedd, cluster, proc, *details)))
    return claims


def load_table(state: State) -> ClaimTable:
    """Return every claim by column, in pool order of the slots: in a third of the time of single ones."""
    import numpy as np

    from fairq.columns.claims import ClaimTable

    execute = state.connection.execute
    numbers: list[int] = []
    alike: list[Claim] = []
    for number, *columns in execute(f"SELECT id, {_TERMS} FROM claim_terms ORDER BY id"):
        charge, details = _split_terms(columns)
        numbers.append(number)
        alike.append(Claim(*(0, *charge, None, None, None, *details)))
    # One text for each column: a row of SQLite's costs several times as much as a number in a text.
    # A scan of the table itself, not of an index, goes by slot; to ask for that order takes three times as long.
    arrays = ", ".join(f"json_group_array({column})" for column in ("slot_id", "terms", "schedd", "cluster", "proc"))
    texts = execute(f"SELECT {arrays} FROM claim NOT INDEXED").fetchone()
    slots, terms = (np.fromstring(text[1:-1], np.int64, sep=",") for text in texts[:2])
    schedds, clusters, procs = map(rows.loads_array, texts[2:])
    places = np.searchsorted(np.array(numbers, np.int64), terms)
    return ClaimTable(slots, places, alike, schedds, clusters, procs)


def of_procs(state: State, procs: Iterable[Procs]) -> list[Claim]:
    """Return the claims of the jobs among *procs*."""
    of_jobs: list[Claim] = []
    for schedd, cluster, first_proc, last_proc in procs:
        of_jobs += (
            _claim(row)
            for row in state.connection.execute(
                f"{_SELECT} WHERE cluster = ? AND schedd = ? AND proc BETWEEN ? AND ? ORDER BY proc",
                (cluster, schedd, first_proc, last_proc),
            )
        )
    return of_jobs


def are_alike(state: State, procs: Procs) -> bool:
    """Return whether the claims of all the jobs *procs* differ only in slot and proc, or none of them has a claim."""
    schedd, cluster, first_proc, last_proc = procs
    number, first, last = state.connection.execute(
        "SELECT count(*), min(terms), max(terms) FROM claim WHERE cluster = ? AND schedd = ? AND proc BETWEEN ? AND ?",
        (cluster, schedd, first_proc, last_proc),
    ).fetchone()
    return bool(number == 0 or (number == last_proc - first_proc + 1 and first == last))


def of_slots(state: State, slot_ids: Iterable[int]) -> list[Claim]:
    """Return the claims on these slots."""
    find = state.connection.execute
    selected = (find(f"{_SELECT} WHERE slot_id = ?", (number,)).fetchone() for number in slot_ids)
    return [_claim(row) for row in selected if row is not None]


def slots_of_jobs(state: State) -> set[int]:
    """Return the numbers of the slots that jobs of the queue have."""
    return set(state.column("SELECT slot_id FROM claim WHERE cluster IS NOT NULL"))


def any_advertised(state: State) -> bool:
    """Return whether any claim has further attributes of an imported slot's ad."""
    query = "SELECT EXISTS (SELECT 1 FROM claim_terms WHERE advertised IS NOT NULL)"
    return bool(state.value(query))


def longest_submitter(state: State) -> int:
    """Return the number of characters of the longest submitter that has a claim; 0 without claims."""
    return int(state.value("SELECT coalesce(max(length(submitter)), 0) FROM claim_terms"))


def count_matched(state: State) -> int:
    """Return how many claims of jobs of the queue fairq's cycles made."""
    query = "SELECT count(*) FROM whole_claim WHERE matched AND cluster IS NOT NULL"
    return int(state.value(query))


def store(state: State, claims: Iterable[Claim]) -> None:
    """Store claims, each in the place of a former one on its slot."""
    store_alike(state, map(alone, claims))


def alone(claim: Claim) -> AlikeClaims:
    """Return one claim as a group of its own."""
    return AlikeClaims(claim, [claim.slot_id])


def store_alike(state: State, alike: Iterable[AlikeClaims]) -> None:
    """Store claims, each in the place of a former one on its slot."""
    execute = state.connection.execute
    new: list[tuple[int, int, str | None, int | None, int | None]] = []
    (last,) = execute("SELECT coalesce(max(id), 0) FROM claim_terms").fetchone()
    numbers: dict[_Terms, int] = {}
    used: Counter[int] = Counter()
    for claim, slots in alike:
        number = numbers.setdefault(_terms(claim), last + len(numbers) + 1)
        used[number] += len(slots)
        procs = repeat(None) if claim.proc is None else count(claim.proc)
        new += zip(slots, repeat(number), repeat(claim.schedd), repeat(claim.cluster), procs)
    state.connection.executemany(
        f"INSERT INTO claim_terms (id, used, {_TERMS}) VALUES ({', '.join('?' * 12)})",
        ((number, used[number], *terms) for terms, number in numbers.items()),
    )
    # In the order of the table's key: in any other, SQLite takes twice as long.
    new.sort(key=itemgetter(0))
    (any_before,) = execute("SELECT EXISTS (SELECT 1 FROM claim)").fetchone()
    if any_before:
        _delete(state, map(itemgetter(0), new))
    # SQLite reads the page of every slot that a claim refers to.
    with (
        rows.indexed_at_the_end(state, "claim") if len(new) >= _MANY and not any_before else nullcontext(),
        keeping_few_pages(state, changed=_BYTES * len(new)) if len(new) > _FEW else nullcontext(),
    ):
        rows.insert(state, "INSERT INTO claim (slot_id, terms, schedd, cluster, proc)", new)


def release(state: State, slot_ids: Iterable[int]) -> list[Claim]:
    """Delete the claims on these slots and return them; a free slot is passed over."""
    released = of_slots(state, slot_ids)
    _delete(state, (claim.slot_id for claim in released))
    return released


def delete_all(state: State) -> None:
    """Delete every claim."""
    state.connection.execute("DELETE FROM claim")
    state.connection.execute("DELETE FROM claim_terms")


def _delete(state: State, slot_ids: Iterable[int]) -> None:
    """Delete the claims on these slots, and terms that no claim has any more."""
    execute = state.connection.execute
    gone: Counter[int] = Counter()
    for slot_id in slot_ids:
        row = execute("SELECT terms FROM claim WHERE slot_id = ?", (slot_id,)).fetchone()
        if row is not None:
            execute("DELETE FROM claim WHERE slot_id = ?", (slot_id,))
            gone[row[0]] += 1
    for number, claims in gone.items():
        execute("UPDATE claim_terms SET used = used - ? WHERE id = ?", (claims, number))
        execute("DELETE FROM claim_terms WHERE id = ? AND used = 0", (number,))


def miscounted(state: State) -> Iterator[tuple[int, int, int]]:
    """Yield terms of which the number of claims that have them is not the one that was stored, and both numbers."""
    execute = state.connection.execute
    stored = dict(execute("SELECT id, used FROM claim_terms"))
    there = dict(execute("SELECT terms, count(*) FROM claim GROUP BY terms"))
    for number in sorted(stored.keys() | there.keys(), key=str):
        if stored.get(number) != there.get(number):
            yield number, there.get(number, 0), stored.get(number, 0)


def _claim(row: tuple[Any, ...]) -> Claim:
    slot_id, schedd, cluster, proc, *columns = row
    charge, details = _split_terms(columns)
    return Claim(*(slot_id, *charge, schedd, cluster, proc, *details))


def _split_terms(columns: Sequence[Any]) -> tuple[_Charge, _Details]:
    """Return the values of a claim that its terms give: the fields before its job, and those after it."""
    submitter, start_time, slot_weight, rank, limits, group, regrouped, advertised, charged, matched = columns
    return (submitter, start_time, slot_weight), (
        rank,
        limits,
        group,
        None if regrouped is None else bool(regrouped),
        None if advertised is None else json.loads(advertised),
        bool(charged),
        bool(matched),
    )


def _terms(claim: Claim) -> _Terms:
    _, *charge = astuple(claim)[:_JOB]
    *details, advertised, charged, matched = astuple(claim)[_JOB + 3 :]
    return (*charge, *details, None if advertised is None else rows.dumps(advertised), charged, matched)
