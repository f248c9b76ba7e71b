"""Compare a live DIRAC's stored priorities with the expected ones (DIRAC issue 8650)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from fairq.common.records import Ad
from fairq.engine.shares.check import check, common_priority
from fairq.engine.shares.corrector import UsageRequest
from fairq.engine.shares.division import recalculate
from fairq.engine.shares.options import Note
from fairq.engine.shares.queues import QueueTable
from fairq.engine.shares.rules import Rules
from fairq.engine.shares.user_priority import in_sum
from fairq.formats.task_queue_files import read_dump
from fairq.formats.task_queues import DumpedQueue, TaskQueueDump
from fairq.steps.taskqueues.correctors import start_corrections
from fairq.steps.taskqueues.formation import members_of, requirements_of
from fairq.steps.taskqueues.policy import read_groups, share_rules

if TYPE_CHECKING:
    from fairq.settings import Settings


class CheckReport(Struct, frozen=True):
    """Every queue with its expected and stored priority; *alike* is the stored priority if all queues share one."""

    rules: str
    queues: list[Ad]
    alike: float | None
    notes: list[Note | str]

    @property
    def differences(self) -> list[Ad]:
        """The queues whose stored priority differs from the expected one."""
        return [queue for queue in self.queues if queue["verdict"] in ("differs", "missing")]


def check_dump(name: str, settings: Settings, now: int, *, rules: str) -> CheckReport:
    """Compare the priorities stored in the dump *name* (``-``: stdin) with those that *rules* give for it.

    Groups come from the dump, overridden by the settings. Corrections come from the dump or, if it has none, from the
    settings.

    Raises:
        TaskQueueDumpError, UnreadableDumpError, InvalidDumpError: the dump cannot be used.
        ShareCorrectionError, ShareCorrectorError, DiracStopsError: see `start_corrections`.
    """
    dump = read_dump(name)
    policy_rules = share_rules(settings, rules)
    queues = task_queues(dump.queues, policy_rules)
    groups = read_groups(settings, dump.groups or {}, policy_rules)
    corrections = None
    block = _corrections_block(settings, dump)
    if block:
        corrections = start_corrections(policy_rules, block, _reports(dump), now)
    result = recalculate(queues, groups, policy_rules, corrections)
    stored = {queue.number: queue.priority for queue in dump.queues if queue.priority is not None}
    checked = check(result, stored)
    return CheckReport(
        policy_rules.name,
        [
            {
                "task_queue": checked_queue.queue,
                **members_of(queue.requirements),
                "jobs": queue.jobs,
                "expected": checked_queue.expected,
                "stored": checked_queue.stored,
                "verdict": checked_queue.verdict,
            }
            for queue, checked_queue in zip(queues.tolist(), checked, strict=True)
        ],
        common_priority(stored),
        [
            *(f"{name} is not read" for name in dump.unread),
            *([] if corrections is None else [*corrections.notes, *corrections.idle(groups, queues.groups)]),
        ],
    )


def task_queues(queues: Sequence[DumpedQueue], rules: Rules) -> QueueTable:
    """Return dumped *queues* as a table of the engine."""
    return QueueTable(
        np.array([queue.number for queue in queues], np.int64),
        requirements_of([queue.fields for queue in queues]),
        np.array([queue.count for queue in queues], np.int64),
        np.array([_real_priorities(queue, rules) for queue in queues], float),
    )


def _real_priorities(queue: DumpedQueue, rules: Rules) -> float:
    if not queue.members:
        return queue.average * queue.count
    total = 0.0
    for job in queue.members:
        total += in_sum(job.user_priority, rules) if job.real_priority is None else job.real_priority
    return total


def _corrections_block(settings: Settings, dump: TaskQueueDump) -> Mapping[str, Any]:
    if dump.corrections is not None:
        return dump.corrections
    return settings.block("ShareCorrections") if settings["shares.enable_shares_correction"] else {}


def _reports(dump: TaskQueueDump) -> Any:
    history = dump.history or {}

    def report(request: UsageRequest) -> Mapping[str, float] | None:
        return history.get((request.group, int(request.span)))

    return report
