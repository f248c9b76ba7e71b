"""Results of the readers of dumps, for many ads at a time or ad by ad."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from fairq.errors.base import FairqError
from fairq.formats import ad_parts
from fairq.formats.jobs import read_jobs
from fairq.formats.slots import read_slots
from fairq.formats.source import Source


def jobs_of(text: str) -> str:
    """Return the jobs of a dump with their ads, or the error message."""
    try:
        dump = read_jobs(Source("jobs", io.BytesIO(text.encode())), lambda ad: f"{ad.get('Owner')}@x", 9)
    except FairqError as error:
        return str(error)
    ads = [dump.ads[job.ad_id] for job in dump.ranges]
    for job in dump.ranges:
        job.ad_id = 0
    return repr((dump.ranges, ads, dump.left_out, dump.clusters, dump.schedds))


def slots_of(text: str) -> str:
    """Return the slots of a dump, or the error message."""
    try:
        dump = read_slots(Source("slots", io.BytesIO(text.encode("utf-8", "surrogateescape"))))
    except FairqError as error:
        return str(error)
    return repr((list(dump.slots), dump.left_out, dump.version, dump.schedds))


def one_by_one(read: Callable[[str], str], text: str) -> str:
    """Return the result of *read* for a text whose ads are read one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ad_parts, "_BATCH", 1)
        return read(text)
