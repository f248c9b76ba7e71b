"""The settings of PanDA's brokerage."""

from __future__ import annotations

from fairq.settings.key import PANDA, own

BROKER = (
    own("broker", "rules", "choice", "documented",
        "What holds where they differ: what PanDA's brokerage page says, or what its code does today.",
        choices=PANDA.choices),
    own("broker", "pauses_stop_timeouts", "boolean", True,
        "Whether no timeout takes a job from a paused queue or one with disableReassign; PanDA spares it some.",
        real=False),
    own("broker", "holding_from_800", "boolean", True,
        "Whether jobs of priority 800 hold for 3 hours only, too; PanDA says so of those above it.", real=False),
    own("broker", "transferring_heartbeat_of_all", "boolean", True,
        "Whether transferring jobs with a jobSubStatus must be heard of; PanDA asks it of users' jobs.", real=False),
    own("broker", "fast_rebrokerage_all", "boolean", True,
        "Whether fast rebrokerage takes the whole excess of a queue; PanDA takes one job less.", real=False),
)
