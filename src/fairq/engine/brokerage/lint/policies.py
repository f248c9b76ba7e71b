"""Fairshare policies that have another effect than expected (docs/panda.md, Fair share policies)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairq.engine.brokerage.criteria.shares import (
    ANY,
    EVGENSIMUL,
    OTHERS,
    PROCESS_GROUPS,
    SubPolicy,
    process_group,
    read_policy,
)
from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Queue

_GROUPS = sorted({OTHERS, *PROCESS_GROUPS.values()})
_FIELDS = ("type", "group", "gshare", "priority")
_VALUE = re.compile(r"\d+(\.\d+)?%?")


def policy_findings(queue: Queue, rules: Rules) -> Iterator[Finding]:
    """Yield the findings about the ``fairsharepolicy`` of *queue* under *rules*."""
    text = queue.fairsharepolicy
    if not text:
        return
    if not text.strip():
        yield _finding(queue, "blank", text, "blank policy")
        return
    parts = read_policy(text)
    reachable = parts[: next((number for number, part in enumerate(parts, 1) if _is_for_all(part)), len(parts))]
    for part in reachable:
        yield from _part_findings(queue, part, rules)
    yield from _unreachable_findings(queue, parts)
    # Parts that were not understood already have findings, which must be fixed first.
    if all(map(_is_understood, reachable)):
        yield from _ending_findings(queue, reachable, rules)


def _ending_findings(queue: Queue, parts: tuple[SubPolicy, ...], rules: Rules) -> Iterator[Finding]:
    accepting = [part.text for part in parts if not part.is_zero]
    if not accepting:
        return
    last = parts[-1]
    if not _is_for_all(last):
        if rules.unnamed_have_no_share:
            return
        yield _finding(queue, "no end", queue.fairsharepolicy, accepting=accepting[0], policy=queue.fairsharepolicy)
    elif not last.is_zero and 1 < len(parts) == len(accepting):
        yield _finding(
            queue,
            "no end",
            queue.fairsharepolicy,
            "end accepts all",
            accepting=last.text,
            conditions=last.text.rpartition(":")[0],
        )


def _part_findings(queue: Queue, part: SubPolicy, rules: Rules) -> Iterator[Finding]:
    text = part.text
    if not text.strip():
        yield _finding(queue, "empty part", text)
        return
    blank = text != "".join(text.split()) and _has_stray_blank(text)
    if blank:
        problem, field = _meaning_of_blank(part)
        yield _finding(queue, "blank", text, problem, field=field, meant="".join(text.split()))
    for field in part.unknown:
        if not blank:
            name = field.partition("=")[0]
            close = nearest(name, _FIELDS)
            meant = f"{close}{field[len(name) :]}" if close else None
            yield _finding(queue, "unknown field", text, field=field, meant=meant)
    if _is_bare(part):
        yield _finding(queue, "no condition", text)
    if part.priority is not None and part.priority[1] is None:
        yield _finding(queue, "priority", text)
    yield from _value_findings(queue, part)
    yield from _pattern_findings(queue, part, rules)
    if part.priority is not None and part.priority[1] is not None and part.is_zero:
        yield _finding(queue, "merge", text)


def _value_findings(queue: Queue, part: SubPolicy) -> Iterator[Finding]:
    value = part.text.rpartition(":")[2]
    if part.is_zero or any(sign.isspace() for sign in part.text):
        return
    if not _VALUE.fullmatch(value):
        yield _finding(queue, "no value", part.text, value=value)
    elif float(value.rstrip("%")) == 0:
        yield _finding(queue, "not zero", part.text, value=value)


def _pattern_findings(queue: Queue, part: SubPolicy, rules: Rules) -> Iterator[Finding]:
    for name in ("process_group", "working_group", "share"):
        pattern = getattr(part, name)
        if pattern is None or (rules.evgensimul and name == "process_group" and pattern == EVGENSIMUL):
            continue
        try:
            expression = re.compile(f"^{pattern.replace('*', '.*')}$")
        except re.error as error:
            yield _finding(queue, "pattern", part.text, pattern=pattern, error=str(error))
            continue
        if name == "process_group" and pattern != ANY and not any(map(expression.match, _GROUPS)):
            group = process_group(pattern)
            close = group if group != OTHERS else nearest(pattern, _GROUPS)
            groups = ", ".join(_GROUPS)
            yield _finding(queue, "unknown type", part.text, "unknown group", group=pattern, meant=close, known=groups)


def _unreachable_findings(queue: Queue, parts: tuple[SubPolicy, ...]) -> Iterator[Finding]:
    texts_by_conditions: dict[str, str] = {}
    last_reachable: SubPolicy | None = None
    for part in parts:
        if last_reachable is not None:
            yield _finding(queue, "never reached", part.text, part=last_reachable.text)
            continue
        conditions = part.text.rpartition(":")[0]
        if conditions and conditions in texts_by_conditions:
            yield _finding(queue, "never reached", part.text, "part repeated", part=texts_by_conditions[conditions])
        texts_by_conditions[conditions] = part.text
        if _is_for_all(part):
            last_reachable = part


def _is_for_all(part: SubPolicy) -> bool:
    conditions = (part.process_group, part.working_group, part.share)
    is_priority = part.priority is not None and part.priority[1] is not None
    return not is_priority and all(pattern in (None, ANY, "*") for pattern in conditions)


def _is_understood(part: SubPolicy) -> bool:
    return bool(part.text.strip()) and not part.unknown and not _is_bare(part) and not _has_stray_blank(part.text)


def _is_bare(part: SubPolicy) -> bool:
    return (
        (part.process_group, part.working_group, part.share, part.priority) == (None, None, None, None)
        and not part.unknown
        and bool(part.text.strip())
        and not _has_stray_blank(part.text)
    )


def _has_stray_blank(text: str) -> bool:
    """Return whether a blank changes the meaning of the part; only names of shares and groups may contain one."""
    fields = text.split(":")
    return any(
        field != field.strip() or (any(map(str.isspace, field)) and not field.startswith(("gshare=", "group=")))
        for field in fields
    )


def _meaning_of_blank(part: SubPolicy) -> tuple[str, str]:
    """Return the problem caused by a blank, and the field with the blank."""
    fields = part.text.split(":")
    if part.unknown:
        return "blank in a field", part.unknown[0]
    if fields[-1] != fields[-1].strip() and fields[-1].strip() in ("0", "0%"):
        return "blank in a zero", fields[-1]
    return "blank in a word", part.text


def _finding(queue: Queue, kind: str, value: str, problem: str = "", /, **facts: Any) -> Finding:
    return finding(queue.name, "fairsharepolicy", kind, value, problem, **facts)
