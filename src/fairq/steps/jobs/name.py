"""The names of jobs, as every command writes them."""

from __future__ import annotations


def job_name(cluster: int, first_proc: int, last_proc: int) -> str:
    """Return the id of one job, ``7.0``, or of a range, ``7.0-99``."""
    return f"{cluster}.{first_proc}" if first_proc == last_proc else f"{cluster}.{first_proc}-{last_proc}"
