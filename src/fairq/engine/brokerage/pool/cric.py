"""A queue as CRIC publishes it (docs/panda.md, Queues; PanDA getSiteInfo).

CRIC omits numbers, writes them as text, or has states that the brokerage does not know. Valid values are used. An
invalid value is named in a complaint and replaced by PanDA's default for a missing value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from fairq.engine.brokerage.pool.flags import read_flags
from fairq.engine.brokerage.pool.world import Queue

Used = TypeVar("Used")

STATES = frozenset({"online", "offline", "brokeroff", "test", "standby", "paused"})
"""The states of a queue that PanDA knows; queues in other states get no tasks."""

TYPES = frozenset({"production", "analysis", "unified", "special"})
SEEDS = frozenset({"std", "es", "all", "eshigh"})

DEFAULT_SCRATCH = 16336
"""MiB of scratch of a queue whose ``maxwdir`` and ``maxinputsize`` cannot be read."""

SCRATCH_BESIDE_INPUT = 2000
"""MiB of scratch in addition to the largest input, if only ``maxwdir`` cannot be read."""


class Complaint(NamedTuple):
    """An invalid field: its name, its value, and the value used instead."""

    field: str
    value: object
    value_used: object


class ReadQueue(NamedTuple):
    """A queue and the complaints about its fields."""

    queue: Queue
    complaints: tuple[Complaint, ...]


def read_queue(name: str, fields: Mapping[str, Any], *, role: str = "", site: str = "") -> ReadQueue:
    """Return the queue *name* from CRIC's *fields*.

    Args:
        name: its name; CRIC's ``nickname`` or ``panda_queue``.
        fields: the JSON object; keys in lower case, null and missing are the same.
        role: the role of its site if *fields* has none.
        site: its site if *fields* has none.
    """
    reader = _Reader(fields)
    params = reader.mapping("params")
    catchall = reader.text("catchall")
    corecount = reader.integer("corecount", minimum=0)
    maxinputsize = reader.number("maxinputsize", minimum=-1)
    scratch = _default_scratch(fields.get("maxinputsize"))
    maxwdir = reader.number("maxwdir", minimum=0, otherwise=scratch) or 0
    if fields.get("maxwdir") == "":
        maxwdir = scratch
    maxrss, minrss = reader.number("maxrss", minimum=0), reader.number("minrss", minimum=0)
    if corecount and read_flags(catchall, params).per_core_attr:
        maxrss, minrss, maxwdir = _times(maxrss, corecount), _times(minrss, corecount), maxwdir * corecount
    queue = Queue(
        name=name,
        site=reader.text("atlas_site") or site,
        role=reader.text("role") or role,
        cloud=reader.text("cloud").split(",")[0].strip(),
        type=reader.word("type", TYPES) or "production",
        status=reader.word("status", STATES),
        capability=reader.text("capability"),
        workflow=reader.text("workflow"),
        corecount=corecount,
        maxrss=maxrss,
        minrss=minrss,
        maxwdir=maxwdir,
        maxtime=reader.number("maxtime", minimum=0) or 0,
        mintime=reader.number("mintime", minimum=0) or 0,
        maxinputsize=maxinputsize,
        corepower=reader.number("corepower", minimum=0) or 0,
        releases=reader.words("releases"),
        fairsharepolicy=reader.text("fairsharepolicy"),
        wnconnectivity=reader.text("wnconnectivity"),
        transferringlimit=reader.integer("transferringlimit", minimum=0),
        pledgedcpu=reader.integer("pledgedcpu", minimum=-1),
        maxdiskio=reader.number("maxdiskio", minimum=0) or 0,
        direct_access_lan=reader.flag("direct_access_lan"),
        direct_access_wan=reader.flag("direct_access_wan"),
        jobseed=reader.word("jobseed", SEEDS) or "std",
        catchall=catchall,
        params=params,
    )
    return ReadQueue(queue, tuple(reader.complaints))


def _default_scratch(maxinputsize: object) -> float:
    # Without a limit on input, scratch has no limit either.
    if maxinputsize is None or maxinputsize == 0:
        return 0
    return maxinputsize + SCRATCH_BESIDE_INPUT if isinstance(maxinputsize, (int, float)) else DEFAULT_SCRATCH


def _times(value: float | None, cores: int) -> float | None:
    return None if value is None else value * cores


class _Reader:
    """Reads fields of the JSON object and collects complaints."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self.complaints: list[Complaint] = []

    def _complain(self, field: str, value_used: Used) -> Used:
        self.complaints.append(Complaint(field, self._fields.get(field), value_used))
        return value_used

    def number(self, field: str, *, minimum: float, otherwise: float | None = None) -> float | None:
        value = self._fields.get(field)
        if value is None or value == "":
            return None
        number = _number(value)
        if number is None or number < minimum:
            return self._complain(field, otherwise)
        return number

    def integer(self, field: str, *, minimum: int) -> int:
        number = self.number(field, minimum=minimum, otherwise=0) or 0
        truncated = int(number)
        return truncated if truncated == number else self._complain(field, truncated)

    def text(self, field: str) -> str:
        value = self._fields.get(field)
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        return self._complain(field, "")

    def word(self, field: str, valid: frozenset[str]) -> str:
        value = self.text(field)
        if value not in valid and (value or field == "status"):
            self._complain(field, value)
        return value

    def words(self, field: str) -> tuple[str, ...]:
        value = self._fields.get(field)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return tuple(value)
        return self._complain(field, ())

    def flag(self, field: str) -> bool:
        value = self._fields.get(field)
        if value is not None and not isinstance(value, bool):
            self._complain(field, False)
        return value is True

    def mapping(self, field: str) -> dict[str, Any]:
        value = self._fields.get(field)
        if isinstance(value, str) and value:
            try:
                value = json.loads(value)
            except ValueError:
                return self._complain(field, {})
        if value is None or value == "":
            return {}
        return dict(value) if isinstance(value, dict) else self._complain(field, {})


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number
