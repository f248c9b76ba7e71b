"""Count the cycles that fail, for ``fairq metrics`` and ``fairq pool check``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairq.errors.base import CycleUnderWayError, FairqError, SettingValueError, StateForeignError
from fairq.state import cycle_errors
from fairq.state.location import resolve


@contextmanager
def failures_counted(path: Path, now: int) -> Iterator[None]:
    """Run the body, a cycle on the state *path* or a part of it; count its failure and raise it again.

    It is no failure if another cycle is running. Nothing is counted for a file that is not a state, or for an invalid
    setting: the settings may be a file that somebody tries out (see `count_failure`).
    """
    try:
        yield
    except (CycleUnderWayError, SettingValueError, StateForeignError):
        raise
    except Exception as error:
        count_failure(path, now, error)
        raise


def count_failure(path: Path, now: int, error: Exception) -> None:
    """Count *error* as the failure of a cycle on the state *path*; raise nothing if the count cannot be stored."""
    kind = type(error).__name__.removesuffix("Error")
    text = str(error) if isinstance(error, FairqError) else f"{type(error).__name__}: {error}"
    with suppress(OSError, FairqError):
        cycle_errors.add(resolve(path), now, kind, text)
