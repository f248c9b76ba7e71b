"""Whether the idle jobs are kept by column besides (`idle_columns`), and forgetting that copy: neither needs NumPy."""

from __future__ import annotations

from fairq.state.connection import State


def is_tracked(state: State) -> bool:
    """Whether the database notes the clusters that change."""
    return bool(state.connection.execute("SELECT EXISTS (SELECT 1 FROM idle_columns)").fetchone()[0])


def forget(state: State) -> None:
    """Delete the copy, and note changes no more."""
    for table in ("idle_columns", "idle_changed", "job_kind"):
        state.connection.execute(f"DELETE FROM {table}")
