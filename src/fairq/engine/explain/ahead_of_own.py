"""What a job gets if it goes ahead of all other jobs of its submitter: told by what they got, without a cycle.

Up to the submitter's first match, such a cycle matches as before. Then a slot that one of its jobs got is still free,
and within the limits if it weighs no more than the first one: a job that it suits and that is offered first is matched.
"""

from __future__ import annotations

from msgspec.structs import replace

from fairq.engine.explain.diagnosis import Diagnosis, Reason
from fairq.engine.negotiation.matches import AlikeMatches
from fairq.engine.negotiation.requests import job_order


def is_matched_first(of: Diagnosis, priority: int) -> bool:
    """Return whether the job *of* the diagnosis, with this *priority*, is known to be matched; no: a cycle may tell."""
    cycle, policy = of.outcome.cycle, of.outcome.given.policy
    other_rules_decide = (
        of.reason is Reason.JOB_CONSTRAINT
        or cycle.candidates.divides
        or cycle.candidates.rooms is not None
        or policy.global_job_prios is not None
        or bool(policy.significant.chosen)
        or "jobprio" in of.context.job
        or bool(of.outcome.decision.time_budgets_used_up)
        or cycle.concurrency.of(of.context) is not None
    )
    return not other_rules_decide and _goes_first(of, priority) and _suits_what_they_got(of)


def _goes_first(of: Diagnosis, priority: int) -> bool:
    given, name = of.outcome.given, (of.job.submitter, of.job.schedd)
    key = job_order(given.jobs.ads, given.policy.job_order)
    own = key(replace(of.job, priority=priority))
    idle = (jobs for queue in given.jobs.queues if (queue.name, queue.schedd) == name for jobs in queue.idle)
    return all(own < key(jobs) for jobs in idle)


def _suits_what_they_got(of: Diagnosis) -> bool:
    tests = of.outcome.cycle.candidates.tests(of.context)
    if not tests.suitable_for_good:
        return False
    name, most = (of.job.submitter, of.job.schedd), None
    for step in of.outcome.decision.matches.steps:
        if (step.submitter, step.schedd) != name:
            continue
        is_free = isinstance(step, AlikeMatches) or step.preempted is None
        if most is None:
            if not is_free:
                return False
            most = step.cost
        if is_free and step.cost <= most:
            slots = step.slots if isinstance(step, AlikeMatches) else [step.slot]
            if tests.suitable[slots].any():
                return True
    return False
