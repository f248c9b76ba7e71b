"""The display of a simulation: policies side by side, the users and groups with most work, the windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from fairq.cli.figures import counted, moment, percent
from fairq.cli.output import Column, Record, Table, View
from fairq.common.quantities import shown_duration


class _Metric(Struct, frozen=True):
    """One row: the *member* of a policy, or a *part* of it, its *label*, its format, and the sign of *better*."""

    member: str
    label: str
    shown: Callable[[float], str]
    better: int = -1
    part: str | None = None

    @property
    def name(self) -> str:
        """Its name in records."""
        return self.member if self.part is None else f"{self.member}_{self.part}"

    def value(self, policy: Mapping[str, Any]) -> float | None:
        """Return its value for a policy."""
        value: float | None = policy[self.member] if self.part is None else policy[self.member][self.part]
        return value


def _seconds(value: float) -> str:
    return shown_duration(round(value))


def _one_decimal(value: float) -> str:
    return f"{value:,.1f}"


def _without_decimals(value: float) -> str:
    return f"{value:,.0f}"


def _three_decimals(value: float) -> str:
    return f"{value:.3f}"


def _spread(member: str, label: str, shown: Callable[[float], str]) -> list[_Metric]:
    parts = (("mean", "mean"), ("median", "median"), ("p95", "95 %"), ("max", "max"))
    return [_Metric(member, f"{label}, {words}", shown, part=part) for part, words in parts]


_METRICS = (
    *_spread("wait", "wait", _seconds),
    *_spread("wait_by_user", "mean wait of a user", _seconds),
    *_spread("wait_by_group", "mean wait of a group", _seconds)[::3],
    *_spread("slowdown", "bounded slowdown", _one_decimal)[:3],
    _Metric("utilisation", "utilisation", percent, 1),
    _Metric("jain_index", "Jain's index of shares", _three_decimals, 1),
    _Metric("least_share", "least part of a share", percent, 1),
    _Metric("deficit", "deficit, slot-hours", _without_decimals),
    _Metric("started_by_last_submit", "started by last submission", _without_decimals, 1),
    _Metric("never_started", "never started", _without_decimals),
    _Metric("preemptions", "preemptions", _without_decimals),
    _Metric("lost_work", "lost work, slot-hours", _without_decimals),
    _Metric("cycles", "cycles held", _without_decimals, 0),
)


def simulation_view(document: Mapping[str, Any], maximum: int) -> View:
    """Show the *document* of a simulation, with at most *maximum* users and groups."""
    policies = document["policies"]
    tables = [_metrics(document, policies)]
    for kind, heading in (("user", "User"), ("group", "Group")):
        records = document[f"{kind}s_by_policy"]
        if maximum and records:
            tables.append(_names(records[:maximum], len(records), kind, heading))
    tables.append(_windows(document))
    fields = ["metric", "label", *(policy["policy"] for policy in policies)]
    return View(tables=tables, document=document, fields=fields)


def _metrics(document: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> Table:
    records: list[dict[str, Any]] = []
    for metric in _METRICS:
        values = [metric.value(policy) for policy in policies]
        if all(value is None for value in values):
            continue
        records.append({"metric": metric.name, "label": metric.label})
        for number, (policy, value) in enumerate(zip(policies, values, strict=True)):
            records[-1][policy["policy"]] = value
            records[-1][f"shown_{number}"] = _cell(metric, value, values[0] if number else None)
    for name in ("longer", "shorter", "same"):
        if document["changes"]:
            record: dict[str, Any] = {"metric": f"jobs_{name}", "label": _CHANGES[name], policies[0]["policy"]: None}
            record["shown_0"] = ""
            for number, change in enumerate(document["changes"], 1):
                record[change["policy"]] = change[name]
                record[f"shown_{number}"] = _without_decimals(change[name])
            records.append(record)
    columns = [Column("Figure", "label", None, "left")]
    columns += [
        Column(policy["policy"], f"shown_{number}", str, "right", level=number)
        for number, policy in enumerate(policies)
    ]
    return Table(columns, records, title=_title(document))


_CHANGES = {"longer": "jobs that wait longer", "shorter": "jobs that wait shorter", "same": "jobs that wait the same"}


def _cell(metric: _Metric, value: float | None, base: float | None) -> str:
    if value is None:
        return "-"
    text = metric.shown(value)
    if not base or not metric.better:
        return text
    change = round(100 * (value - base) / abs(base))
    return f"{text} ({change:+d} %)" if change else text


_DAY = 86400
_EXTRA_LEVEL = 100
"""Level of columns that are left out before those of any policy; the last policy is left out first."""


def _title(document: Mapping[str, Any]) -> str:
    jobs = counted(document["jobs"], "job")
    seconds = document["last_submit_time"] - document["start_time"]
    span = f"{seconds / _DAY:.1f} days" if seconds >= _DAY else shown_duration(seconds)
    load = document["offered_load"]
    cores = f" with {counted(round(document['weight']), 'core')}" if document["weight"] != document["slots"] else ""
    words = f"{jobs} of {counted(document['users'], 'user')} in {span} on {counted(document['slots'], 'slot')}{cores}"
    if load is None:
        return words
    overloaded = ", overloaded: waits grow with the length of the trace" if load > 1 else ""
    return f"{words}, load {load:.2f}{overloaded}; a cycle each {shown_duration(document['every'])}"


def _names(records: Sequence[Record], count: int, kind: str, heading: str) -> Table:
    policies = [policy["policy"] for policy in records[0]["policies"]]
    rows = []
    for record in records:
        row = {kind: record[kind], "jobs": record["jobs"], "work": record["work"]}
        for number, policy in enumerate(record["policies"]):
            row[f"wait_{number}"] = policy["mean_wait"]
            row[f"part_{number}"] = policy["delivered"] / policy["entitled"] if policy["entitled"] else None
        rows.append(row)
    columns = [
        Column(heading, kind),
        Column("Jobs", "jobs", level=_EXTRA_LEVEL),
        Column("Work, h", "work", _without_decimals),
    ]
    for number, policy in enumerate(policies):
        columns.append(Column(f"Wait {policy}", f"wait_{number}", _seconds, "right", level=number))
        if any(row[f"part_{number}"] is not None for row in rows):
            columns.append(Column(f"Share {policy}", f"part_{number}", percent, "right", level=_EXTRA_LEVEL + number))
    title = f"{heading}s with most work ({len(rows)} of {count}): mean wait, and delivered by entitled share"
    return Table(columns, rows, title=title)


def _elapsed(zero: int, time: int) -> str:
    """Return the time since *zero*, the begin of a trace without dates."""
    days, seconds = divmod(time - zero, 86400)
    return f"{days}d {seconds // 3600:02}:{seconds // 60 % 60:02}"


def _windows(document: Mapping[str, Any]) -> Table:
    policies = [policy["policy"] for policy in document["policies"]]
    last = document["last_submit_time"]
    rows: dict[int, dict[str, Any]] = {}
    for window in document["windows"]:
        number = policies.index(window["policy"])
        row = rows.setdefault(window["start_time"], {"start_time": window["start_time"]})
        row |= {f"{name}_{number}": window[name] for name in ("utilisation", "jain_index", "deficit")}
    zero = document["zero_time"]
    columns = [Column("From", "start_time", moment if zero is None else partial(_elapsed, zero), "left")]
    for number, policy in enumerate(policies):
        columns += [
            Column(f"Used {policy}", f"utilisation_{number}", percent, "right", level=number),
            Column(f"Jain {policy}", f"jain_index_{number}", _three_decimals, "right", level=_EXTRA_LEVEL + number),
        ]
    shown = [row for start, row in sorted(rows.items()) if start <= last]
    return Table(columns, shown, title=f"Windows of {shown_duration(document['window'])}, up to the last submission")
