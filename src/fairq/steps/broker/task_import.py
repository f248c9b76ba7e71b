"""Check tasks on import; attributes with the documentation's own names are stored where PanDA keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairq.columns.broker.column import Column, Kind, UnfitError, shown, value_of
from fairq.engine.brokerage.pool.connectivity import (
    NO_NETWORK,
    connectivity_rules,
    names_no_network,
    read_task_connectivity,
)
from fairq.steps.broker.reader import Checked, Remark, check_record

_CONNECTIVITY = "ipConnectivity"

_RULES: dict[str, tuple[str, Column]] = {
    "t1Weight": ("TW", Column("t1Weight", "integer", "")),
    "onlyTagsForFC": ("OT", Column("onlyTagsForFC", "boolean", "")),
    "avoidVP": ("AV", Column("avoidVP", "boolean", "")),
}
"""Attributes of a task that PanDA keeps as two-letter rules, and their values."""

_PARAMETERS = ("includedSite", "excludedSite")
"""Attributes of a task that PanDA keeps among its parameters."""

_SOFTWARE = ("sw_platform", "sw_project", "sw_version")
"""The documentation page's names for the parts of ``architecture`` and ``transHome``."""

OWN_NAMES = (_CONNECTIVITY, *_RULES, *_PARAMETERS, *_SOFTWARE)
"""Names that a task may use in addition to its columns."""

_SPELLINGS = {name.lower(): name for name in OWN_NAMES}

_SIZE = "(kB|MB|GB)(PerEvents?)?(Fixed)?"
_UNITS = {
    "ramUnit": ("(MB|MBPerCore|MBPerCoreFixed)", "MB, MBPerCore or MBPerCoreFixed"),
    "cpuTimeUnit": ("m?HS06sPerEvent(Fixed)?", "HS06sPerEvent or mHS06sPerEvent, with or without Fixed"),
    "outDiskUnit": (_SIZE, "kB, MB or GB, with or without PerEvent and Fixed"),
    "workDiskUnit": (_SIZE, "kB, MB or GB"),
}
"""For each column with a unit: the pattern of the units that PanDA knows, and their names for messages."""

_RULE = re.compile(r"\s*[A-Z]{2}\s*=.*")


def check_task(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a task as a row, as `check_record` does; attributes with special names are stored where PanDA keeps them.

    ipConnectivity, t1Weight, onlyTagsForFC and avoidVP become rules of ``splitRule``, both from fields of the record
    and from the task's parameters. includedSite and excludedSite become parameters. Raises UnfitError.
    """
    own = {_SPELLINGS[name.lower()]: value for name, value in record.items() if name.lower() in _SPELLINGS}
    rest = {name: value for name, value in record.items() if name.lower() not in _SPELLINGS}
    row, named, remarks = check_record(kind, rest)
    values, given = list(row), set(named)
    remarks += _unknown_words(kind, row)

    def put(column: str, value: Any) -> None:
        values[kind.positions[column]] = value
        given.add(column)

    parameters = dict(values[kind.positions["parameters"]])
    rules, complaints = _rules({**{name: parameters.get(name) for name in (_CONNECTIVITY, *_RULES)}, **_set(own)})
    remarks += complaints
    if rules:
        former = str(values[kind.positions["splitRule"]]).split(",")
        kept = [rule for rule in former if rule and rule.partition("=")[0].strip() not in rules]
        put("splitRule", ",".join([*kept, *(f"{name}={value}" for name, value in rules.items())]))
    if sites := {name: own[name] for name in _PARAMETERS if own.get(name) not in (None, "")}:
        put("parameters", parameters | sites)
    if own.get("sw_platform") and not values[kind.positions["architecture"]]:
        put("architecture", str(own["sw_platform"]))
    if own.get("sw_project") and own.get("sw_version") and not values[kind.positions["transHome"]]:
        put("transHome", f"{own['sw_project']}-{own['sw_version']}")
    return tuple(values), frozenset(given), remarks


def _set(own: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in own.items() if value not in (None, "")}


def _rules(told: dict[str, Any]) -> tuple[dict[str, Any], list[Remark]]:
    """Return the two-letter rules for attributes of a task; raises UnfitError, naming the attribute."""
    rules: dict[str, Any] = {}
    remarks = []
    if asked := told.get(_CONNECTIVITY):
        rules |= connectivity_rules(read_task_connectivity(str(asked)))
        if names_no_network(str(asked)):
            rules["IP"] = NO_NETWORK
        if not rules:
            remarks.append(Remark(f"{_CONNECTIVITY} is {shown(asked)}, which asks for nothing", softens=True))
    for name, (rule, column) in _RULES.items():
        try:
            value = value_of(column, told.get(name))
        except UnfitError as error:
            raise UnfitError(f"{name} {error}") from None
        if value is not None and value is not False:
            rules[rule] = int(value)
    return rules, remarks


def _unknown_words(kind: Kind, row: tuple[Any, ...]) -> Iterator[Remark]:
    for name, (pattern, known) in _UNITS.items():
        unit = row[kind.positions[name]]
        if unit and re.fullmatch(pattern, unit) is None:
            yield Remark(f"{name} is {unit!r}, which PanDA does not know; it knows {known}")
    for rule in str(row[kind.positions["splitRule"]]).split(","):
        if rule.strip() and not _RULE.fullmatch(rule):
            yield Remark(f"splitRule has {rule!r}, which is not a rule such as NF=1", softens=True)
