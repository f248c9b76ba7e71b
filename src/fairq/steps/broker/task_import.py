"""Take tasks from files: what they ask of the network becomes rules, and words that PanDA does not know are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairq.brokerdata.column import Kind
from fairq.engine.brokerage.pool.connectivity import connectivity_rules, read_task_connectivity
from fairq.steps.broker.importing import Checked, check_record

_WORD = "ipconnectivity"

_SIZE = "(kB|MB|GB)(PerEvents?)?(Fixed)?"
_UNITS = {
    "ramUnit": ("(MB|MBPerCore|MBPerCoreFixed)", "MB, MBPerCore or MBPerCoreFixed"),
    "cpuTimeUnit": ("m?HS06sPerEvent(Fixed)?", "HS06sPerEvent or mHS06sPerEvent, with or without Fixed"),
    "outDiskUnit": (_SIZE, "kB, MB or GB, with or without PerEvent and Fixed"),
    "workDiskUnit": (_SIZE, "kB, MB or GB"),
}
"""Of each column with a unit the pattern of those that PanDA knows, and what they are called."""

_RULE = re.compile(r"\s*[A-Z]{2}\s*=.*")


def check_task(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a task as a row, as `check_record` does; its ``ipConnectivity`` is kept in ``splitRule``, as in PanDA.

    It may be a field of its own or one of the task's parameters. Raises UnfitError.
    """
    asked = next((value for name, value in record.items() if name.lower() == _WORD), None)
    row, given, remarks = check_record(kind, {key: value for key, value in record.items() if key.lower() != _WORD})
    remarks += _unknown_words(kind, row)
    rules_at, parameters_at = kind.positions["splitRule"], kind.positions["parameters"]
    asked = asked or row[parameters_at].get("ipConnectivity")
    if not asked:
        return row, given, remarks
    rules = connectivity_rules(read_task_connectivity(str(asked)))
    if not rules:
        return row, given, [*remarks, f"ipConnectivity is {asked!r}, which asks for nothing"]
    kept = [rule for rule in str(row[rules_at]).split(",") if rule and rule.partition("=")[0].strip() not in rules]
    text = ",".join([*kept, *(f"{name}={value}" for name, value in rules.items())])
    return (*row[:rules_at], text, *row[rules_at + 1 :]), given | {"splitRule"}, remarks


def _unknown_words(kind: Kind, row: tuple[Any, ...]) -> Iterator[str]:
    for name, (pattern, known) in _UNITS.items():
        unit = row[kind.positions[name]]
        if unit and re.fullmatch(pattern, unit) is None:
            yield f"{name} is {unit!r}, which PanDA does not know; it knows {known}"
    for rule in str(row[kind.positions["splitRule"]]).split(","):
        if rule.strip() and not _RULE.fullmatch(rule):
            yield f"splitRule has {rule!r}, which is not a rule such as NF=1"
