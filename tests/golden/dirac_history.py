"""The usage reports of a case, and which of them fairq asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.golden.dirac_comparison import DIRAC

from fairq.engine.shares.corrector import Corrections, UsageRequest
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.options import names


class History:
    """Answers requests for history from a case's input, and keeps them as DIRAC's accounting client saw them."""

    def __init__(self, history: Mapping[str, Any] | None) -> None:
        """*history*: by group ("" for the use of groups), by span: the reports; "ERROR": the report fails."""
        self.history = history or {}
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: UsageRequest) -> Mapping[str, float] | None:
        """Return the report, empty if the input has none; None: it fails."""
        conditions: dict[str, Any] = {"UserGroup": request.group} if request.group else {}
        if request.running_only:
            conditions["Status"] = ["Running"]
        self.requests.append(
            {
                "type": "WMSHistory",
                "report": "AverageNumberOfJobs",
                "span_s": request.span,
                "conditions": conditions,
                "grouping": "User" if request.group else "UserGroup",
                "extra": {"lastSeconds": request.span},
            }
        )
        report = self.history.get(request.group, {}).get(f"{request.span:g}", {})
        report = self.history.get(request.group, {}).get(str(request.span), report)
        return None if isinstance(report, str) else report


def corrections_of(given: Mapping[str, Any]) -> Corrections:
    """Return DIRAC's correctors, with the users' distinguished names in *given*."""
    dns = {user: names(value) for user, value in (given.get("user_dns") or {}).items()}
    return Corrections(DIRAC, built_in(dns))
