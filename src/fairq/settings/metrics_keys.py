"""The settings of metrics."""

from __future__ import annotations

from fairq.settings.key import own

METRICS = (
    own(
        "metrics",
        "submitters",
        "integer",
        20,
        "Number of submitters that fairq metrics shows by name, most in use first. The others are one sum.",
        unit="submitters",
        minimum=0,
    ),
)
