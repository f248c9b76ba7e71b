"""How what DIRAC did is compared with what fairq does: number by number, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.steps.taskqueues.policy import preset

DIRAC = preset("dirac")
"""The rules under which fairq does what DIRAC does."""


def unequal(what: str, found: Any, expected: Any) -> list[str]:
    """Return in words that *found* is not *expected*, if so."""
    return [] if found == expected else [f"{what} is {found}, expected {expected}"]


def refused(expected: Mapping[str, Any]) -> bool:
    """Tell whether DIRAC ended with an error."""
    return "exception" in expected or "error" in expected
