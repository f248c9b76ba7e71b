"""The reason for a rejected request, in the negotiator's words."""

from __future__ import annotations

from fairq.engine.negotiation.rejections import Rejection, RejectReason


def rejection_words(rejection: Rejection) -> str:
    """Return the reason in the negotiator's wording, with the names of the concurrency limits."""
    if rejection.reason is RejectReason.CONCURRENCY_LIMIT and rejection.limits:
        return f"concurrency limit {', '.join(rejection.limits)} reached"
    return rejection.reason.value
