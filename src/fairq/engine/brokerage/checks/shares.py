"""The queue's fair share policy (docs/panda.md, Fair share policies)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.fairshare_policy import (
    PolicyReading,
    PolicyRequest,
    deciding_part,
    has_zero_share,
    process_group,
)


class ZeroShareCheck(KeyedFilter):
    """The queue's fair share policy must leave the task a share."""

    stage = "zero share check"
    reasons = (Reason("zeroshare"),)

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return what `policy_request_of` reads."""
        task = request.task
        return (
            task.processing_type,
            task.working_group,
            task.gshare,
            task.current_priority,
            request.chunk.is_merging,
        )

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Ask each distinct policy once."""
        columns, asked, how = request.columns, policy_request_of(request), reading_of(request)
        policies, policy_of = columns.kept("policies", lambda: _policies(columns))
        return np.array([has_zero_share(policy, asked, how) for policy in policies], dtype=np.bool_)[policy_of]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the policy and its deciding part, or the type of the task if no part decided."""
        policy, asked = request.columns.queues[row].fairsharepolicy, policy_request_of(request)
        part = deciding_part(policy, asked, reading_of(request))
        told: Details = {"fairsharepolicy": policy}
        return told | ({"decided_by": part.text} if part else {"type": asked.process_group, "decided_by_none": True})


def _policies(columns: Columns) -> tuple[list[str], NDArray[np.intp]]:
    policies = sorted({queue.fairsharepolicy for queue in columns.queues})
    numbers = {policy: number for number, policy in enumerate(policies)}
    return policies, np.array([numbers[queue.fairsharepolicy] for queue in columns.queues], dtype=np.intp)


def reading_of(request: BrokerageRequest) -> PolicyReading:
    """Return how the rules in force read policies."""
    rules = request.rules
    return PolicyReading(rules.unnamed_have_no_share, rules.evgensimul, rules.tests_have_shares)


def policy_request_of(request: BrokerageRequest) -> PolicyRequest:
    """Return what fair share policies look at."""
    task = request.task
    return PolicyRequest(
        process_group(task.processing_type),
        task.working_group,
        task.gshare,
        task.current_priority,
        request.chunk.is_merging,
    )
