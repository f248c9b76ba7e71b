"""The schema of `BASELINE`, from which all others come.

The statements are those of the states that have it, to the letter, even where a column was added to a table later:
``fairq state check`` compares them.
"""

from __future__ import annotations

from fairq.state.schema import accounting, broker, broker_tasks, jobs, past, pool, shares

STATEMENTS = (
    *past.STATEMENTS,
    *accounting.STATEMENTS,
    *pool.STATEMENTS,
    *jobs.STATEMENTS,
    *shares.STATEMENTS,
    *broker.STATEMENTS,
    *broker_tasks.STATEMENTS,
)
