"""Write the pool as HTCondor's dumps, which ``fairq import`` reads, or the whole state as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from fairq.common.records import Ad, Claim, JobRange, JobStatus, SlotRecord
from fairq.formats import json_form, long_form
from fairq.formats.accounting import accounting_ad
from fairq.formats.json_form import as_unicode
from fairq.state import claims, document, jobs, meta
from fairq.state.connection import State, reading
from fairq.steps.cycle.accounts import records_at
from fairq.steps.pool.claimed_ads import with_claim
from fairq.steps.pool.dynamic_slots import load_slots

Subject = Literal["slots", "jobs", "accounting"]


def export_dump(path: Path, subject: Subject, stream: IO[str], *, long: bool, now: int) -> None:
    """Write the *subject*'s ads to *stream*, in the ``-long`` form or as JSON.

    Slots have their state at *now*, with fairq's claims; accounting ads have the real priority.

    Raises UnwritableExportError for values that the format cannot represent, or the state's errors.
    """
    with reading(path) as state:
        ads = _ads(state, subject, now)
    # The state is closed here: a slow reader of the stream, e.g. a pager, must not block writers.
    if long:
        long_form.write(ads, stream, _described)
    else:
        json_form.write(ads, stream)


def _ads(state: State, subject: Subject, now: int) -> Iterable[Ad]:
    """Load the data of the ads, which are made one by one when needed."""
    if subject == "slots":
        return _slot_ads(load_slots(state), {claim.slot_id: claim for claim in claims.load_all(state)}, now)
    if subject == "jobs":
        ranges = jobs.select(state)
        return _job_ads(ranges, jobs.ads(state, {job.ad_id for job in ranges}))
    last_update = meta.number(state, "last_update")
    return (accounting_ad(record, last_update) for record in records_at(state, now))


def _slot_ads(pool: Sequence[SlotRecord], held: Mapping[int, Claim], now: int) -> Iterator[Ad]:
    for slot in pool:
        ad = slot.ad
        claim = held.get(slot.id)
        if claim is not None:
            ad = with_claim(ad, claim, now)
            if claim.cluster is not None and claim.schedd:
                ad = {**ad, "GlobalJobId": f"{claim.schedd}#{claim.cluster}.{claim.proc}#{claim.start_time}"}
        if slot.draining:
            ad = {**ad, "Draining": True}
        yield ad


def _job_ads(ranges: Sequence[JobRange], shared: Mapping[int, Ad]) -> Iterator[Ad]:
    for job in ranges:
        for proc in job.numbers:
            ad = job.ad_of(shared[job.ad_id], proc)
            if job.schedd:
                ad["GlobalJobId"] = f"{job.schedd}#{job.cluster}.{proc}#{job.queue_date}"
            if job.reason is not None and job.status == JobStatus.HELD:
                ad["HoldReason"] = job.reason
            yield ad


def _described(ad: Ad) -> str:
    return f"job {ad['ClusterId']}.{ad['ProcId']}" if "ClusterId" in ad else str(ad.get("Name"))


_TOGETHER = 1000
"""Elements of a long list that are written at a time."""


def export_document(path: Path, stream: IO[str]) -> None:
    """Write a snapshot of the state at *path* to *stream*; `import_document` reads it."""
    with reading(path) as state:
        whole = document.export(state)
    before = "{"
    for name, value in whole.items():
        stream.write(f"{before}\n {json.dumps(name)}: ")
        stream.writelines(_pieces(value))
        before = ","
    stream.write("\n}\n")


def _pieces(value: Any) -> Iterator[str]:
    """Yield the text of a member of the document."""
    if not isinstance(value, list) or len(value) <= _TOGETHER:
        yield _text(value)
        return
    before = "["
    for start in range(0, len(value), _TOGETHER):
        yield before + _text(value[start : start + _TOGETHER]).removeprefix("[").removesuffix("\n ]")
        before = ","
    yield "\n ]"


def _text(value: Any) -> str:
    text = as_unicode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    try:
        # Python's json would take five times as long to indent it.
        indented = msgspec.json.format(text, indent=1)
    except msgspec.DecodeError:  # of a lone surrogate, or a number that is none
        indented = as_unicode(json.dumps(value, ensure_ascii=False, indent=1))
    return indented.replace("\n", "\n ")
