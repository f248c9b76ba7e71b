"""The settings of PanDA's brokerage.

A point is where its page and its code differ (reference panda 15); its name is that of the field of the engine's rules.
"""

from __future__ import annotations

from typing import Any

from fairq.settings.key import PANDA, Key, own


def _point(name: str, documented: Any, panda: Any, text: str) -> Key:
    kind: Any = "boolean" if isinstance(documented, bool) else "choice"
    choices = () if kind == "boolean" else (documented, panda)
    return own("broker", name, kind, documented, text, choices=choices, real=panda)


BROKER = (
    own("broker", "rules", "choice", "documented",
        "What holds where they differ: what PanDA's brokerage page says, or what its code does today.",
        choices=PANDA.choices),
    own("broker", "verdicts_kept", "integer", 10,
        "Of how many runs the verdicts on all queues are kept; of older ones only the last on each task.",
        unit="runs", minimum=1),
    _point("exclude_test_queues", True, False,
        "Whether queues with \"test\" in their names take only tasks that are pre-assigned to them."),
    _point("urgent_needs_nucleus", True, False,
        "Whether scouts and tasks from priority 800 on go to the nucleus only; PanDA keeps them from opportunistic "
        "queues and weighs the nucleus a hundredfold."),
    _point("disk_io_per_core", "exact", "rounded_down", "How a task's diskIO is divided by the cores of a queue."),
    _point("throughput", "freshest", "unbroken",
        "Which throughput of a link counts: the freshest there is, or the last of the series 1w, 1d, 1h up to its "
        "first gap."),
    _point("network_weight_always", True, False, "Whether the network weight applies without NW_ACTIVE too."),
    _point("base_memory_always", True, False,
        "Whether memory that does not depend on cores counts for every unit and in the analysis brokerage too."),
    _point("plain_minimum_walltime", True, False,
        "Whether scouts and merges without HS06 need a queue of 24 hours; PanDA asks for ten times as much."),
    _point("gpu_lists", True, False,
        "Whether a queue's lists of GPUs count while no worker node has reported its GPUs."),
    _point("infer_cpu", False, True, "Whether the platform of a task stands for a CPU specification too."),
    _point("analysis_weight", "ratio", "classes",
        "How the analysis brokerage weighs: running to queued jobs, or by classes and the room that users have left."),
    _point("fast_rebrokerage_all", True, False,
        "Whether fast rebrokerage takes the whole excess of a queue; PanDA takes one job less."),
    _point("analysis_queue_ratio", True, False,
        "Whether the analysis brokerage skips queues with more than twice as many jobs queued as running."),
    _point("failures_everywhere", True, False,
        "Whether a task's failed jobs count at every queue; PanDA looks at long queues with jobs of the user."),
    _point("pauses_stop_timeouts", True, False,
        "Whether no timeout takes a job from a paused queue or one with disableReassign; PanDA spares it some."),
    _point("holding_from_800", True, False,
        "Whether jobs of priority 800 hold for 3 hours only, too; PanDA says so of those above it."),
    _point("transferring_heartbeat_of_all", True, False,
        "Whether transferring jobs with a jobSubStatus must be heard of; PanDA asks it of users' jobs."),
    _point("retry_by_activity", True, False,
        "Whether a task without queues waits 60 minutes in production and 20 in analysis; PanDA knows one time."),
)
