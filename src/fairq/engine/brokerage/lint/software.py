"""Software and hardware as CRIC publishes them: what no task can match (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairq.engine.brokerage.lint.finding import Finding, nearest, perhaps
from fairq.engine.brokerage.pool.model import Queue

ALL = "ALL"
_TYPES = ("cpu", "gpu")
_PARTS = {"cpu": ("arch", "vendor", "instr"), "gpu": ("vendor", "model", "version")}
_LISTS = ("cmtconfigs", "containers", "cvmfs")


def release_findings(queue: Queue, software: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield what is odd about the ``releases`` of *queue* beside the software map."""
    found = partial(Finding, queue.name)
    text = ", ".join(queue.releases)
    if queue.releases == ("AUTO",):
        if software and queue.name not in software:
            yield found(
                "releases",
                "no software",
                text,
                "the software map does not have the queue: every task that asks for software is refused",
                "publish its software, or write ANY",
            )
        return
    if queue.releases == ("ANY",):
        return
    meant = [nearest(release, ("ANY", "AUTO")) for release in queue.releases]
    refused = "every task that asks for software is refused: only [ANY] and [AUTO] count"
    if not queue.releases:
        yield found("releases", "no releases", "", refused, "write AUTO, with software published, or ANY")
    else:
        word = next((word for word in meant if word), None)
        yield found("releases", "releases", text, refused, f"write {word} alone" if word else "write AUTO or ANY alone")


def software_findings(name: str, entry: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is odd about the software published of the queue *name*."""
    found = partial(Finding, name)
    for part in _LISTS:
        yield from _of_list(name, part, entry.get(part) or ())
    seen = set()
    for number, listed in enumerate(entry.get("architectures") or ()):
        kind = listed.get("type")
        place = f"architectures[{number}]"
        if kind not in _TYPES:
            yield found(place, "architecture type", str(kind), "nothing looks at it", perhaps(str(kind), _TYPES))
            continue
        if kind in seen:
            yield found(
                place,
                "architecture twice",
                str(kind),
                "of two of the same type one is not looked at",
                "put them together",
            )
        seen.add(kind)
        yield from _of_hardware(name, place, str(kind), listed)
    if name != ALL and not any(entry.get(part) for part in (*_LISTS, "tags")):
        yield found(
            "software",
            "no software",
            "",
            "it has no platforms, containers, releases or tags: only tasks that ask for hardware alone match",
            "publish what it has",
        )


def _of_hardware(name: str, place: str, kind: str, listed: Mapping[str, Any]) -> Iterator[Finding]:
    found = partial(Finding, name)
    for field, values in listed.items():
        if field == "type":
            continue
        if field not in _PARTS[kind]:
            meant = nearest(field, _PARTS[kind])
            yield found(
                f"{place}.{field}",
                "misspelt",
                str(values),
                "nothing looks at it",
                f"call it {meant}" if meant else f"write {', '.join(_PARTS[kind])}",
            )
        elif not isinstance(values, (list, tuple)):
            yield from _of_list(name, f"{place}.{field}", values)
        elif not values:
            yield found(
                f"{place}.{field}",
                "empty list",
                "[]",
                f"no {field} that a task asks for is in it: all of these are refused",
                'write ["any"], or what the queue has',
            )
        else:
            yield from _of_list(name, f"{place}.{field}", values)
            if list(values) == ["excl"]:
                yield found(
                    f"{place}.{field}",
                    "excl alone",
                    "excl",
                    "tasks that ask for nothing are refused, and no task can ask for what is there",
                    'add "any", or what the queue has',
                )
    if kind == "cpu" and "arch" not in listed:
        yield found(
            place, "no arch", "", "every task with a CPU specification is refused", 'add "arch": ["x86_64"], say'
        )


def _of_list(name: str, field: str, values: Any) -> Iterator[Finding]:
    found = partial(Finding, name)
    if not isinstance(values, (list, tuple)):
        what = "a text is read letter by letter" if isinstance(values, str) else "no task can ask for it"
        yield found(field, "no list", str(values), what, f'write ["{values}"]')
        return
    for value in values:
        if not isinstance(value, str):
            yield found(field, "no text", str(value), "no task can ask for it", "write texts alone")
        elif value != value.strip():
            yield found(
                field, "blank", repr(value), "no task asks for it, for the blank", f"write {value.strip() or 'any'}"
            )
        elif value == "":
            yield found(field, "empty text", '""', 'no task asks for "": it is not any', 'write "any", or leave it out')
