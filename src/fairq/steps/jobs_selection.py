"""Which jobs a command is about: by job, cluster, range, owner or submitter, or by a constraint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairq.errors import InvalidJobIdError, NoMatchingJobError, UnknownJobError
from fairq.records import Ad, JobRange, JobStatus
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.jobs_overlay import RUNNING_ATTRIBUTES, Overlay

_ID = re.compile(r"(\d{1,9})(?:\.(\d{1,10})(?:-(?:(\d{1,9})\.)?(\d{1,10}))?|\.?)")


@dataclass(frozen=True, slots=True)
class Target:
    """What one word of the command line names: procs of a cluster, or everything of *owner*."""

    text: str
    cluster: int | None = None
    first_proc: int | None = None
    last_proc: int | None = None
    owner: str | None = None

    @property
    def is_one_job(self) -> bool:
        """Whether it names a single job."""
        return self.first_proc is not None and self.first_proc == self.last_proc

    def described(self) -> str:
        """Return how HTCondor's tools speak of it."""
        if self.owner is not None:
            return f"All jobs of {self.owner}"
        if self.first_proc is None:
            return f"All jobs in cluster {self.cluster}"
        return f"Job {self.text}" if self.is_one_job else f"Jobs {self.text}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The jobs a user named; without *targets*, all (with *everything*, or limited by *constraint*)."""

    targets: Sequence[Target] = ()
    constraint: str | None = None


def parse_targets(words: Iterable[str]) -> list[Target]:
    """Return what *words* name: ``7``, ``7.0``, ``7.0-99``, an owner or a submitter.

    Raises InvalidJobIdError for a word that is none of them.
    """
    return [_target(word) for word in words]


def _target(word: str) -> Target:
    found = _ID.fullmatch(word)
    if found is None:
        if not word or word[0].isdigit() or word[0] in "-." or any(c.isspace() for c in word):
            raise InvalidJobIdError(value=word)
        return Target(word, owner=word)
    cluster, first, end_cluster, last = found.groups()
    if end_cluster is not None and int(end_cluster) != int(cluster):
        raise InvalidJobIdError(value=word)
    if first is None:
        return Target(str(int(cluster)), int(cluster))
    first_proc, last_proc = int(first), int(last if last is not None else first)
    if last_proc < first_proc:
        raise InvalidJobIdError(value=word)
    return Target(word, int(cluster), first_proc, last_proc)


def find(
    state: State, selection: Selection, *, missing_is_error: bool = True
) -> Iterator[tuple[Target, list[JobRange]]]:
    """Yield each target with its jobs, as ranges cut to what was named; a range is found only once.

    Raises:
        UnknownJobError, NoMatchingJobError: a target, or the constraint, has no job (if that is an error).
        ExpressionError: the constraint does not parse.
    """
    test = None if selection.constraint is None else _Matcher(state, selection.constraint)
    targets = selection.targets or [Target("all", owner=None)]
    seen: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for target in targets:
        found = _of_target(state, target)
        if not found and missing_is_error and selection.targets:
            raise _missing(target)
        if test is not None:
            found = [part for job in found for part in test.parts(job)]
        fresh = [part for job in found for part in _unseen(job, seen)]
        yield target, fresh


def _missing(target: Target) -> UnknownJobError | NoMatchingJobError:
    if target.owner is not None:
        return NoMatchingJobError(condition=f"belongs to {target.owner!r}")
    return UnknownJobError(job=target.text)


def _of_target(state: State, target: Target) -> list[JobRange]:
    if target.owner is not None:
        if "@" in target.owner:
            return jobs.select(state, submitter=target.owner)
        return jobs.select(state, owner=target.owner)
    if target.cluster is None:
        return jobs.select(state)
    found = jobs.select(state, cluster=target.cluster)
    if target.first_proc is None or target.last_proc is None:
        return found
    first, last = target.first_proc, target.last_proc
    return [_cut(job, first, last) for job in found if job.first_proc <= last and job.last_proc >= first]


def _cut(job: JobRange, first: int, last: int) -> JobRange:
    return replace(job, first_proc=max(job.first_proc, first), last_proc=min(job.last_proc, last))


def _unseen(job: JobRange, seen: dict[tuple[str, int], list[tuple[int, int]]]) -> Iterator[JobRange]:
    """Yield the parts of *job* that were not seen before, and remember them."""
    before = seen.setdefault((job.schedd, job.cluster), [])
    start = job.first_proc
    for first, last in sorted(b for b in before if b[0] <= job.last_proc and b[1] >= job.first_proc):
        if first > start:
            yield replace(job, first_proc=start, last_proc=first - 1)
        start = max(start, last + 1)
    if start <= job.last_proc:
        yield replace(job, first_proc=start)
    before.append((job.first_proc, job.last_proc))


class _Matcher:
    """Tests jobs against a constraint; jobs alike in all that the test can see are tested once."""

    def __init__(self, state: State, constraint: str) -> None:
        from fairq.engine.classad import parse
        from fairq.engine.classad.library import evaluate_tree, to_ad, to_library, tree

        parse(constraint)
        self._state = state
        self._text = constraint.lower()
        self._tree = tree(constraint)
        self._evaluate = evaluate_tree
        self._to_ad = to_ad
        self._to_library = to_library
        self._overlay = Overlay(state)
        self._shared: dict[int, Ad] = {}

    def parts(self, job: JobRange) -> list[JobRange]:
        """Return the parts of *job* that satisfy the constraint."""
        if job.ad_id not in self._shared:
            self._shared |= jobs.ads(self._state, [job.ad_id])
        ad = {
            **job.ad_of(self._shared[job.ad_id], job.first_proc),
            **self._overlay.of(job, job.first_proc),
        }
        library_ad = self._to_ad(ad)
        if len(job) == 1 or not self._sees_proc(job, ad):
            return [job] if self._is_true(library_ad) else []
        varying = self._varying(job)
        result: list[JobRange] = []
        for proc in range(job.first_proc, job.last_proc + 1):
            peculiar = {**job.peculiar(proc), **self._overlay.of(job, proc), "ProcId": proc}
            for name in varying & peculiar.keys():
                library_ad[name] = self._to_library(peculiar[name])
            if self._is_true(library_ad):
                if result and result[-1].last_proc == proc - 1:
                    result[-1].last_proc = proc
                else:
                    result.append(replace(job, first_proc=proc, last_proc=proc))
        return result

    def _sees_proc(self, job: JobRange, ad: Ad) -> bool:
        """Say whether the constraint can tell the jobs of a range apart, itself or by way of an attribute."""
        varying = {name.lower() for name in self._varying(job)}
        texts = [self._text, *(v.lower() for v in ad.values() if isinstance(v, str) and v.startswith("/Expr("))]
        return any(name in text for name in varying for text in texts)

    @staticmethod
    def _varying(job: JobRange) -> set[str]:
        """Return the attributes that can differ within *job*."""
        running = RUNNING_ATTRIBUTES if job.status == JobStatus.RUNNING else ()
        return {"ProcId", *(job.template or ()), *running}

    def _is_true(self, ad: Any) -> bool:
        value = self._evaluate(self._tree, ad, None)
        return isinstance(value, bool | int | float) and bool(value)
