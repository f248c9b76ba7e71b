"""Schema 8: what a cycle decided may be forgotten; that it took place, and its matches, may not."""

from __future__ import annotations

STATEMENTS = (
    "DROP TRIGGER cycle_no_update",
    """
    CREATE TRIGGER cycle_no_update BEFORE UPDATE ON cycle
    WHEN NEW.number IS NOT OLD.number OR NEW.time IS NOT OLD.time OR NEW.rules IS NOT OLD.rules
        OR NEW.decision IS NOT '{}'
    BEGIN SELECT RAISE(ABORT, 'the cycle table is append-only'); END
    """,
)
