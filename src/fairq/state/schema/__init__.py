"""The schema of the state: a baseline, and the steps that lead from there to today's."""

from __future__ import annotations

from fairq.state.schema import job_kinds, job_needs, waits

BASELINE = 23
"""The number of the schema in `baseline`. Older ones were never released, and are refused."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    waits.STATEMENTS,
    waits.CATEGORIES,
    job_kinds.STATEMENTS,
    job_needs.STATEMENTS,
)
"""The statements of each step in order: the first leads from the baseline to the next number. Never edit a step that
was released."""


def newest() -> int:
    """Return the number of today's schema."""
    return BASELINE + len(MIGRATIONS)
