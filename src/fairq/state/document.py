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

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from fairq.common.reservation import Reservation
from fairq.errors.pool import InvalidDocumentError
from fairq.state import broker_document, check, pause, reservations, settings_changes, waits
from fairq.state.connection import State
from fairq.state.document_members import MEMBERS, earlier_usage
from fairq.state.document_members import check as check_members
from fairq.state.document_types import as_object, read_object, read_record, read_records, require
from fairq.state.schema import newest

VERSION = 1
"""Of the form described above."""


class _Version(Struct):
    document: int
    schema: int


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
    parts = {"broker": broker_document.export(state)}
    meta = dict(state.connection.execute("SELECT key, value FROM meta ORDER BY key").fetchall())
    document = {"fairq": {"document": VERSION, "schema": newest()}, "meta": meta}
    members = {name: list(map(as_object, member.load(state))) for name, member in MEMBERS.items()}
    return document | members | parts


def restore(state: State, document: Any) -> None:
    """Put what *document* says in the place of the whole state, its history included.

    `export` then gives the same document again.

    Raises:
        InvalidDocumentError: naming the place; the state must be given up then, as `writing` does.
    """
    members = _read(document)
    check_members(members)
    with _append_only_lifted(state):
        for table in _TABLES:
            state.connection.execute(f"DELETE FROM {table}")
        _store(state, members)
    for fault in check.contradictions(state):
        raise InvalidDocumentError(place="the document", problem=f"contradicts itself: {fault}")


_TABLES = (
    *broker_document.TABLES,
    "pilot_slot", "job_need", "queue_need", "need_value", "task_queue", "share_group", "usage_report", "matching_delay",
    "launch", "job_event", "ended_job", "usage", "usage_edit", *waits.TABLES,
    "dynamic_slot", "claim", "claim_terms", "slot", "job", "job_ad_kind", "job_kind", "job_ad", "submitter",
    "run", "match", "cycle", "history", "undo", "request", "meta",
    "slot_columns",
)  # fmt: skip
"""All tables. What refers to a record goes before it. No trigger drops the copies of what is deleted."""


def _read(document: Any) -> dict[str, Any]:
    is_older = _is_older(document)
    has_ledger = not is_older or "usage_edits" in document
    if is_older:
        document = {**{name: [] for name in MEMBERS}, "broker": {}, **document}
    members = read_object(document, "the document", {"fairq", "meta", "broker", *MEMBERS})
    version: _Version = read_record(_Version, members["fairq"], "fairq")
    if version.document != VERSION:
        problem = f"version {version.document} is not known, only {VERSION}"
        raise InvalidDocumentError(place="fairq.document", problem=problem)
    for key, value in read_object(members["meta"], "meta").items():
        require(isinstance(value, str), f"meta.{key}", f"must be a string, not {value!r}")
        is_right = key not in _NUMBERS or (value.isdecimal() and value.isascii())
        require(is_right, f"meta.{key}", f"must be a whole number in a string, not {value!r}")
        if key in _TYPES:
            try:
                msgspec.json.decode(value, type=_TYPES[key])
            except msgspec.MsgspecError as error:
                raise InvalidDocumentError(place=f"meta.{key}", problem=f"is not valid: {error}") from None
    records = {
        name: read_records(member.kind, members[name], name, may_lack=is_older) for name, member in MEMBERS.items()
    }
    if not has_ledger:
        records["usage_edits"] = earlier_usage(records["submitters"], members["meta"])
    return members | records | {"broker": broker_document.read(members["broker"])}


def _is_older(document: Any) -> bool:
    """Return whether *document* is that of an older schema."""
    version = document.get("fairq") if isinstance(document, dict) else None
    schema = version.get("schema") if isinstance(version, dict) else None
    return isinstance(schema, int) and schema < newest()


def _store(state: State, members: dict[str, Any]) -> None:
    state.connection.executemany("INSERT INTO meta VALUES (?, ?)", members["meta"].items())
    for name, member in MEMBERS.items():
        member.store(state, members[name])
    broker_document.store(state, members["broker"])


@contextmanager
def _append_only_lifted(state: State) -> Iterator[None]:
    """Take away for a while the triggers that keep what was recorded; within the transaction, unseen."""
    triggers = state.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        state.connection.execute(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        state.connection.execute(statement)
