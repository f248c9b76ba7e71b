"""The message about an expression that took too long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.cli.figures import counted


def overrun_sentence(exceeded: Mapping[str, Any], record_kind: str = "slot") -> str:
    """Return which expression took too long, and the cure; it was evaluated for records of *record_kind*."""
    return (
        f"{exceeded['name'] or 'An expression'} took too long to evaluate"
        f" ({exceeded['limit']}, {exceeded['seconds']:.2f} s of CPU) and"
        f" counts as an error for {counted(exceeded['errors'], record_kind)}; simplify it, or raise"
        f" negotiator.evaluation_budget: {exceeded['expression']}"
    )
