"""Which columns of the state hold JSON."""

from __future__ import annotations

from fairq.columns.broker.column import NESTED
from fairq.columns.broker.kinds import STORED

JSON_COLUMNS = {
    "slot": ("id", "ad"),
    "dynamic_slot": ("slot_id", "carved"),
    "claim_terms": ("id", "advertised"),
    "job_ad": ("id", "ad"),
    "job_kind": ("id", "content"),
    "job": ("cluster", "own", "template"),
    "cycle": ("number", "decision"),
    "match": ("cycle", "runs"),
    "history": ("id", "before", "after"),
    "undo": ("first", "data"),
    "task_queue": ("number", "identity"),
    "need_value": ("id", "value"),
    "job_need": ("ad_id", "priorities"),
    "share_group": ("name", "properties"),
    "broker_cycle": ("number", "document"),
    "slot_shape": ("id", "content"),
    "slot_columns": ("first", "content"),
    "launch": ("id", "after", "cores", "ordered", "ended"),
    "job_event": ("id", "body"),
    "ended_job": ("id", "own", "template"),
    **{
        kind.table: (kind.keys[0].name, *nested)
        for kind in STORED
        if (nested := [column.name for column in kind.columns if column.type in NESTED])
    },
}
"""The columns that hold JSON, by table, after the column that names a record."""
