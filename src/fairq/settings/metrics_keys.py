"""The settings of metrics."""

from __future__ import annotations

from fairq.settings.key import own

METRICS = (
    own(
        "metrics",
        "submitters",
        "integer",
        20,
        "Number of submitters that fairq metrics tells apart, those with most in use first; the others are one.",
        unit="submitters",
        minimum=0,
    ),
)
