"""Filters that look at weighed queues, and the choice of the ten best (docs/panda.md, Production weight)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, Phase, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.flow.weighing import FINAL_STAGE, MOST_CANDIDATES, least_weight, weighing_of
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.queue_kinds import takes_jumbo_jobs
from fairq.engine.brokerage.production.input_data import input_data
from fairq.engine.brokerage.production.links import goes_to_one_queue
from fairq.engine.brokerage.production.running_and_queued import (
    by_type,
    cap,
    is_idle,
    queued,
    running,
    type_cap,
)
from fairq.engine.brokerage.production.weights import lacks_local_data, network_is_active, network_numbers


class FinalFilter(PlainFilter):
    """A filter after the weight; queues that the task uses for jumbo jobs are not looked at."""

    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse what `refused` says, jumbo queues left out."""
        refused = self.refused(question)
        if refused is None:
            return None
        if question.task.has_rule("NJ"):
            refused = refused & ~takes_jumbo_jobs(question.columns)
        return refused[rows]

    def refused(self, question: Question) -> Booleans | None:
        """Return for every row whether it is refused; None: none is."""
        raise NotImplementedError


class Locked(FinalFilter):
    """Queues that another brokerage has locked."""

    name = "lock"
    reasons = (Reason("lock"),)

    def refused(self, question: Question) -> Booleans | None:
        """Refuse the locked ones, by PanDA's code; a unified name locks all its pseudo queues."""
        locked = question.world.locked
        if not locked or not question.rules.locks:
            return None
        return question.columns.flags("locked", lambda queue: queue.name in locked or queue.unit in locked)


class LocalDataOnly(FinalFilter):
    """Queues that take local input only and miss some."""

    name = "non_local"
    reasons = (Reason("non_local"),)

    def refused(self, question: Question) -> Booleans | None:
        """Refuse them."""
        return lacks_local_data(question)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what is missing."""
        data = input_data(question)
        return {"fileSizeToMoveMB": float(data.missing_mib[row]), "nFilesToMove": int(data.missing_files[row])}


class QueuedCap(FinalFilter):
    """More jobs of the share wait already than twice those running.

    By PanDA's code a number of jobs is never too many, express tasks are spared, and unified queues are capped by
    resource type.
    """

    name = "cap"
    reasons = (Reason("cap"),)

    def applies(self, question: Question) -> bool:
        """Leave express tasks alone under PanDA's rules."""
        return question.rules.queue_caps == "running" or not question.is_express

    def refused(self, question: Question) -> Booleans | None:
        """Refuse above the cap."""
        if question.rules.queue_caps == "running":
            # What is activated and starting is part of what is queued: the second sentence of the page holds the first.
            return queued(question) > cap(question)
        ucore = question.columns.flags("ucore", lambda queue: queue.capability == "ucore")
        result: Booleans = ~ucore & (queued(question) > cap(question))
        return result

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return queue, cap and what runs."""
        return {
            "nQueued": int(queued(question)[row]),
            "cap": float(cap(question)[row]),
            "nRun": int(running(question)[row]),
            "assigned_ignored": bool(input_data(question).is_local[row]),
        }


class SlowNetwork(FinalFilter):
    """Express tasks need a good link to the nucleus."""

    name = "network weight"
    reasons = (Reason("lowNetworkWeight"),)

    def applies(self, question: Question) -> bool:
        """Look at express tasks with a nucleus."""
        return question.is_express and bool(question.task.nucleus) and network_is_active(question)

    def refused(self, question: Question) -> Booleans | None:
        """Refuse below the threshold."""
        return network_numbers(question).weight < _threshold(question)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return weight and threshold."""
        return {"weightNw": float(network_numbers(question).weight[row]), "threshold": _threshold(question)}


def _threshold(question: Question) -> float:
    config = question.config
    return config.amount("jobbroker.NW_THRESHOLD") * config.amount("jobbroker.NW_WEIGHT_MULTIPLIER")


class TypeCap(FinalFilter):
    """Too many jobs of the share and the task's resource types wait already."""

    name = "cap_rt"
    reasons = (Reason("cap_rt"),)

    def applies(self, question: Question) -> bool:
        """Leave express tasks alone, and all tasks by the page."""
        return question.rules.type_cap and not question.is_express

    def refused(self, question: Question) -> Booleans | None:
        """Refuse above the cap, where numbers by resource type are known."""
        numbers = by_type(question)
        result: Booleans = numbers.known & (numbers.queued > type_cap(question))
        return result

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return queue, cap and what runs."""
        numbers = by_type(question)
        return {
            "nQueued_rt": int(numbers.queued[row]),
            "cap_rt": float(type_cap(question)[row]),
            "nRun_rt": int(numbers.running[row]),
        }


def bootstrapped(question: Question) -> Booleans:
    """Return for every row whether, by PanDA's code, it is to be tried out: nothing of the share runs or waits there.

    That is for low priorities; not for merges, express tasks and jumbo jobs.
    """
    most = question.config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP")
    low = question.task.current_priority <= most and question.rules.bootstrap
    if not low or question.chunk.is_merging or question.is_express:
        return np.zeros(len(question.columns), dtype=np.bool_)
    idle = is_idle(question)
    return idle & ~takes_jumbo_jobs(question.columns) if question.task.has_rule("NJ") else idle


class LeastWeight(FinalFilter):
    """Candidates need a minimum weight where one is configured for the label and share, or the label."""

    name = "minimum weight"
    reasons = (Reason("below_min_weight"),)

    def refused(self, question: Question) -> Booleans | None:
        """Refuse below the minimum; queues to be tried out have no weight."""
        least = least_weight(question)
        if least <= 0:
            return None
        result: Booleans = (weighing_of(question).weight < least) & ~bootstrapped(question)
        return result

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return weight and minimum."""
        return {"weight": float(weighing_of(question).weight[row]), "MIN_WEIGHT": least_weight(question)}


class OneAtNucleus(PlainFilter):
    """By PanDA's code a task with a negative ``t1Weight`` goes to the one queue where most is running."""

    name = "t1_weight"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})
    reasons = (Reason("t1_weight"),)

    def applies(self, question: Question) -> bool:
        """Look, under PanDA's rules, at tasks with a negative weight that do not merge."""
        return question.rules.one_queue_at_nucleus and goes_to_one_queue(question)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse all but the one with most running jobs of all shares, the first by name of equals."""
        counted = ~bootstrapped(question)[rows]
        if question.task.has_rule("NJ"):
            counted &= ~takes_jumbo_jobs(question.columns)[rows]
        if not counted.any():
            return None
        jobs = np.where(counted, question.columns.job_counts(None, "running")[rows], -1)
        counted[int(np.argmax(jobs))] = False
        return counted

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what runs there."""
        return {"nRunningAll": int(question.columns.job_counts(None, "running")[row])}


class TenBest(PlainFilter):
    """The ten best are taken: queues to be tried out first, then by weight, equals by name."""

    name = "ten best"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})
    reasons = (
        Reason("low_weight"),
        Reason("others_bootstrap"),
    )

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse all but the ten best; those for jumbo jobs do not count."""
        ranked = ranking(question, rows)
        if question.task.has_rule("NJ"):
            ranked = ranked[~takes_jumbo_jobs(question.columns)[rows[ranked]]]
        if len(ranked) <= MOST_CANDIDATES:
            return None
        codes = np.zeros(len(rows), dtype=np.uint8)
        rest = ranked[MOST_CANDIDATES:]
        codes[rest] = 1 + bootstrapped(question)[rows[rest]]
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the weight."""
        return {"weight": float(weighing_of(question).weight[row])}


def ranking(question: Question, rows: Rows) -> Rows:
    """Return positions in *rows* as they are taken: those to be tried out, then by weight, equals by name."""
    tried = bootstrapped(question)[rows]
    weight = np.where(tried, np.inf, weighing_of(question).weight[rows])
    # Rows are in order of name already.
    return np.argsort(-weight, kind="stable")
