"""The whole state as one JSON document, and back without loss.

The document is an object with these members, each a list of objects unless said otherwise. A record has
exactly the fields of its class in `fairq.common.records`, times in seconds since 1970, numbers at full precision. A
byte that is not UTF-8 in an ad, as in a file's name, is the escape of a lone surrogate: ``\\udcff`` is 0xff (PEP 383).

- ``fairq``: an object, ``{"document": 1, "schema": n}``: the version of this form, and the schema of the
  state file that was exported. What later schemas added may be missing in the document of an older one: it then has
  its default.
- ``meta``: an object of strings, ``last_update``, ``cycle``, ``next_cluster``, ``schedd_name``.
- ``submitters``: `AccountingRecord`, in order of name; a lease is null or ``{expiration, prelease_value}``.
- ``slots``: `SlotRecord`, in pool order; ``dynamic_slots``: `DynamicSlot`, what fairq carved out of which one.
  ``claims``: `Claim`, each on the ``id`` of a slot.
- ``job_ads``: ``{id, ad}``, the ads that jobs share. ``jobs``: `JobRange`, each with the ``id`` of an ad.
- ``runs``: `Run`. ``cycles``: `CycleRecord` with its matches. ``history``: `HistoryRecord`. All oldest first.
- ``pilot_slots``: `PilotSlot`, which slots pilots brought along; ``task_queues``: `QueueNumber`; ``share_groups``:
  `ShareGroup`; ``usage_reports``: `UsageReport`; ``matching_delays``: `DelayState`.
- ``launches``: `Launch`, runs that fairq starts itself; ``job_events``: `JobEvent`.
- ``job_waits``: `JobWait`, ``job_afters``: `JobAfter`, ``job_caps``: `JobCap`: what jobs wait for before they are idle.
- ``ended_jobs``: `EndedJob`, each with the ``id`` of an ad; ``usage``: `UsageRow` and ``usage_edits``: `UsageEdit`, the
  ledger of usage. Without the latter, the usage of ``submitters`` is entered as earlier.
- ``broker``: an object, of what the brokerage reads a list of records for each kind, with the
  columns that `fairq.columns.broker.kinds` describes; and ``cycles`` and ``verdicts``, these packed in base64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import inf
from typing import Any

import msgspec
from msgspec import Struct

from fairq.common.past import CycleRecord
from fairq.common.records import AccountingRecord, Ad, Claim, DynamicSlot, JobRange, Run, SlotRecord
from fairq.common.reservation import Reservation
from fairq.errors.pool import InvalidDocumentError
from fairq.state import (
    broker_document,
    check,
    claims,
    cycles,
    document_members,
    dynamic_slots,
    history,
    job_ads,
    jobs,
    pause,
    reservations,
    rows,
    runs,
    settings_changes,
    slots,
    submitters,
)
from fairq.state.connection import State
from fairq.state.document_types import as_object, read_object, read_record, read_records
from fairq.state.schema import newest

VERSION = 1
"""Of the form described above."""


class JobAdRecord(Struct):
    """An ad that jobs share."""

    id: int
    ad: Ad


class HistoryRecord(Struct):
    """One change, as `Actor` and `Change` describe it."""

    time: int
    user: str
    command: str
    subject: str
    before: Any
    after: Any
    reason: str | None = None


class _Version(Struct):
    document: int
    schema: int


_RECORDS: dict[str, type[Any]] = {
    "submitters": AccountingRecord,
    "slots": SlotRecord,
    "dynamic_slots": DynamicSlot,
    "claims": Claim,
    "job_ads": JobAdRecord,
    "jobs": JobRange,
    "runs": Run,
    "cycles": CycleRecord,
    "history": HistoryRecord,
    **document_members.RECORDS,
}

_NUMBERS = frozenset(
    {"last_reservation", "last_update", "decayed_until", "cycle", "next_cluster", "usage_recorded_until"}
)
"""The members of `meta` whose strings are whole numbers."""

_TYPES: dict[str, Any] = {
    pause.KEY: pause.Pause,
    reservations.KEY: list[Reservation],
    settings_changes.INTENT: settings_changes.Intent,
    settings_changes.KNOWN: dict[str, settings_changes.KnownFile],
}
"""The members of `meta` whose strings are JSON, with their types."""


def export(state: State) -> dict[str, Any]:
    """Return the whole state as the document that the module describes."""
    members: dict[str, Iterable[Any]] = {
        "submitters": submitters.load_all(state),
        "slots": slots.load_all(state),
        "dynamic_slots": dynamic_slots.load_all(state),
        "claims": claims.load_all(state),
        "job_ads": [JobAdRecord(*pair) for pair in job_ads.load_all(state).items()],
        "jobs": jobs.select(state),
        "runs": runs.load(state),
        "cycles": cycles.load_all(state),
        "history": [
            HistoryRecord(entry.time, entry.user, entry.command, entry.subject, entry.before, entry.after, entry.reason)
            for entry in history.load(state)
        ],
        **document_members.export(state),
    }
    parts = {"broker": broker_document.export(state)}
    meta = dict(state.connection.execute("SELECT key, value FROM meta ORDER BY key").fetchall())
    document = {"fairq": {"document": VERSION, "schema": newest()}, "meta": meta}
    return document | {name: [as_object(record) for record in records] for name, records in members.items()} | parts


def restore(state: State, document: Any) -> None:
    """Put what *document* says in the place of the whole state, its history included.

    `export` then gives the same document again.

    Raises:
        InvalidDocumentError: naming the place; the state must be given up then, as `writing` does.
    """
    members = _read(document)
    _check(members)
    with _append_only_lifted(state):
        for table in _TABLES:
            state.connection.execute(f"DELETE FROM {table}")
        _store(state, members)
    for fault in check.contradictions(state):
        raise InvalidDocumentError(place="the document", problem=f"contradicts itself: {fault}")


_TABLES = (
    *broker_document.TABLES,
    *document_members.TABLES,
    "dynamic_slot", "claim", "claim_terms", "slot", "job", "job_ad_kind", "job_kind", "job_ad", "submitter",
    "run", "match", "cycle", "history", "undo", "request", "meta",
    "slot_columns",
)  # fmt: skip
"""All tables. What refers to a record goes before it. No trigger drops the copies of what is deleted."""


def _read(document: Any) -> dict[str, Any]:
    is_older = _is_older(document)
    has_ledger = not is_older or "usage_edits" in document
    if is_older:
        document = {**{name: [] for name in _RECORDS}, "broker": {}, **document}
    members = read_object(document, "the document", {"fairq", "meta", "broker", *_RECORDS})
    version: _Version = read_record(_Version, members["fairq"], "fairq")
    if version.document != VERSION:
        problem = f"version {version.document} is not known, only {VERSION}"
        raise InvalidDocumentError(place="fairq.document", problem=problem)
    for key, value in read_object(members["meta"], "meta").items():
        _require(isinstance(value, str), f"meta.{key}", f"must be a string, not {value!r}")
        is_right = key not in _NUMBERS or (value.isdecimal() and value.isascii())
        _require(is_right, f"meta.{key}", f"must be a whole number in a string, not {value!r}")
        if key in _TYPES:
            try:
                msgspec.json.decode(value, type=_TYPES[key])
            except msgspec.MsgspecError as error:
                raise InvalidDocumentError(place=f"meta.{key}", problem=f"is not valid: {error}") from None
    records = {
        name: read_records(record_type, members[name], name, may_lack=is_older)
        for name, record_type in _RECORDS.items()
    }
    if not has_ledger:
        records["usage_edits"] = document_members.earlier_usage(records["submitters"], members["meta"])
    return members | records | {"broker": broker_document.read(members["broker"])}


def _is_older(document: Any) -> bool:
    """Return whether *document* is that of an older schema."""
    version = document.get("fairq") if isinstance(document, dict) else None
    schema = version.get("schema") if isinstance(version, dict) else None
    return isinstance(schema, int) and schema < newest()


def _check(members: dict[str, Any]) -> None:
    """Check that no record is there twice, and that all records that others refer to exist."""
    _once("submitters", (record.name for record in members["submitters"]))
    _once("slots", (slot.id for slot in members["slots"]))
    _once("slots", ((slot.name, slot.address) for slot in members["slots"]))
    _once("dynamic_slots", (dynamic.slot_id for dynamic in members["dynamic_slots"]))
    _once("claims", (claim.slot_id for claim in members["claims"]))
    _once("job_ads", (record.id for record in members["job_ads"]))
    _once("job_ads", (rows.dumps(record.ad) for record in members["job_ads"]))
    _once("cycles", (cycle.number for cycle in members["cycles"]))
    for number, cycle in enumerate(members["cycles"]):
        _once(f"cycles[{number}].matches", (match.sequence for match in cycle.matches))
    slot_ids = {slot.id for slot in members["slots"]}
    for number, dynamic in enumerate(members["dynamic_slots"]):
        place = f"dynamic_slots[{number}]"
        _require(dynamic.slot_id in slot_ids, f"{place}.slot_id", f"there is no slot {dynamic.slot_id}")
        _require(dynamic.parent_id in slot_ids, f"{place}.parent_id", f"there is no slot {dynamic.parent_id}")
        for name, amount in dynamic.carved.items():
            is_amount = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < inf
            _require(is_amount, f"{place}.carved.{name}", "must be a number, at least 0")
    ad_ids = {record.id for record in members["job_ads"]}
    document_members.check(members, slot_ids, ad_ids, _require, _once)
    for number, claim in enumerate(members["claims"]):
        _require(claim.slot_id in slot_ids, f"claims[{number}].slot_id", f"there is no slot {claim.slot_id}")
        is_whole = (claim.cluster is None) == (claim.proc is None)
        _require(is_whole, f"claims[{number}]", "cluster and proc must be null together")
    _once("claims", (_claimed_for(claim) for claim in members["claims"]))
    for number, job in enumerate(members["jobs"]):
        _require(job.ad_id in ad_ids, f"jobs[{number}].ad_id", f"there is no job ad {job.ad_id}")
        _require(0 <= job.first_proc <= job.last_proc, f"jobs[{number}].last_proc", "is before first_proc")
    _check_overlaps(members["jobs"])


def _check_overlaps(queue: list[JobRange]) -> None:
    order = sorted(range(len(queue)), key=lambda at: (queue[at].cluster, queue[at].schedd, queue[at].first_proc))
    for number, next_number in pairwise(order):
        before, after = queue[number], queue[next_number]
        is_apart = (before.cluster, before.schedd) != (after.cluster, after.schedd)
        is_apart = is_apart or before.last_proc < after.first_proc
        _require(is_apart, f"jobs[{next_number}]", f"job {after.cluster}.{after.first_proc} is also in jobs[{number}]")


def _claimed_for(claim: Claim) -> object:
    """Return the job of a claim, or what equals no other claim's if it has none."""
    return claim.slot_id if claim.cluster is None else (claim.schedd or "", claim.cluster, claim.proc)


def _require(is_right: bool, place: str, problem: str) -> None:
    if not is_right:
        raise InvalidDocumentError(place=place, problem=problem)


def _once(place: str, keys: Iterable[Any]) -> None:
    seen: dict[Any, int] = {}
    for number, key in enumerate(keys):
        first = seen.setdefault(key, number)
        _require(first == number, f"{place}[{number}]", f"the same as {place}[{first}]")


def _store(state: State, members: dict[str, Any]) -> None:
    execute = state.connection.executemany
    execute("INSERT INTO meta VALUES (?, ?)", members["meta"].items())
    submitters.put(state, members["submitters"])
    slots.put(state, members["slots"])
    slots.gather(state)
    dynamic_slots.add(state, members["dynamic_slots"])
    claims.store(state, members["claims"])
    job_ads.put(state, {record.id: record.ad for record in members["job_ads"]})
    jobs.add(state, members["jobs"])
    runs.add(state, members["runs"])
    document_members.store(state, members)
    for cycle in members["cycles"]:
        cycles.add(state, cycle)
    broker_document.store(state, members["broker"])
    execute(
        "INSERT INTO history (time, user, command, subject, before, after, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                entry.time,
                entry.user,
                entry.command,
                entry.subject,
                rows.dumps(entry.before),
                rows.dumps(entry.after),
                entry.reason,
            )
            for entry in members["history"]
        ),
    )


@contextmanager
def _append_only_lifted(state: State) -> Iterator[None]:
    """Take away for a while the triggers that keep what was recorded; within the transaction, unseen."""
    triggers = state.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        state.connection.execute(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        state.connection.execute(statement)
