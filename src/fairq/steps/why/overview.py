"""Why jobs wait, over all idle jobs of the pool: the reasons, and the changes that would start most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.common.quantities import counted
from fairq.common.records import JobRange
from fairq.engine.explain.alternatives import widened_remedies
from fairq.engine.explain.changes import maker
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy
from fairq.steps.why.advice import too_large_sentence
from fairq.steps.why.changes import change_order
from fairq.steps.why.trials import key_of
from fairq.steps.why.world import ImaginedPool

KINDS = 100
"""Maximum number of kinds of jobs examined, those with most jobs first."""

_TRIED = 4
"""Maximum number of changes tried for each reason."""

_RANGES = 50
"""Maximum number of ranges of jobs to which a change of a job is applied."""

_Kind = tuple[list[JobRange], int]
"""The ranges of identical jobs, each from its first idle job, and the number of jobs left idle."""


class _Entry(Struct):
    """The jobs that wait for one reason; *example* is the first one of the largest kind, in the ranges *alike*."""

    jobs: int = 0
    submitters: Counter[str] = field(default_factory=Counter)
    largest: int = 0
    example: Diagnosis | None = None
    alike: list[JobRange] = field(default_factory=list)


class _Help(Struct, frozen=True):
    """A change, and how many more jobs the next cycle starts with it."""

    remedy: Remedy
    starts: int

    @property
    def who(self) -> str:
        """The person who can make the change."""
        return maker(self.remedy)

    @property
    def words(self) -> str:
        """The change in words."""
        return ", ".join(dict.fromkeys(map(change_order, self.remedy)))


def overview(world: ImaginedPool, outcome: Outcome) -> dict[str, Any]:
    """Return the reasons why idle jobs stay idle in the next cycle, and the changes that would start most of them."""
    kinds = kinds_left(outcome)
    entries: dict[str, _Entry] = {}
    for ranges, count in kinds[:KINDS]:
        diagnosis = Diagnosis(outcome, ranges[0])
        entry = entries.setdefault(str(diagnosis.reason), _Entry())
        entry.jobs += count
        entry.submitters[diagnosis.job.submitter] += count
        if count > entry.largest:
            entry.largest, entry.example, entry.alike = count, diagnosis, ranges
    ordered = sorted(entries.items(), key=lambda item: (-item[1].jobs, item[0]))
    gains: dict[Hashable, int] = {}
    help_of = {reason: _best_changes(world, entry, gains) for reason, entry in ordered}
    idle = sum(len(jobs) for queue in outcome.input.jobs.queues for jobs in queue.idle)
    most = sorted(
        ((reason, item) for reason, helps in help_of.items() for item in helps), key=lambda item: -item[1].starts
    )
    return {
        "kind": "pool",
        "subject": "all idle jobs",
        "idle": idle,
        "matched": len(outcome.decision.matches),
        "looked_at": sum(count for _, count in kinds[:KINDS]),
        "summary": _summary(idle, len(outcome.decision.matches), ordered, [item for _, item in most]),
        "reasons": [_reason(reason, entry, help_of[reason]) for reason, entry in ordered],
        "help": [
            {
                "starts": item.starts,
                "who": item.who,
                "change": item.words,
                "reason": reason,
                "example": _name(entries[reason]),
                "changes": [change.document() for change in item.remedy],
            }
            for reason, item in most
        ],
    }


def kinds_left(outcome: Outcome) -> list[_Kind]:
    """Return the kinds of jobs that the cycle leaves idle, those with most jobs first."""
    return sorted(_kinds(outcome), key=lambda kind: (-kind[1], kind[0][0].cluster, kind[0][0].first_proc))


def _kinds(outcome: Outcome) -> Iterator[_Kind]:
    """Yield each kind of job that the cycle leaves idle."""
    matched = outcome.matched
    per_cluster = Counter((schedd, cluster) for schedd, cluster, _ in matched)
    for queue in outcome.input.jobs.queues:
        counts: Counter[tuple[int, str]] = Counter()
        ranges_by_kind: dict[tuple[int, str], list[JobRange]] = {}
        for jobs in queue.idle:
            idle_count, first = len(jobs), jobs.first_proc
            if per_cluster[jobs.schedd, jobs.cluster]:
                procs = range(jobs.first_proc, jobs.last_proc + 1)
                idle = [proc for proc in procs if (jobs.schedd, jobs.cluster, proc) not in matched]
                idle_count, first = len(idle), idle[0] if idle else 0
            if idle_count:
                kind = (jobs.ad_id, repr(jobs.own))
                counts[kind] += idle_count
                ranges_by_kind.setdefault(kind, []).append(replace(jobs, first_proc=first))
        yield from ((ranges, counts[kind]) for kind, ranges in ranges_by_kind.items())


def _best_changes(world: ImaginedPool, entry: _Entry, gains: dict[Hashable, int]) -> list[_Help]:
    """Try changes in a cycle each; return the best one of the owners and of administrators, if any starts a job.

    *gains* are the jobs that changes start, also those tried for other reasons.
    """
    example = entry.example
    assert example is not None
    best: dict[str, _Help] = {}
    for remedy in islice(widened_remedies(example, entry.jobs), _TRIED):
        changed = world.changed_for_all(entry.alike[:_RANGES], remedy).try_cycle()
        if changed is not None:
            gains[key_of(remedy)] = len(changed.decision.matches) - len(example.outcome.decision.matches)
        improvement = _Help(remedy, gains.get(key_of(remedy), 0))
        if improvement.starts > best.get(improvement.who, _NOTHING).starts:
            best[improvement.who] = improvement
    return sorted(best.values(), key=lambda improvement: (-improvement.starts, improvement.who != "owner"))


_NOTHING = _Help((), 0)


def _name(entry: _Entry) -> str:
    assert entry.example is not None
    return f"{entry.example.job.cluster}.{entry.example.job.first_proc}"


def _reason(reason: str, entry: _Entry, helps: list[_Help]) -> dict[str, Any]:
    example = entry.example
    assert example is not None
    excesses = example.too_large
    best = helps[0] if helps else _NOTHING
    return {
        "reason": reason,
        "jobs": entry.jobs,
        "submitters": dict(entry.submitters.most_common()),
        "example": _name(entry),
        "too_large": bool(excesses),
        "would_help": too_large_sentence(excesses) if excesses else best.words or None,
        "would_start": best.starts,
        "changes": [change.document() for change in best.remedy],
    }


def _summary(idle: int, matched: int, ordered: list[tuple[str, _Entry]], most: list[_Help]) -> str:
    if not idle:
        return "No jobs are idle."
    text = f"{idle} jobs are idle; the next cycle starts {matched or 'none'} of them."
    if idle == 1:
        text = f"1 job is idle; the next cycle {'starts' if matched else 'does not start'} it."
    if ordered:
        most_of = (
            ("Most of the others wait" if matched else "Most wait")
            if len(ordered) > 1
            else "The others wait"
            if matched
            else "All wait"
        )
        which = "It waits" if idle == 1 else most_of
        text += f" {which} because of: {ordered[0][0]} ({counted(ordered[0][1].jobs, 'job')})."
    if most:
        text += f" What would help most: {most[0].words} (starts {counted(most[0].starts, 'more job')})."
    return text
