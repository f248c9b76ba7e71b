"""What the import of some kinds does beyond that of every kind."""

from __future__ import annotations

from fairq.brokerdata.column import Kind
from fairq.brokerdata.machines import SOFTWARE
from fairq.brokerdata.places import QUEUES
from fairq.brokerdata.work import CONFIG, INPUTS, TASKS
from fairq.state.connection import State
from fairq.steps.broker.config import check_setting
from fairq.steps.broker.inputs import check_input
from fairq.steps.broker.queues import check_queue, check_software, store_relations
from fairq.steps.broker.reading import Check, Found, check_record
from fairq.steps.broker.task_import import check_task

_CHECKS: dict[str, Check] = {
    QUEUES.name: check_queue,
    SOFTWARE.name: check_software,
    INPUTS.name: check_input,
    TASKS.name: check_task,
    CONFIG.name: check_setting,
}


def check_of(kind: Kind) -> Check:
    """Return what checks a record of *kind*."""
    return _CHECKS.get(kind.name, check_record)


def relate(state: State, kind: Kind, found: Found) -> None:
    """Store what follows from the records: the storage that queues name."""
    if kind is QUEUES:
        store_relations(state, found)
