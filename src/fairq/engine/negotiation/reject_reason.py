"""Why a request got no slot."""

from __future__ import annotations

from enum import StrEnum


class RejectReason(StrEnum):
    """Why a request got no slot, in the negotiator's own words (matchmaker.cpp, negotiate)."""

    CONCURRENCY_LIMIT = "concurrency limit reached"
    PREEMPTION_POLICY = "PREEMPTION_REQUIREMENTS == False"
    SUBMITTER_LIMIT = "submitter limit exceeded"
    NO_MATCH = "no match found"


OF_MANY = (RejectReason.NO_MATCH, RejectReason.PREEMPTION_POLICY, RejectReason.SUBMITTER_LIMIT)
"""Why requests that are refused together got none: of each, the place of its reason here is told."""

NO_MATCH, POLICY, LIMIT = range(len(OF_MANY))
