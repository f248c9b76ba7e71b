"""Schema 13: the past of the pool."""

from __future__ import annotations

from fairq.state.schema import m0013_ended_jobs, m0013_usage

STATEMENTS = m0013_ended_jobs.STATEMENTS + m0013_usage.STATEMENTS
