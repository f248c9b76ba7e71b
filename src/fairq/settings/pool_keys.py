"""The settings of a pool that many people share."""

from __future__ import annotations

from fairq.settings.key import own

POOL = (
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
