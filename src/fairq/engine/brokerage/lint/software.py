"""Software and hardware in CRIC that no task can match (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Queue
from fairq.engine.brokerage.software.check import ALL

_TYPES = ("cpu", "gpu")
_PARTS = {"cpu": ("arch", "vendor", "instr"), "gpu": ("vendor", "model", "version")}
_LISTS = ("cmtconfigs", "containers", "cvmfs")


def release_findings(queue: Queue, rules: Rules, software: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield the findings about the ``releases`` of *queue* under *rules*, compared with the software map."""
    report = partial(finding, queue.name, "releases")
    text = ", ".join(queue.releases)
    if queue.releases == ("AUTO",):
        if software and queue.name not in software:
            yield report("no software", text, "no software published")
    elif not queue.releases:
        yield report("no releases", "")
    elif queue.releases != ("ANY",) and not (rules.any_releases and "ANY" in queue.releases):
        meant = [nearest(release, ("ANY", "AUTO")) for release in queue.releases]
        yield report("releases", text, meant=next((word for word in meant if word), None))


def software_findings(name: str, rules: Rules, entry: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings about the software that the queue *name* publishes, under *rules*."""
    report = partial(finding, name)
    for part in _LISTS:
        yield from _list_findings(name, part, entry.get(part) or ())
    types_seen = set()
    for number, lists in enumerate(entry.get("architectures") or ()):
        hardware_type = lists.get("type")
        path = f"architectures[{number}]"
        if hardware_type not in _TYPES:
            yield report(
                path, "architecture type", str(hardware_type), meant=nearest(str(hardware_type), _TYPES), known=_TYPES
            )
            continue
        if hardware_type in types_seen:
            yield report(path, "architecture twice", str(hardware_type))
        types_seen.add(hardware_type)
        yield from _hardware_findings(name, path, str(hardware_type), lists, rules)
    if name != ALL and not any(entry.get(part) for part in (*_LISTS, "tags")):
        yield report("software", "no software", "", "empty software")


def _hardware_findings(
    name: str, path: str, hardware_type: str, listed: Mapping[str, Any], rules: Rules
) -> Iterator[Finding]:
    report = partial(finding, name)
    for field, values in listed.items():
        if field == "type":
            continue
        field_path = f"{path}.{field}"
        if field not in _PARTS[hardware_type]:
            meant = nearest(field, _PARTS[hardware_type])
            yield report(
                field_path, "misspelt", str(values), "misspelt attribute", meant=meant, known=_PARTS[hardware_type]
            )
        elif not isinstance(values, (list, tuple)):
            yield from _list_findings(name, field_path, values)
        elif not values:
            yield report(field_path, "empty list", "[]", name=field)
        else:
            # Under the rules documented, an empty text among them accepts every value.
            yield from _list_findings(
                name, field_path, [value for value in values if value != "" or not rules.empty_attribute]
            )
            if list(values) == ["excl"]:
                yield report(field_path, "excl alone", "excl")
    if hardware_type == "cpu" and "arch" not in listed:
        yield report(path, "no arch", "")


def _list_findings(name: str, field: str, values: Any) -> Iterator[Finding]:
    report = partial(finding, name, field)
    if not isinstance(values, (list, tuple)):
        yield report("no list", str(values), "text for a list" if isinstance(values, str) else "", value=str(values))
        return
    for value in values:
        if not isinstance(value, str):
            yield report("no text", str(value))
        elif value != value.strip():
            yield report("blank", repr(value), "blank in a list", meant=value.strip() or "any")
        elif value == "":
            yield report("empty text", '""')
