"""Whether the other set of rules decides otherwise about a job, a submitter or a group, and at which step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.records import JobRange
from fairq.settings.key import DOCUMENTED, HTCONDOR

if TYPE_CHECKING:
    from fairq.settings import Settings

Document = dict[str, Any]
Hold = Callable[["Settings"], Outcome]
"""Holds a cycle under other settings, to be looked at."""

MOST_SLOTS_AND_JOBS = 20_000
"""In a larger pool the rule points are not tried one by one."""


def compared(document: Document, settings: Settings, hold: Hold) -> Document:
    """Return what the other set of rules decides about the subject of *document*, which `why` made.

    ``steps`` has one entry for each step of the decision, with what either set of rules makes of it; ``differs_at``
    names the first at which they part, None if they decide alike. ``points`` are the rule points each of which
    alone would change the decision; None in a pool too large to try them.
    """
    here_rules = settings[HTCONDOR.rules]
    there_rules = next(rules for rules in HTCONDOR.choices if rules != here_rules)
    here, there = hold(settings), hold(settings.under(there_rules))
    steps = _steps(document, here, there)
    found: Document = {
        "rules": here_rules,
        "other_rules": there_rules,
        "differs": steps[-1]["here"] != steps[-1]["there"],
        "differs_at": None,
        "steps": steps,
        "points": None,
    }
    if not found["differs"]:
        return found
    found["differs_at"] = next(step["step"] for step in steps if step["here"] != step["there"])
    given = here.given
    if len(given.pool.ads) + sum(of.idle for of in here.decision.submitters) <= MOST_SLOTS_AND_JOBS:
        decided = steps[-1]["here"]
        points = [name for name in _points(settings, there_rules) if _alone(document, settings, name, hold) != decided]
        found["points"] = points
    return found


def _points(settings: Settings, rules: str) -> list[str]:
    """The rule points that the other rules would have another value of."""
    other = settings.under(rules)
    return [entry.name for entry in settings if entry.key.point and other[entry.name] != entry.value]


def _alone(document: Document, settings: Settings, name: str, hold: Hold) -> Any:
    """What is decided in the end with one rule point as under the other rules."""
    rules = settings[HTCONDOR.rules]
    other = HTCONDOR.real if rules == DOCUMENTED else DOCUMENTED
    outcome = hold(settings.under(other, only=[name]))
    return _steps(document, outcome, outcome)[-1]["here"]


def _steps(document: Document, here: Outcome, there: Outcome) -> list[Document]:
    """The steps of the decision in their order, with what either cycle made of them."""
    makers = {"job": _of_job, "pair": _of_job, "submitter": _of_submitters, "group": _of_group}
    make = makers[document["kind"]]
    mine, theirs = make(document, here), make(document, there)
    return [{"step": step, "here": value, "there": theirs[step]} for step, value in mine.items()]


def _of_job(document: Document, outcome: Outcome) -> Document:
    job = _queued(document, outcome) if "." in document["subject"] else None
    if job is None:
        return {"decision": document.get("reason")}
    of = outcome.submitter(job.submitter, job.schedd)
    match = outcome.match_of(job)
    reason = str(Diagnosis(outcome, job).reason) if match is None else f"gets {outcome.labels[match.slot]}"
    return {
        "allocation of its group": _allocated(outcome, of.group),
        "submitter limit": round(of.limit, 3),
        "jobs of the submitter matched": of.matched,
        "decision": reason,
    }


def _of_submitters(document: Document, outcome: Outcome) -> Document:
    names = [(row["submitter"], row["schedd"]) for row in document["submitters"]]
    found = [outcome.submitter(*name) for name in names]
    return {
        "allocation of its group": [_allocated(outcome, of.group) for of in found],
        "submitter limit": [round(of.limit, 3) for of in found],
        "decision": [of.matched for of in found],
    }


def _of_group(document: Document, outcome: Outcome) -> Document:
    name = document["subject"]
    order = list(dict.fromkeys(turn.group for turn in outcome.decision.groups))
    figures = next((of for of in outcome.decision.quotas if of.group.lower() == name.lower()), None)
    return {
        "order of the groups": order,
        "quota": None if figures is None else round(figures.quota, 3),
        "allocation": _allocated(outcome, name),
        "decision": None if figures is None else round(figures.used_after, 3),
    }


def _allocated(outcome: Outcome, group: str) -> float | None:
    """What a group is allocated; None where there are no groups."""
    found = (of.allocated for of in outcome.decision.quotas if of.group.lower() == group.lower())
    return next((round(allocated, 3) for allocated in found), None)


def _queued(document: Document, outcome: Outcome) -> JobRange | None:
    """The job that was explained, if it is idle."""
    cluster, proc = map(int, document["subject"].split("."))
    idle = (jobs for queue in outcome.given.jobs.queues for jobs in queue.idle)
    for jobs in idle:
        same_schedd = jobs.schedd == document.get("schedd", jobs.schedd)
        if same_schedd and jobs.cluster == cluster and jobs.first_proc <= proc <= jobs.last_proc:
            return outcome.one(jobs, proc)
    return None
