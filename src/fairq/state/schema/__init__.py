"""The schema of the state: a baseline, and the steps that lead from there to today's."""

from __future__ import annotations

from fairq.state.schema.steps import MIGRATIONS, Step

__all__ = ["BASELINE", "MIGRATIONS", "Step", "newest"]

BASELINE = 23
"""The number of the schema in `baseline`. Older ones were never released, and are refused."""


def newest() -> int:
    """Return the number of today's schema."""
    return BASELINE + len(MIGRATIONS)
