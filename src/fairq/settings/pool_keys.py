"""The settings of a pool that many people share."""

from __future__ import annotations

from fairq.settings.key import own

POOL = (
    own(
        "pool",
        "administrators",
        "list",
        (),
        "Users, and Unix groups as %GROUP, that may change everything. If set, others may change only what is theirs."
        " Root and the owner of the state file are always administrators.",
    ),
    own(
        "pool",
        "undo_kept",
        "real",
        7 * 86400.0,
        "How long a change can be undone.",
        unit="seconds",
        minimum=0,
    ),
    own(
        "pool",
        "state",
        "string",
        None,
        "State file of the pool of this host. Only the site file can set it; fairq pool create does.",
        spaces=True,
    ),
    own("pool", "account", "string", None, "Account that owns the pool of this host. Only the site file can set it."),
    own(
        "pool",
        "program",
        "string",
        None,
        "Program that changes the pool of this host for its users, by sudo. Only the site file can set it.",
    ),
    own(
        "pool",
        "socket",
        "string",
        None,
        "Unix socket that leads to the same program, on hosts with systemd. Only the site file can set it.",
    ),
)
