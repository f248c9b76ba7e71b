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
)
