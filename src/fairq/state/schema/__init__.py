"""The numbered steps that lead from an empty file to today's schema, one module each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from msgspec import Struct


class Migration(Struct, frozen=True):
    """One step of the schema: the *name* it is known by, and a function that returns its statements in order."""

    name: str
    statements: Callable[[], tuple[str, ...]]


def _statements(name: str) -> tuple[str, ...]:
    # Nearly all files have today's schema: no command loads the steps to it in vain.
    statements: tuple[str, ...] = import_module(f"{__name__}.m{name}").STATEMENTS
    return statements


_NAMES = (
    "0001_initial",
    "0002_dynamic_slots",
    "0003_claim_groups",
    "0004_task_queues",
    "0005_claim_advertised",
    "0006_broker",
    "0007_broker_jobs",
    "0008_forgotten_decisions",
    "0009_slot_columns",
    "0010_guards",
    "0011_launch",
    "0012_undo",
    "0013_past",
    "0014_requests",
    "0015_engines",
    "0016_alike",
    "0017_idle_columns",
    "0018_kept_queues",
    "0019_slot_launcher",
    "0020_slot_shapes",
    "0021_fewer_indexes",
    "0022_input_attributes",
    "0023_job_ads",
)
"""The modules, each without its m."""

MIGRATIONS = tuple(Migration(name, partial(_statements, name)) for name in _NAMES)
"""In order: the schema after the first n of them has the number n. Never edit one that was released."""
