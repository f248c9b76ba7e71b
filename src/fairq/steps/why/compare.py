"""The decision of the other set of HTCondor's rules about a job, a submitter or a group, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairq.common.records import JobRange
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, single_job
from fairq.settings.key import HTCONDOR
from fairq.steps.rule_comparison import Steps, compare_rules

if TYPE_CHECKING:
    from fairq.settings import Settings

Document = dict[str, Any]
Simulate = Callable[["Settings"], Outcome]
"""Simulates a cycle under other settings."""

MOST_SLOTS_AND_JOBS = 20_000
"""Maximum number of slots and jobs with which rule points are tried one by one."""


def compare_decisions(document: Document, settings: Settings, simulate: Simulate) -> Document:
    """Return the decisions of the two sets of rules about the subject of *document* (from `why`)."""
    kind = document["kind"]

    def decide(under: Settings) -> Steps:
        outcome = simulate(under)
        if kind == "group":
            return _decide_group(document["subject"], outcome)
        if kind == "submitter":
            return _decide_submitters(document, outcome)
        return _decide_job(document, outcome)

    outcome = simulate(settings)
    size = len(outcome.input.pool.ads) + sum(decision.idle for decision in outcome.decision.submitters)
    return compare_rules(settings, HTCONDOR, decide, try_points=size <= MOST_SLOTS_AND_JOBS)


def _decide_job(document: Document, outcome: Outcome) -> Document:
    job = _find_job(document, outcome)
    if job is None:
        return {"decision": _not_considered(document, outcome)}
    submitter = outcome.submitter(job.submitter, job.schedd)
    match = outcome.match_of(job)
    reason = str(Diagnosis(outcome, job).reason) if match is None else f"gets {outcome.labels[match.slot]}"
    return {
        "allocation of its group": _allocation(outcome, submitter.group),
        "submitter limit": round(submitter.limit, 3),
        "matches of its submitter": submitter.matched,
        "decision": reason,
    }


def _not_considered(document: Document, outcome: Outcome) -> str:
    """Return the fate of a job that the cycle does not consider; a running job may lose its slot."""
    status, host, labels = document.get("status"), document.get("slot"), outcome.labels
    if status != "running" or host is None:
        return str(status or document.get("reason"))
    takers = (match.submitter for match in outcome.decision.matches if match.preempted and labels[match.slot] == host)
    taker = next(takers, None)
    return f"keeps {host}" if taker is None else f"loses {host} to {taker}"


def _decide_submitters(document: Document, outcome: Outcome) -> Document:
    names = [(row["submitter"], row["schedd"]) for row in document["submitters"]]
    submitters = [outcome.submitter(*name) for name in names]
    return {
        "allocation of its group": [_allocation(outcome, submitter.group) for submitter in submitters],
        "submitter limit": [round(submitter.limit, 3) for submitter in submitters],
        "decision": [submitter.matched for submitter in submitters],
    }


def _decide_group(name: str, outcome: Outcome) -> Document:
    figures = outcome.quota_of(name)
    return {
        "order of the groups": list(dict.fromkeys(turn.group for turn in outcome.decision.groups)),
        "quota": None if figures is None else round(figures.quota, 3),
        "allocation": _allocation(outcome, name),
        "decision": None if figures is None else round(figures.used_after, 3),
    }


def _allocation(outcome: Outcome, group: str) -> float | None:
    """Return the allocation of a group; None if there are no groups."""
    figures = outcome.quota_of(group)
    return None if figures is None else round(figures.allocated, 3)


def _find_job(document: Document, outcome: Outcome) -> JobRange | None:
    """Return the explained job if it is idle and takes part in the cycle, else None."""
    if document.get("status", "idle") != "idle":
        return None
    cluster, proc = map(int, document["subject"].split("."))
    idle = (jobs for queue in outcome.input.jobs.queues for jobs in queue.idle)
    for jobs in idle:
        same_schedd = jobs.schedd == document.get("schedd", jobs.schedd)
        if same_schedd and jobs.cluster == cluster and jobs.first_proc <= proc <= jobs.last_proc:
            return single_job(jobs, proc)
    return None
