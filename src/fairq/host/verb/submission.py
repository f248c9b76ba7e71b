"""Jobs and slots from the asker's own fairq, checked attribute by attribute."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set
from typing import Any

from fairq.common.expression_form import expression_text
from fairq.common.records import JOB_COLUMNS, PROC_PLACEHOLDER, Ad, JobStatus, SlotRecord
from fairq.errors.base import ExpressionError
from fairq.errors.people import RequestError
from fairq.formats.submitfile import JobGroup, Submission
from fairq.host.verb.document import members, text

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_RESERVED = JOB_COLUMNS | {"mytype", "targettype", "schedd", "remotehost", "launch"}
"""Attributes that an asker may not set, in lower case: those of the queue, and MyType and TargetType, set here."""

_MOST_GROUPS = 100_000
_MOST_ATTRIBUTES = 500
_MOST_JOBS = 2**31 - 1
_LONGEST = 1 << 16


def submission_of(arguments: dict[str, Any]) -> Submission:
    """Return the jobs that *arguments* describe; raises RequestError for the first error.

    ``ads`` are the shared ads. Each of ``groups`` has the numbers of its ``first`` and ``last`` job and the index of
    its shared ``ad``. ``own`` and ``template`` override that ad (see `JobGroup`). ``priority`` is the job priority,
    and ``reason`` is the hold reason or null.
    """
    ads = [_ad(ad) for ad in _list(arguments["ads"], "ads")]
    groups: list[JobGroup] = []
    for document in _list(arguments["groups"], "groups"):
        group = members(document, "a group")
        if group.keys() != {"first", "last", "ad", "own", "template", "priority", "reason"}:
            raise RequestError(problem="a group has other members than it should")
        first, last = _integer(group["first"], "first"), _integer(group["last"], "last")
        if first != (groups[-1].last_proc + 1 if groups else 0) or not first <= last < _MOST_JOBS:
            raise RequestError(problem="the jobs are not numbered from 0 on")
        index = _integer(group["ad"], "ad")
        if not 0 <= index < len(ads):
            raise RequestError(problem=f"there is no ad {index}")
        own = None if group["own"] is None else _ad(group["own"])
        template = None if group["template"] is None else _template(group["template"])
        _check_spelling(ads[index], own, template)
        reason = group["reason"]
        if reason is not None and not _is_text(reason):
            raise RequestError(problem="reason is not such a text")
        status = JobStatus.IDLE if reason is None else JobStatus.HELD
        priority = _integer(group["priority"], "priority")
        groups.append(JobGroup(first, last, ads[index], own, template, priority, int(status), reason))
    return Submission(groups)


def attributes_of(value: Any) -> Ad:
    """Return the attributes that an asker gives to jobs; raises RequestError for the first error."""
    if value == {}:
        raise RequestError(problem="there is no attribute")
    return _ad(value, set())


def slots_of(value: Any) -> list[SlotRecord]:
    """Return the slots that an administrator adds; raises RequestError for the first error."""
    slots = []
    for document in _list(value, "slots"):
        slot = members(document, "a slot")
        if slot.keys() != {"name", "ad", "address"}:
            raise RequestError(problem="a slot has other members than it should")
        name, address = text(slot["name"], "name"), text(slot["address"], "address")
        slots.append(SlotRecord(0, name, _ad(slot["ad"], set()), address))
    return slots


def _ad(value: Any, reserved: Set[str] = _RESERVED) -> Ad:
    ad = members(value, "an ad")
    if len(ad) > _MOST_ATTRIBUTES:
        raise RequestError(problem=f"an ad has more than {_MOST_ATTRIBUTES} attributes")
    names = {name.lower() for name in ad}
    if len(names) != len(ad):
        raise RequestError(problem="an ad has an attribute twice")
    for name, content in ad.items():
        if not _NAME.fullmatch(name):
            raise RequestError(problem="an attribute has no such name")
        if name.lower() in reserved and (name, content) not in (("MyType", "Job"), ("TargetType", "Machine")):
            raise RequestError(problem=f"the attribute {name} is the queue's own")
        _check(name, content)
    return ad


def _check_spelling(*ads: Ad | None) -> None:
    """Refuse ads that spell an attribute differently: it would be ambiguous which value counts."""
    names = {name for ad in ads for name in ad or {}}
    if len({name.lower() for name in names}) != len(names):
        raise RequestError(problem="an attribute is spelled in two ways")


def _template(value: Any) -> Ad:
    template = _ad(value)
    for name, content in template.items():
        if not isinstance(content, str) or PROC_PLACEHOLDER not in content:
            raise RequestError(problem=f"{name} does not depend on the number of the job")
    if {"accountinggroup", "acctgroup", "acctgroupuser", "niceuser"} & {name.lower() for name in template}:
        raise RequestError(problem="the submitter depends on the number of the job")
    return template


def _check(name: str, content: Any) -> None:
    """Raise RequestError unless a value is a number, a Boolean, a text or an expression in ad syntax."""
    if content is None or isinstance(content, bool):
        return
    if isinstance(content, int | float):
        if not math.isfinite(content):
            raise RequestError(problem=f"{name} is not a number")
        return
    if not isinstance(content, str):
        raise RequestError(problem=f"{name} is a list or an object; write it as an expression")
    if not _is_text(content):
        raise RequestError(problem=f"{name} is too long, or has control characters")
    text = expression_text(content)
    if text is not None:
        from fairq.engine.classad import parse

        try:
            parse(text)
        except ExpressionError:
            raise RequestError(problem=f"{name} is not an expression") from None


def _is_text(value: Any) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= _LONGEST
        and all(character.isprintable() or character in "\n\t" for character in value)
    )


def _list(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_GROUPS:
        raise RequestError(problem=f"{name} is not a list of 1 to {_MOST_GROUPS}")
    return value


def _integer(value: Any, name: str) -> int:
    if type(value) is not int or abs(value) > _MOST_JOBS:
        raise RequestError(problem=f"{name} is not a whole number up to {_MOST_JOBS}")
    return value
