"""The settings of a pool that many people share."""

from __future__ import annotations

from fairq.settings.key import own

POOL = (
    own(
        "pool",
        "state",
        "string",
        None,
        "State file of this host's pool, such as /var/lib/fairq/pool.db. Counts in the site file only.",
    ),
    own(
        "pool",
        "program",
        "string",
        "/usr/lib/fairq/apply",
        "Program that makes changes in this host's pool; sudo starts it. Counts in the site file only.",
    ),
    own(
        "pool",
        "account",
        "string",
        "fairq",
        "User that owns the state file of this host's pool. Counts in the site file only.",
    ),
    own(
        "pool",
        "use",
        "choice",
        "host",
        "Pool that commands use without --state and FAIRQ_STATE: host, the pool of this host if there is one; private,"
        " your own.",
        choices=("host", "private"),
    ),
    own(
        "pool",
        "private_jobs",
        "boolean",
        False,
        "In this host's pool, users can read command, arguments, directories, environment and files of their own jobs"
        " only. Administrators can read all.",
    ),
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
        "socket",
        "string",
        None,
        "Unix socket that leads to the same program, where systemd runs. Counts in the site file only.",
    ),
)
