"""The message about an expression that took too long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.cli.figures import counted


def overrun_sentence(of: Mapping[str, Any], what: str = "slot") -> str:
    """Return which expression took too long, and how to fix it; *what* is the kind of record it was evaluated for."""
    return (
        f"{of['name'] or 'An expression'} took too long to evaluate ({of['limit']}, {of['seconds']:.2f} s of CPU) and"
        f" counts as an error for {counted(of['errors'], what)}; simplify it, or raise"
        f" negotiator.evaluation_budget: {of['expression']}"
    )
