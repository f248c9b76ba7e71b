"""Software and hardware in CRIC that no task can match (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
from fairq.engine.brokerage.pool.world import Queue

ALL = "ALL"
_TYPES = ("cpu", "gpu")
_PARTS = {"cpu": ("arch", "vendor", "instr"), "gpu": ("vendor", "model", "version")}
_LISTS = ("cmtconfigs", "containers", "cvmfs")


def release_findings(queue: Queue, rules: Rules, software: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield the findings about the ``releases`` of *queue* under *rules*, compared with the software map."""
    found = partial(finding, queue.name, "releases")
    text = ", ".join(queue.releases)
    if queue.releases == ("AUTO",):
        if software and queue.name not in software:
            yield found("no software", text, "no software published")
    elif not queue.releases:
        yield found("no releases", "")
    elif queue.releases != ("ANY",) and not (rules.any_releases and "ANY" in queue.releases):
        meant = [nearest(release, ("ANY", "AUTO")) for release in queue.releases]
        yield found("releases", text, meant=next((word for word in meant if word), None))


def software_findings(name: str, rules: Rules, entry: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings about the software that the queue *name* publishes, under *rules*."""
    found = partial(finding, name)
    for part in _LISTS:
        yield from _of_list(name, part, entry.get(part) or ())
    seen = set()
    for number, listed in enumerate(entry.get("architectures") or ()):
        kind = listed.get("type")
        place = f"architectures[{number}]"
        if kind not in _TYPES:
            yield found(place, "architecture type", str(kind), meant=nearest(str(kind), _TYPES), known=_TYPES)
            continue
        if kind in seen:
            yield found(place, "architecture twice", str(kind))
        seen.add(kind)
        yield from _of_hardware(name, place, str(kind), listed, rules)
    if name != ALL and not any(entry.get(part) for part in (*_LISTS, "tags")):
        yield found("software", "no software", "", "empty software")


def _of_hardware(name: str, place: str, kind: str, listed: Mapping[str, Any], rules: Rules) -> Iterator[Finding]:
    found = partial(finding, name)
    for field, values in listed.items():
        if field == "type":
            continue
        at = f"{place}.{field}"
        if field not in _PARTS[kind]:
            meant = nearest(field, _PARTS[kind])
            yield found(at, "misspelt", str(values), "misspelt attribute", meant=meant, known=_PARTS[kind])
        elif not isinstance(values, (list, tuple)):
            yield from _of_list(name, at, values)
        elif not values:
            yield found(at, "empty list", "[]", name=field)
        else:
            # Under the rules documented, an empty text among them accepts every value.
            yield from _of_list(name, at, [one for one in values if one != "" or not rules.empty_attribute])
            if list(values) == ["excl"]:
                yield found(at, "excl alone", "excl")
    if kind == "cpu" and "arch" not in listed:
        yield found(place, "no arch", "")


def _of_list(name: str, field: str, values: Any) -> Iterator[Finding]:
    found = partial(finding, name, field)
    if not isinstance(values, (list, tuple)):
        yield found("no list", str(values), "text for a list" if isinstance(values, str) else "", value=str(values))
        return
    for value in values:
        if not isinstance(value, str):
            yield found("no text", str(value))
        elif value != value.strip():
            yield found("blank", repr(value), "blank in a list", meant=value.strip() or "any")
        elif value == "":
            yield found("empty text", '""')
