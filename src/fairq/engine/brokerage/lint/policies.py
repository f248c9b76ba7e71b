"""Fairshare policies that do something else than they seem to (docs/panda.md, Fair share policies)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairq.engine.brokerage.lint.finding import Finding, nearest
from fairq.engine.brokerage.pool.fairshare_policy import (
    ANY,
    OTHERS,
    PROCESS_GROUPS,
    SubPolicy,
    process_group,
    read_policy,
)
from fairq.engine.brokerage.pool.model import Queue

_GROUPS = sorted({OTHERS, *PROCESS_GROUPS.values()})
_FIELDS = ("type", "group", "gshare", "priority")
_VALUE = re.compile(r"\d+(\.\d+)?%?")


def policy_findings(queue: Queue) -> Iterator[Finding]:
    """Yield what is odd about the ``fairsharepolicy`` of *queue*."""
    text = queue.fairsharepolicy
    if not text:
        return
    if not text.strip():
        yield _finding(queue, "blank", text, "a blank is a part that accepts everybody", "leave it empty")
        return
    parts = read_policy(text)
    reached = parts[: next((place for place, part in enumerate(parts, 1) if _is_for_all(part)), len(parts))]
    for part in reached:
        yield from _of_part(queue, part)
    yield from _never_reached(queue, parts)
    # Parts that were not understood are told already: mending them comes first.
    if all(map(_is_understood, reached)):
        yield from _without_end(queue, reached)


def _without_end(queue: Queue, parts: tuple[SubPolicy, ...]) -> Iterator[Finding]:
    accepting = [part.text for part in parts if not part.is_zero]
    if not accepting:
        return
    last = parts[-1]
    if not _is_for_all(last):
        yield _finding(
            queue,
            "no end",
            queue.fairsharepolicy,
            f"PanDA accepts whoever no part is about, so {accepting[0]!r} excludes nobody there",
            f"end it with an any:0, as {queue.fairsharepolicy},type=any:0%",
        )
    elif not last.is_zero and 1 < len(parts) == len(accepting):
        yield _finding(
            queue,
            "no end",
            queue.fairsharepolicy,
            f"{last.text!r} accepts all others, so nobody is excluded",
            f"write {last.text.rpartition(':')[0]}:0%, or leave the policy empty",
        )


def _of_part(queue: Queue, part: SubPolicy) -> Iterator[Finding]:
    text, everybody = part.text, "it puts no condition and applies to everybody"
    if not text.strip():
        yield _finding(
            queue, "empty part", text, "an empty part accepts everybody, and no later one counts", "leave the comma out"
        )
        return
    blank = text != "".join(text.split()) and _strays(text)
    if blank:
        yield _finding(queue, "blank", text, _meaning_of_blank(part), f"write {''.join(text.split())}")
    for field in part.unknown:
        if not blank:
            name = field.partition("=")[0]
            close = nearest(name, _FIELDS)
            cure = f"write {close}{field[len(name) :]}" if close else "leave it out, or begin it with type=, group= or "
            yield _finding(
                queue, "unknown field", text, f"{field!r} is no field: {everybody}", cure if close else f"{cure}gshare="
            )
    if _is_bare(part):
        yield _finding(queue, "no condition", text, everybody, "put a condition before it, as type=any:0%")
    if part.priority is not None and part.priority[1] is None:
        yield _finding(queue, "priority", text, f"it compares with no number: {everybody}", "write a number")
    yield from _of_value(queue, part)
    yield from _of_patterns(queue, part)
    if part.priority is not None and part.priority[1] is not None and part.is_zero:
        yield _finding(
            queue,
            "merge",
            text,
            "priorities are not looked at for merge jobs: all of them are refused",
            "accept them before it, as type=merge:100%",
        )


def _of_value(queue: Queue, part: SubPolicy) -> Iterator[Finding]:
    value = part.text.rpartition(":")[2]
    if part.is_zero or any(sign.isspace() for sign in part.text):
        return
    if not _VALUE.fullmatch(value):
        yield _finding(
            queue,
            "no value",
            part.text,
            f"{value!r} is no part of a share, and what is not 0 accepts",
            "end the part with :100% or :0%",
        )
    elif float(value.rstrip("%")) == 0:
        yield _finding(queue, "not zero", part.text, f"{value} accepts: only 0 and 0% refuse", "write 0%")


def _of_patterns(queue: Queue, part: SubPolicy) -> Iterator[Finding]:
    for name in ("process_group", "working_group", "share"):
        pattern = getattr(part, name)
        if pattern is None:
            continue
        try:
            found = re.compile(f"^{pattern.replace('*', '.*')}$")
        except re.error as error:
            yield _finding(
                queue,
                "pattern",
                part.text,
                f"{pattern!r} is no pattern ({error}): all that come to this part are accepted",
                "write a name, any, or a name with *",
            )
            continue
        if name == "process_group" and pattern != ANY and not any(map(found.match, _GROUPS)):
            group = process_group(pattern)
            close = group if group != OTHERS else nearest(pattern, _GROUPS)
            cure = f"write type={close}" if close else f"the groups are {', '.join(_GROUPS)}"
            yield _finding(
                queue,
                "unknown type",
                part.text,
                f"there is no process group {pattern}: this part applies to nobody",
                cure,
            )


def _never_reached(queue: Queue, parts: tuple[SubPolicy, ...]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    decided: SubPolicy | None = None
    for part in parts:
        if decided is not None:
            yield _finding(
                queue,
                "never reached",
                part.text,
                f"{decided.text!r} before it decides for everybody",
                "put it before that, or leave it out",
            )
            continue
        conditions = part.text.rpartition(":")[0]
        if conditions and conditions in seen:
            yield _finding(
                queue,
                "never reached",
                part.text,
                f"{seen[conditions]!r} before it decides for the same",
                "leave one of the two out",
            )
        seen[conditions] = part.text
        if _is_for_all(part):
            decided = part


def _is_for_all(part: SubPolicy) -> bool:
    conditions = (part.process_group, part.working_group, part.share)
    is_priority = part.priority is not None and part.priority[1] is not None
    return not is_priority and all(pattern in (None, ANY, "*") for pattern in conditions)


def _is_understood(part: SubPolicy) -> bool:
    return bool(part.text.strip()) and not part.unknown and not _is_bare(part) and not _strays(part.text)


def _is_bare(part: SubPolicy) -> bool:
    return (
        (part.process_group, part.working_group, part.share, part.priority) == (None, None, None, None)
        and not part.unknown
        and bool(part.text.strip())
        and not _strays(part.text)
    )


def _strays(text: str) -> bool:
    """Whether there is a blank that changes what the part means: shares alone may have one inside their names."""
    fields = text.split(":")
    return any(
        field != field.strip() or (any(map(str.isspace, field)) and not field.startswith(("gshare=", "group=")))
        for field in fields
    )


def _meaning_of_blank(part: SubPolicy) -> str:
    fields = part.text.split(":")
    if part.unknown:
        return f"{part.unknown[0]!r} is no field for its blank: it puts no condition and applies to everybody"
    if fields[-1] != fields[-1].strip() and fields[-1].strip() in ("0", "0%"):
        return f"{fields[-1]!r} is not 0 for its blank: it accepts"
    return "the blank is taken as a part of the word"


def _finding(queue: Queue, kind: str, value: str, meaning: str, cure: str) -> Finding:
    return Finding(queue.name, "fairsharepolicy", kind, value, meaning, cure)
