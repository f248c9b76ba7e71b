"""The numbered steps that lead from an empty file to today's schema, one module each."""

from __future__ import annotations

from msgspec import Struct

from fairq.state.schema import (
    m0001_initial,
    m0002_dynamic_slots,
    m0003_claim_groups,
    m0004_task_queues,
    m0005_claim_advertised,
    m0006_broker,
    m0007_broker_jobs,
    m0008_forgotten_decisions,
    m0009_slot_columns,
    m0010_guards,
    m0011_launch,
    m0012_undo,
    m0013_ended_jobs,
    m0013_usage,
    m0014_requests,
    m0015_engines,
    m0016_alike,
    m0017_idle_columns,
    m0018_kept_queues,
    m0019_slot_launcher,
)


class Migration(Struct, frozen=True):
    """One step of the schema: the *name* it is known by, and its statements in order."""

    name: str
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration("0001_initial", m0001_initial.STATEMENTS),
    Migration("0002_dynamic_slots", m0002_dynamic_slots.STATEMENTS),
    Migration("0003_claim_groups", m0003_claim_groups.STATEMENTS),
    Migration("0004_task_queues", m0004_task_queues.STATEMENTS),
    Migration("0005_claim_advertised", m0005_claim_advertised.STATEMENTS),
    Migration("0006_broker", m0006_broker.STATEMENTS),
    Migration("0007_broker_jobs", m0007_broker_jobs.STATEMENTS),
    Migration("0008_forgotten_decisions", m0008_forgotten_decisions.STATEMENTS),
    Migration("0009_slot_columns", m0009_slot_columns.STATEMENTS),
    Migration("0010_guards", m0010_guards.STATEMENTS),
    Migration("0011_launch", m0011_launch.STATEMENTS),
    Migration("0012_undo", m0012_undo.STATEMENTS),
    Migration("0013_past", m0013_ended_jobs.STATEMENTS + m0013_usage.STATEMENTS),
    Migration("0014_requests", m0014_requests.STATEMENTS),
    Migration("0015_engines", m0015_engines.STATEMENTS),
    Migration("0016_alike", m0016_alike.STATEMENTS),
    Migration("0017_idle_columns", m0017_idle_columns.STATEMENTS),
    Migration("0018_kept_queues", m0018_kept_queues.STATEMENTS),
    Migration("0019_slot_launcher", m0019_slot_launcher.STATEMENTS),
)
"""In order: the schema after the first n of them has the number n. Never edit one that was released."""
