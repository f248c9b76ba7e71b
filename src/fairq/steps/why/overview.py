"""Why jobs wait, over all idle jobs of the pool: the reasons, with the number of jobs that each keeps waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fairq.engine.explain.alternatives import asks_for_nothing
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.machines import too_large
from fairq.engine.explain.search import Search
from fairq.records import JobRange
from fairq.steps.why.world import ImaginedPool, affordable_cycles
from fairq.words.advice import too_large_sentence
from fairq.words.changes import change_words

_KINDS = 100
"""Maximum number of kinds of jobs examined, those with most jobs first."""

_WITH_ADVICE = 5
_CYCLES = 12


@dataclass(slots=True)
class _Entry:
    jobs: int = 0
    submitters: Counter[str] = field(default_factory=Counter)
    largest: int = 0
    example: Diagnosis | None = None


def overview(world: ImaginedPool, outcome: Outcome) -> dict[str, Any]:
    """Return the reasons why idle jobs stay idle in the next cycle, most jobs first."""
    kinds = sorted(_kinds(outcome), key=lambda kind: (-kind[1], kind[0].cluster, kind[0].first_proc))
    entries: dict[str, _Entry] = {}
    for job, count in kinds[:_KINDS]:
        diagnosis = Diagnosis(outcome, job)
        entry = entries.setdefault(str(diagnosis.reason), _Entry())
        entry.jobs += count
        entry.submitters[job.submitter] += count
        if count > entry.largest:
            entry.largest, entry.example = count, diagnosis
    ordered = sorted(entries.items(), key=lambda one: (-one[1].jobs, one[0]))
    cycles = affordable_cycles(outcome.given, _CYCLES)
    reasons = [
        _reason(world, reason, entry, cycles if place < _WITH_ADVICE else 0)
        for place, (reason, entry) in enumerate(ordered)
    ]
    idle = sum(len(jobs) for queue in outcome.given.jobs.queues for jobs in queue.idle)
    return {
        "kind": "pool",
        "subject": "all idle jobs",
        "idle": idle,
        "matched": len(outcome.decision.matches),
        "looked_at": sum(count for _, count in kinds[:_KINDS]),
        "summary": _summary(idle, len(outcome.decision.matches), ordered),
        "reasons": reasons,
    }


def _kinds(outcome: Outcome) -> Iterator[tuple[JobRange, int]]:
    """Return each kind of job that the cycle leaves idle: its first job, and the number of jobs."""
    matched = Counter((m.schedd, m.cluster, m.proc) for m in outcome.decision.matches)
    per_cluster = Counter((schedd, cluster) for schedd, cluster, _ in matched)
    for queue in outcome.given.jobs.queues:
        counts: Counter[tuple[int, str]] = Counter()
        firsts: dict[tuple[int, str], JobRange] = {}
        for jobs in queue.idle:
            left, first = len(jobs), jobs.first_proc
            if per_cluster[jobs.schedd, jobs.cluster]:
                procs = range(jobs.first_proc, jobs.last_proc + 1)
                idle = [proc for proc in procs if (jobs.schedd, jobs.cluster, proc) not in matched]
                left, first = len(idle), idle[0] if idle else 0
            if left:
                kind = (jobs.ad_id, repr(jobs.own))
                counts[kind] += left
                firsts.setdefault(kind, replace(jobs, first_proc=first, last_proc=first))
        yield from ((job, counts[kind]) for kind, job in firsts.items())


def _reason(world: ImaginedPool, reason: str, entry: _Entry, cycles: int) -> dict[str, Any]:
    of = entry.example
    assert of is not None
    help_, whole = None, too_large(of.context.job, of.outcome.given.pool.ads)
    changes: list[dict[str, Any]] = []
    if whole:
        help_ = too_large_sentence(whole)
    elif cycles:
        found = Search(cycles).run(world.about(of.job), of)
        if found.changes and not any(map(asks_for_nothing, found.changes)):
            help_ = ", ".join(dict.fromkeys(map(change_words, found.changes)))
            changes = [change.document() for change in found.changes]
    return {
        "reason": reason,
        "jobs": entry.jobs,
        "submitters": dict(entry.submitters.most_common()),
        "example": f"{of.job.cluster}.{of.job.first_proc}",
        "would_help": help_,
        "changes": changes,
    }


def _summary(idle: int, matched: int, ordered: list[tuple[str, _Entry]]) -> str:
    if not idle:
        return "No jobs are idle."
    text = f"{idle} jobs are idle; the next cycle starts {matched} of them."
    if ordered:
        text += f" Most of the others wait because of: {ordered[0][0]} ({ordered[0][1].jobs} jobs)."
    return text
