"""The queue's fair share policy (docs/panda.md, Fair share policies)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.flow.pool import Pool
from fairq.engine.brokerage.pool.fairshare_policy import (
    PolicyReading,
    PolicyRequest,
    deciding_part,
    has_zero_share,
    process_group,
)

ZERO = Reason("zeroshare")


def _reads_request(ask: Ask) -> Values:
    task = ask.task
    group = process_group(task.processing_type)
    return (PolicyRequest(group, task.working_group, task.gshare, task.current_priority, ask.chunk.is_merging),)


def _reads_share(ask: Ask) -> Values | None:
    alone = ask.preassigned == "single" and ask.task.label != "managed"
    if ask.rules.tests_have_shares and not alone and ask.task.gshare in {"test", "validation"}:
        return None
    return _reads_request(ask)


@refuses("zeroshare", "zero share check", ZERO, reads=_reads_share)
def zero_share(pool: Pool, request: PolicyRequest) -> Refusals:
    """Refuse queues whose fair share policy gives the task no share; under the rules panda, tests always have one."""
    rules = pool.rules
    reading = PolicyReading(rules.unnamed_have_no_share, rules.evgensimul, rules.tests_have_shares)
    policies, policy_of = pool.different("policies", lambda queue: queue.fairsharepolicy)
    refusing = np.array([has_zero_share(policy, request, reading) for policy in policies], np.bool_)

    def figures(row: int) -> Details:
        policy = pool.queues[row].fairsharepolicy
        part = deciding_part(policy, request, reading)
        decided = {"decided_by": part.text} if part else {"type": request.process_group, "decided_by_none": True}
        return {"fairsharepolicy": policy, **decided}

    yield Refusal(ZERO, refusing[policy_of], figures)


def _reads_analysis_share(ask: Ask) -> Values | None:
    return _reads_request(ask) if ask.rules.analysis_zero_share and ask.preassigned != "single" else None


analysis_zero_share = zero_share._replace(name="analysis zeroshare", reads=_reads_analysis_share)
