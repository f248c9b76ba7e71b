"""What a pilot offers and what a task queue asks for, in words."""

from __future__ import annotations

from fairq.engine.shares.conditions import Terms


def terms_words(terms: Terms) -> str:
    """Return what one side says as one text."""
    listed = ", ".join(terms.values) or "none"
    if terms.groups:
        return f"{listed} in {', '.join(terms.groups)}"
    return f"not {listed}" if terms.banned else listed
