"""Sentences for the offer of a pilot and the request of a task queue."""

from __future__ import annotations

from fairq.engine.shares.match import Terms


def terms_words(terms: Terms) -> str:
    """Return the terms of one side as one text."""
    listed = ", ".join(terms.values) or "none"
    if terms.groups:
        return f"{listed} in {', '.join(terms.groups)}"
    return f"not {listed}" if terms.banned else listed
