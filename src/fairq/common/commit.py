"""Whether this process has stored a change; a later error must not be reported as if nothing had happened.

The functions that store call `mark` once the change is durable. The command line asks `happened` when it reports an
error, and when ``-q`` decides whether to suppress the report.
"""

from __future__ import annotations

_marks: list[bool] = []


def mark() -> None:
    """Record that a change is stored."""
    _marks.append(True)


def happened() -> bool:
    """Return whether a change was stored since the run began."""
    return bool(_marks)


def begin() -> None:
    """Reset the record: this run has stored nothing yet."""
    _marks.clear()
