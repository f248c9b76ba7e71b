"""Schema 10: a second copy or a checksum of every column, so that damage of the file's content is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairq.state.schema import m0006_broker, m0007_broker_jobs

# Of each table, after its key: columns kept as they are, and texts of which a checksum is kept. Those of other
# indexes are left out, for an index is a second copy; so is an ad in job_ad, which has a digest.
_GUARDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "meta": (("key", "value"), ()),
    "submitter": (
        (
            "name", "is_group", "priority", "priority_factor", "resources_used", "weighted_resources_used",
            "hier_weighted_resources_used", "uncharged_time", "weighted_uncharged_time", "accumulated_usage",
            "weighted_accumulated_usage", "begin_usage_time", "last_usage_time", "ceiling", "floor",
            "ceiling_lease_expiration", "ceiling_prelease_value", "floor_lease_expiration", "floor_prelease_value",
            "factor_lease_expiration", "factor_prelease_value", "submitter_share", "submitter_limit",
        ),
        (),
    ),
    "slot": (("id", "draining"), ("ad",)),
    "claim": (
        (
            "slot_id", "submitter", "schedd", "cluster", "proc", "start_time", "slot_weight", "current_rank",
            "concurrency_limits", "negotiating_group", "autoregroup", "advertised", "charged",
        ),
        (),
    ),
    "job": (
        ("cluster", "schedd", "first_proc", "last_proc", "priority", "queue_date", "status_date"),
        ("own", "template", "reason"),
    ),
    "run": (
        ("id", "slot_weight", "start_time", "exit_code"),
        ("schedd", "submitter", "slot", "how"),
    ),
    "cycle": (("number", "time"), ("rules", "decision")),
    "match": (
        ("cycle", "sequence", "cluster", "proc"),
        ("schedd", "submitter", "slot", "reason", "preempted"),
    ),
    "history": (("id", "time"), ("user", "command", "before", "after")),
    "dynamic_slot": (("slot_id", "carved"), ()),
    "task_queue": (("number", "priority", "updated"), ()),
    "share_group": (("name",), ("properties",)),
    "usage_report": (("owner_group", "time_span", "entity", "average_jobs", "time"), ()),
    "pilot_slot": (("slot_id", "grid_ce", "pilot"), ()),
    "matching_delay": (("site", "attribute", "value", "tokens", "time"), ()),
    "slot_columns": (("first",), ("content",)),
    "broker_cycle": (("number", "time"), ("rules", "document")),
    "broker_verdict": (("task", "cycle"), ("status", "data")),
}  # fmt: skip

_TABLE = re.compile(r"CREATE TABLE (\w+)")
_COLUMN = re.compile(r'^\s+"(\w+)" (TEXT|INTEGER|REAL)', re.MULTILINE)
_KEY = re.compile(r"PRIMARY KEY \((.+)\)")


def _broker_guards() -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    for statement in (*m0006_broker.STATEMENTS, *m0007_broker_jobs.STATEMENTS):
        table, columns, key = _TABLE.search(statement), _COLUMN.findall(statement), _KEY.search(statement)
        if table is None or key is None or not columns:
            continue
        keys = [name.strip(' "') for name in key[1].split(",")]
        others = [(name, kind) for name, kind in columns if name not in keys]
        yield (
            table[1],
            [*keys, *(name for name, kind in others if kind != "TEXT")],
            [name for name, kind in others if kind == "TEXT"],
        )


def _guard(table: str, columns: Sequence[str], texts: Sequence[str]) -> str:
    parts = [f'"{name}"' for name in columns]
    if texts:
        # A text that is not there differs from an empty one.
        joined = " || '|' || ".join(f"coalesce(\"{name}\", x'00')" for name in texts)
        parts.append(f"fairq_crc32(CAST({joined} AS BLOB))")
    return f"CREATE INDEX guard_{table} ON {table} ({', '.join(parts)})"


STATEMENTS = (
    *(_guard(table, *guarded) for table, guarded in _GUARDS.items()),
    *(_guard(*guarded) for guarded in _broker_guards()),
)
