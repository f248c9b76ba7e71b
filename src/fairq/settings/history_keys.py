"""The settings of the history."""

from __future__ import annotations

from fairq.settings.key import own

HISTORY = (
    own(
        "history",
        "keep_jobs",
        "real",
        366 * 86400.0,
        "How long fairq history and fairq report show an ended job.",
        unit="seconds",
        minimum=0,
    ),
)
