"""Take what tasks ask of the network as the page and PanDA's task parameters spell it: ``ipConnectivity``."""

from __future__ import annotations

from typing import Any

from fairq.brokerdata.column import Kind
from fairq.engine.brokerage.connectivity import connectivity_rules, read_task_connectivity
from fairq.steps.broker_import import Checked, check_record

_WORD = "ipconnectivity"


def check_task(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a task as a row, as `check_record` does; its ``ipConnectivity`` is kept in ``splitRule``, as in PanDA.

    It may be a field of its own or one of the task's parameters. Raises UnfitError.
    """
    asked = next((value for name, value in record.items() if name.lower() == _WORD), None)
    row, given, remarks = check_record(kind, {key: value for key, value in record.items() if key.lower() != _WORD})
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
