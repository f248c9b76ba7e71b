"""The filter of analysis by software and hardware (reference panda 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.brokerage.analysis.selection import select
from fairq.engine.brokerage.architecture import Architecture
from fairq.engine.brokerage.platforms import is_pattern, may_resolve, resolve_platform
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.production.software_check import architecture_of
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.software import ALL, ANY_RELEASES, Judgement, Needs, judge
from fairq.engine.brokerage.software_kinds import by_software
from fairq.engine.brokerage.software_needs import analysis_needs
from fairq.engine.brokerage.tasks import ANALYSIS

NOTHING = Judgement("unjudged", "the task names no release that could be looked for")


class Software(PlainFilter):
    """The queue must have the release, container and hardware."""

    name = "analysis software"
    stage = "SW/HW check"
    place = 1000
    activities = frozenset({ANALYSIS})
    reasons = (
        Reason("cache", "the queue lacks the release, the container or the hardware"),
        Reason("regexpcmtconfig", "no platform of the queue fits the pattern that the task gives"),
    )

    def applies(self, question: Question) -> bool:
        """Leave a queue that the task is given alone."""
        return select(question).single is None

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Ask each queue once for equal needs."""
        columns, asked, lists = question.columns, architecture_of(question), question.rules.gpu_lists
        needs = tuple(analysis_needs(question.task, asked))

        def make() -> Codes:
            return by_software(columns, lambda unit: _code(question, unit, needs, asked))

        return columns.refusals(("analysis software", needs, asked, lists), make, rows)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what is asked for, and why the queue does not have it."""
        task, asked = question.task, architecture_of(question)
        unit = int(question.columns.unit_of[row])
        told: Details = {"architecture": task.architecture, "releases": list(question.columns.units[unit].releases)}
        if reason.tag == "regexpcmtconfig":
            published = question.world.software.get(question.columns.unit_names[unit], {})
            return told | {"cmtconfigs": list(published.get("cmtconfigs") or ())}
        why = _judgement(question, unit, analysis_needs(task, asked)).why
        return told | {"transHome": task.trans_home, "container_name": task.container_name, "why": why}


def _code(question: Question, unit: int, needs: Sequence[Needs], asked: Architecture) -> int:
    if _judgement(question, unit, needs).verdict == "accepted":
        unresolved = is_pattern(asked.sw_platform) and not _platform(question, unit, asked)
        return 2 if unresolved else 0
    free = asked.cpus is None and asked.gpu is None
    return 0 if free and question.columns.units[unit].releases == ANY_RELEASES else 1


def _judgement(question: Question, unit: int, needs: Sequence[Needs]) -> Judgement:
    world, name = question.world, question.columns.unit_names[unit]
    judgement = NOTHING
    for one in needs:
        judgement = judge(
            one,
            question.columns.units[unit].releases,
            world.software.get(name),
            world.gpus.get(name, ()),
            world.software.get(ALL),
            use_gpu_lists=question.rules.gpu_lists,
        )
        if judgement.verdict != "unjudged":
            break
    return judgement


def _platform(question: Question, unit: int, asked: Architecture) -> str | None:
    entry = question.world.software.get(question.columns.unit_names[unit])
    return resolve_platform(asked.sw_platform, asked.base_platform, entry)


def platform_at(question: Question, row: int) -> str | None:
    """Return what the task's platform comes out as at a queue; None: nothing was to be resolved."""
    asked = architecture_of(question)
    if select(question).single is not None or not may_resolve(asked.sw_platform):
        return None
    return _platform(question, int(question.columns.unit_of[row]), asked)
