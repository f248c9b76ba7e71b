"""The jobs that each row of the table of timeouts applies to."""

from __future__ import annotations

WORDS = {
    "heartbeat_user": "users' jobs without a heartbeat",
    "heartbeat_transferring": "transferring jobs without a heartbeat",
    "sent": "jobs sent to a pilot that did not answer",
    "holding_user": "users' holding jobs without a report",
    "holding_high": "urgent holding jobs",
    "holding": "holding jobs",
    "heartbeat": "jobs without a heartbeat",
    "pending": "pending jobs",
    "waiting": "waiting jobs",
    "defined_long": "jobs that have no queue yet",
    "activated_long": "activated jobs since their creation",
    "fast_rebrokerage": "jobs beyond the queue's part of the share",
    "inactive": "urgent jobs at inactive queues",
    "inactive_starting": "urgent starting jobs at inactive queues",
    "defined": "defined jobs",
    "defined_alone": "defined jobs that no task can recreate",
    "assigned": "jobs assigned to a queue",
    "activated": "activated jobs",
    "starting": "starting jobs",
    "user_long": "users' and test jobs without a heartbeat for days",
    "event_service": "long-running event-service jobs",
    "user_rebrokerage": "waiting job sets of users",
    "transferring": "jobs whose output does not arrive",
    "throttled": "throttled jobs",
    "active_long": "jobs that run for weeks",
}
"""By the name of the row, in the order of the table."""
