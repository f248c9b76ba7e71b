"""Look for what must not be in a state: damage of the file, and records that contradict each other."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from itertools import groupby

from fairq.common.quantities import counted
from fairq.common.records import SLOT_ELSEWHERE, JobStatus
from fairq.state import claims, job_ads, meta, slot_ads, usage
from fairq.state.connection import State, migrated
from fairq.state.damage import JSON_COLUMNS

_TOLERANCE = 1e-6
"""Relative: weights are summed in the order in which slots came and went."""

_ALTERED = re.compile(r"row (\d+) (?:missing|values differ) from index guard_(\w+?)(?:_decision)?")
"""What SQLite says of a record whose columns are not what the table's guard index has of them."""

_TYPES = {"TEXT": "'text'", "BLOB": "'blob'", "INTEGER": "'integer', 'real'", "REAL": "'integer', 'real'"}
"""The types of values in a column, by how it is declared."""

_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"

_Running = tuple[int, str, int, int, str]


def findings(state: State) -> list[str]:
    """Return every fault found, one line each; none in a sound state.

    Where the file itself is damaged, the records are not looked at; where JSON is, what refers to what is not.
    """
    try:
        damage = [*_damage(state), *_altered_schema(state), *_altered_ads(state), *_altered_claims(state)]
        damage += _altered_kinds(state)
    except UnicodeDecodeError:
        # SQLite says what is damaged by a name that is damaged itself.
        damage = ["damage: a name in the schema is not UTF-8"]
    # The ads of slots by column are JSON, too.
    return damage or list(_unreadable_json(state)) or [*_broken_references(state), *contradictions(state)]


def contradictions(state: State) -> Iterator[str]:
    """Yield where records contradict each other, one line each."""
    yield from _overlapping_ranges(state)
    yield from _claims_against_jobs(state)
    yield from _dynamic_slots(state)
    yield from _pilot_slots(state)
    yield from _counters_against_claims(state)
    yield from _usage_against_ledger(state)


def _damage(state: State) -> Iterator[str]:
    for (line,) in state.connection.execute("PRAGMA integrity_check"):
        altered = _ALTERED.fullmatch(line)
        if altered is not None:
            yield f"damage: record {altered[1]} of {altered[2]} is not as fairq wrote it"
        elif line != "ok":
            yield f"damage: {' '.join(str(line).split())}"


def _altered_schema(state: State) -> Iterator[str]:
    stored = set(state.connection.execute(_SCHEMA))
    for kind, name, sql in _sound_schema():
        if (kind, name, sql) not in stored:
            yield f"damage: the {kind} {name} is missing or is not as fairq made it"


@cache
def _sound_schema() -> list[tuple[str, str, str]]:
    with closing(migrated()) as sound:
        return sound.execute(_SCHEMA).fetchall()


def _altered_ads(state: State) -> Iterator[str]:
    for number in job_ads.damaged(state):
        yield f"damage: record {number} of job_ad is not as fairq wrote it"


def _altered_claims(state: State) -> Iterator[str]:
    for number, there, stored in claims.miscounted(state):
        yield f"damage: record {number} of claim_terms is that of {there} claims, and fairq wrote {stored}"


def _altered_kinds(state: State) -> Iterator[str]:
    """Texts that became bytes, or the other way round: their checksum is the same; and numbers that became texts."""
    tables = [name for kind, name, _ in _sound_schema() if kind == "table"]
    for table in tables:
        columns = state.connection.execute(f"PRAGMA table_info({table})").fetchall()
        kinds = {column: _TYPES[kind] for _, column, kind, *_ in columns if kind in _TYPES}
        wrong = (f"total(typeof(\"{column}\") NOT IN ({types}, 'null'))" for column, types in kinds.items())
        counts = state.connection.execute(f"SELECT {', '.join(wrong)} FROM {table}").fetchone() if kinds else ()
        for column, number in zip(kinds, counts, strict=True):
            if number:
                yield f"damage: {column} of {number:.0f} of the records in {table} is not as fairq wrote it"


def _broken_references(state: State) -> Iterator[str]:
    broken = state.connection.execute("PRAGMA foreign_key_check").fetchall()
    for (table, parent), rows in groupby(sorted(broken, key=str), key=lambda row: (row[0], row[2])):
        yield f"reference: {len(list(rows))} of the records in {table} refer to a missing {parent}"
    if missing := list(slot_ads.missing(state)):
        yield f"reference: {counted(len(missing), 'slot')} without an ad, the first one is slot {missing[0]}"


def _unreadable_json(state: State) -> Iterator[str]:
    for table, (key, *columns) in JSON_COLUMNS.items():
        for number, *texts in state.connection.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
            for column, text in zip(columns, texts, strict=True):
                try:
                    json.loads(text or "null")
                except ValueError as error:
                    yield f"content: {column} of {table} {number} is not JSON: {error}"


def _overlapping_ranges(state: State) -> Iterator[str]:
    former: tuple[int, str, int, int] | None = None
    for row in state.connection.execute(
        "SELECT cluster, schedd, first_proc, last_proc FROM job ORDER BY cluster, schedd, first_proc"
    ):
        if former is not None and row[:2] == former[:2] and row[2] <= former[3]:
            yield f"queue: job {_job(row[0], row[2], row[1])} is stored twice"
        former = row


def _claims_against_jobs(state: State) -> Iterator[str]:
    claims = state.connection.execute(
        "SELECT cluster, coalesce(schedd, ''), proc, submitter, slot_id FROM whole_claim WHERE cluster IS NOT NULL "
        "ORDER BY 1, 2, 3"
    ).fetchall()
    running: Iterator[_Running] = iter(
        state.connection.execute(
            "SELECT cluster, schedd, first_proc, last_proc, submitter FROM job WHERE status = ? AND reason IS NOT ? "
            "ORDER BY cluster, schedd, first_proc",
            (JobStatus.RUNNING, SLOT_ELSEWHERE),
        )
    )
    job = next(running, None)
    claimed = 0
    for cluster, schedd, proc, submitter, slot in claims:
        while job is not None and (job[0], job[1], job[3]) < (cluster, schedd, proc):
            yield from _without_claim(job, claimed)
            job, claimed = next(running, None), 0
        if job is None or (job[0], job[1]) != (cluster, schedd) or proc < job[2]:
            yield f"claim: slot {slot} is claimed for job {_job(cluster, proc, schedd)}, which is not running"
            continue
        claimed += 1
        if submitter != job[4]:
            yield (
                f"claim: slot {slot} is claimed by {submitter} for job {_job(cluster, proc, schedd)}, "
                f"which belongs to {job[4]}"
            )
    while job is not None:
        yield from _without_claim(job, claimed)
        job, claimed = next(running, None), 0


def _dynamic_slots(state: State) -> Iterator[str]:
    for name, parent in state.connection.execute(
        "SELECT slot.name, parent.name FROM dynamic_slot JOIN slot ON slot.id = slot_id "
        "JOIN slot AS parent ON parent.id = parent_id WHERE slot_id NOT IN (SELECT slot_id FROM claim) "
        "ORDER BY slot_id"
    ):
        yield f"pool: slot {name} was carved from {parent}, but has no claim"


def _pilot_slots(state: State) -> Iterator[str]:
    for name, site in state.connection.execute(
        "SELECT name, site FROM pilot_slot JOIN slot ON slot.id = slot_id "
        "WHERE slot_id NOT IN (SELECT slot_id FROM claim) ORDER BY slot_id"
    ):
        yield f"pool: slot {name} belongs to a pilot at {site}, but has no claim"


def _without_claim(job: _Running, claimed: int) -> Iterator[str]:
    cluster, schedd, first, last, _ = job
    missing = last - first + 1 - claimed
    if missing:
        where = _job(cluster, first, schedd) + (f" to {cluster}.{last}" if last > first else "")
        yield f"claim: {missing} running without a slot: {where}"


def _counters_against_claims(state: State) -> Iterator[str]:
    if meta.number(state, "usage_recorded_until"):
        # The counters are those of imported records, which may know of slots that are not here.
        return
    if meta.get(state, "preempted_counted") == "1":
        # The slots that the last cycle took from somebody count for their former users until the next one.
        return
    weights: dict[str, list[float]] = defaultdict(list)
    for submitter, weight in state.connection.execute("SELECT submitter, slot_weight FROM whole_claim WHERE charged"):
        weights[submitter].append(weight)
    for name, used, weighted in state.connection.execute(
        "SELECT name, resources_used, weighted_resources_used FROM submitter WHERE NOT is_group ORDER BY name"
    ):
        held = weights.get(name, [])
        if used != len(held):
            yield f"accounting: {name} is recorded as using {counted(used, 'slot')}, but has claims on {len(held)}"
        elif not math.isclose(weighted, sum(held), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            yield (
                f"accounting: {name} is recorded as using slots of weight {weighted!r}, but the claims have "
                f"{sum(held)!r}"
            )


def _usage_against_ledger(state: State) -> Iterator[str]:
    for name, recorded, booked in usage.differences(state):
        yield f"accounting: {name} has accumulated {recorded!r} s of usage, but the ledger has {booked!r} s"


def _job(cluster: int, proc: int, schedd: str) -> str:
    return f"{cluster}.{proc}" + (f" of {schedd}" if schedd else "")
