"""Rule points: timeouts and rebrokerage."""

from __future__ import annotations

from fairq.settings.key import Difference
from fairq.settings.rule_points.panda.point import point

_PAGE = "Timeout Rules"

TIMEOUTS = (
    point("fast_rebrokerage_all", True, False,
        "In fast rebrokerage, send back the whole excess of a queue. false: one job less.",
        Difference(
            "Jobs beyond the thresholds are sent back.", _PAGE, "One job less than the excess is sent back.",
            "AtlasAnalWatchDog and Watcher, fast rebrokerage",
        )),
    point("fast_rebrokerage_total", "all", "without_slots",
        "Waiting jobs of the share that a queue is compared with: all, or those at queues without_slots (numSlots).",
        Difference(
            "nQueue_total(gshare) is all that waits; a queue with nSlots is only exempt itself.", _PAGE,
            "Queues with nSlots are left out of the totals as well.",
            "AtlasAnalWatchDog and Watcher, fast rebrokerage",
        )),
    point("pauses_stop_timeouts", True, False,
        "Stop every timeout at paused queues and queues with disableReassign.",
        Difference(
            "All timeout rules are off at paused queues and at queues with disableReassign in catchall.", _PAGE,
            "A paused queue is exempt from one heartbeat row, disableReassign from the activated and starting rows.",
            "add_main.main, reassign and watcher sections",
        )),
    point("holding_from_800", True, False,
        "Limit holding jobs of priority 800 to 3 hours, not only those above 800.",
        Difference(
            "Holding jobs of priority 800 and above have 3 hours.", _PAGE, "Priorities above 800 have 3 hours.",
            "Watcher.run",
        )),
    point("transferring_heartbeat_of_all", True, False,
        "Require heartbeats of every transferring job with a jobSubStatus.",
        Difference(
            "Transferring jobs with a jobSubStatus have the heartbeat timeout of their workflow.", _PAGE,
            "Transferring jobs of users have the heartbeat timeout of analysis.",
            "Watcher.run",
        )),
    point("transfer_days_of_queue", True, False,
        "Use a queue's own transtimehi and transtimelo for transferring jobs.",
        Difference(
            "Transferring jobs have transtimehi or transtimelo days, by priority.", _PAGE,
            "Two constants apply: 2 and 6 days.",
            "datasetManager, transfer timeout",
        )),
    point("timeouts_of_state", True, False,
        "Count each timeout from the entry into the state, only for the named states.",
        Difference(
            "Each rule names its states.",
            "Timeout Rules",
            "Ages count from creation or modification, and some rules apply to groups of states.",
            "add_main.main and Watcher.run",
        )),
    point("timeouts_of_all", True, False,
        "Apply timeouts to the jobs of every label.",
        Difference(
            "The rules name only states and priorities.",
            "Timeout Rules",
            "Some apply only to managed jobs, some not to merges and jobs that must stay.",
            "add_main.main",
        )),
    point("extra_timeouts", False, True,
        "Apply PanDA's timeouts that its page does not list.",
        Difference(
            "Only throttled and running jobs have limits of seven days and more.",
            "Timeout Rules",
            "Old jobs in early states, event service and users' jobs have more limits.",
            "add_main.main and Watcher.run",
        )),
)  # fmt: skip
