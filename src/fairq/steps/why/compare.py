"""The decision of the other set of HTCondor's rules about a job, a submitter or a group, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairq.common.records import JobRange
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, one_of
from fairq.settings.key import HTCONDOR
from fairq.steps.rule_comparison import Steps, compare_rules

if TYPE_CHECKING:
    from fairq.settings import Settings

Document = dict[str, Any]
Hold = Callable[["Settings"], Outcome]
"""Simulates a cycle under other settings."""

MOST_SLOTS_AND_JOBS = 20_000
"""Size of the largest pool in which the rule points are tried one by one."""


def compared(document: Document, settings: Settings, hold: Hold) -> Document:
    """Return the decisions of the two sets of rules about the subject of *document* (from `why`)."""
    kind = document["kind"]

    def decide(under: Settings) -> Steps:
        outcome = hold(under)
        if kind == "group":
            return _of_group(document["subject"], outcome)
        if kind == "submitter":
            return _of_submitters(document, outcome)
        return _of_job(document, outcome)

    outcome = hold(settings)
    size = len(outcome.given.pool.ads) + sum(of.idle for of in outcome.decision.submitters)
    return compare_rules(settings, HTCONDOR, decide, try_points=size <= MOST_SLOTS_AND_JOBS)


def _of_job(document: Document, outcome: Outcome) -> Document:
    job = _queued(document, outcome)
    if job is None:
        return {"decision": _not_considered(document, outcome)}
    of = outcome.submitter(job.submitter, job.schedd)
    match = outcome.match_of(job)
    reason = str(Diagnosis(outcome, job).reason) if match is None else f"gets {outcome.labels[match.slot]}"
    return {
        "allocation of its group": _allocated(outcome, of.group),
        "submitter limit": round(of.limit, 3),
        "matches of its submitter": of.matched,
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


def _of_submitters(document: Document, outcome: Outcome) -> Document:
    names = [(row["submitter"], row["schedd"]) for row in document["submitters"]]
    found = [outcome.submitter(*name) for name in names]
    return {
        "allocation of its group": [_allocated(outcome, of.group) for of in found],
        "submitter limit": [round(of.limit, 3) for of in found],
        "decision": [of.matched for of in found],
    }


def _of_group(name: str, outcome: Outcome) -> Document:
    figures = outcome.quota_of(name)
    return {
        "order of the groups": list(dict.fromkeys(turn.group for turn in outcome.decision.groups)),
        "quota": None if figures is None else round(figures.quota, 3),
        "allocation": _allocated(outcome, name),
        "decision": None if figures is None else round(figures.used_after, 3),
    }


def _allocated(outcome: Outcome, group: str) -> float | None:
    """Return the allocation of a group; None if there are no groups."""
    figures = outcome.quota_of(group)
    return None if figures is None else round(figures.allocated, 3)


def _queued(document: Document, outcome: Outcome) -> JobRange | None:
    """Return the explained job, if it is idle and takes part in the cycle."""
    if document.get("status", "idle") != "idle":
        return None
    cluster, proc = map(int, document["subject"].split("."))
    idle = (jobs for queue in outcome.given.jobs.queues for jobs in queue.idle)
    for jobs in idle:
        same_schedd = jobs.schedd == document.get("schedd", jobs.schedd)
        if same_schedd and jobs.cluster == cluster and jobs.first_proc <= proc <= jobs.last_proc:
            return one_of(jobs, proc)
    return None
