"""Import steps that only some kinds of records need."""

from __future__ import annotations

from fairq.columns.broker.column import Kind
from fairq.columns.broker.places import QUEUES, SOFTWARE
from fairq.columns.broker.work import CONFIG, INPUTS, TASKS
from fairq.formats.grid.form import Form
from fairq.formats.table import Table
from fairq.state.connection import State
from fairq.steps.broker.config import check_setting
from fairq.steps.broker.inputs import check_input, join_files
from fairq.steps.broker.queues import check_queue, check_software, store_relations
from fairq.steps.broker.reader import Check, Found, check_record, read_records
from fairq.steps.broker.task_import import check_task

_CHECKS: dict[str, Check] = {
    QUEUES.name: check_queue,
    SOFTWARE.name: check_software,
    INPUTS.name: check_input,
    TASKS.name: check_task,
    CONFIG.name: check_setting,
}


def read(kind: Kind, table: Table, form: Form | None = None) -> Found:
    """Return the records of *kind* in *table*, checked; *form* as for `read_records`. Raises InvalidDumpError."""
    join = join_files if kind is INPUTS else None
    return read_records(kind, table, _CHECKS.get(kind.name, check_record), join, form)


def relate(state: State, kind: Kind, found: Found) -> None:
    """Store data derived from the records: the storage that queues name."""
    if kind is QUEUES:
        store_relations(state, found)
