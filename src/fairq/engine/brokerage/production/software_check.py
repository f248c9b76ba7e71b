"""The filter by software and hardware, and the weight of preferred CPU levels (reference panda 8)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.architecture import Architecture, read_architecture
from fairq.engine.brokerage.columns import Floats
from fairq.engine.brokerage.platforms import is_pattern, may_resolve, resolve_platform
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, PlainWeight, Reason, Rows
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.software import ALL, ANY_RELEASES, Judgement, Needs, judge, level_factor
from fairq.engine.brokerage.software_kinds import by_software
from fairq.engine.brokerage.software_needs import production_needs
from fairq.engine.brokerage.tasks import PRODUCTION

_PRODUCTION = frozenset({PRODUCTION})


def architecture_of(question: Question) -> Architecture:
    """Return the hardware and platform that the task asks for."""
    return read_architecture(question.task.architecture, infer_cpu=question.rules.infer_cpu)


class Software(PlainFilter):
    """The queue must have the release and the hardware."""

    name = "software"
    stage = "SW/HW check"
    place = 900
    activities = _PRODUCTION
    reasons = (
        Reason("cache", "the queue lacks the release, the container or the hardware"),
        Reason("regexpcmtconfig", "no platform of the queue fits the pattern that the task gives"),
    )

    def applies(self, question: Question) -> bool:
        """Look at tasks that name a release."""
        return question.task.trans_home is not None

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Ask each queue once for equal needs."""
        asked = architecture_of(question)
        needs = production_needs(question.task, asked)
        if needs is None:
            return None
        columns, lists = question.columns, question.rules.gpu_lists

        def make() -> Codes:
            return by_software(columns, lambda unit: self._code(question, unit, needs, asked))

        return columns.refusals(("software", needs, asked.base_platform, lists), make, rows)

    def _code(self, question: Question, unit: int, needs: Needs, asked: Architecture) -> int:
        verdict = _judgement(question, unit, needs).verdict
        if verdict == "accepted":
            unresolved = is_pattern(asked.sw_platform) and not _platform(question, unit, asked)
            return 2 if unresolved else 0
        tagged = bool(needs.container) and needs.only_tags
        free = needs.cpus is None and needs.gpu is None and not tagged
        return 0 if free and question.columns.units[unit].releases == ANY_RELEASES else 1

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what is asked for, and why the queue does not have it."""
        task, asked = question.task, architecture_of(question)
        unit = int(question.columns.unit_of[row])
        told: Details = {"architecture": task.architecture, "releases": list(question.columns.units[unit].releases)}
        if reason.tag == "regexpcmtconfig":
            published = question.world.software.get(question.columns.unit_names[unit], {})
            return told | {"cmtconfigs": list(published.get("cmtconfigs") or ())}
        needs = production_needs(task, asked)
        why = _judgement(question, unit, needs).why if needs else ""
        return told | {"transHome": task.trans_home, "container_name": task.container_name, "why": why}


def _judgement(question: Question, unit: int, needs: Needs) -> Judgement:
    world, name = question.world, question.columns.unit_names[unit]
    return judge(
        needs,
        question.columns.units[unit].releases,
        world.software.get(name),
        world.gpus.get(name, ()),
        world.software.get(ALL),
        use_gpu_lists=question.rules.gpu_lists,
    )


def _platform(question: Question, unit: int, asked: Architecture) -> str | None:
    entry = question.world.software.get(question.columns.unit_names[unit])
    return resolve_platform(asked.sw_platform, asked.base_platform, entry)


def platform_at(question: Question, row: int) -> str | None:
    """Return what the task's platform comes out as at a queue; None: nothing was to be resolved."""
    if question.task.trans_home is None or not question.task.architecture:
        return None
    asked = architecture_of(question)
    return _platform(question, int(question.columns.unit_of[row]), asked) if may_resolve(asked.sw_platform) else None


class PreferredLevel(PlainWeight):
    """Queues count more by how much of them has the CPU level that the task prefers."""

    name = "cpu level"
    place = 500
    activities = _PRODUCTION

    def applies(self, question: Question) -> bool:
        """Count for tasks that prefer one."""
        return question.task.trans_home is not None and architecture_of(question).preferred_level is not None

    def factor(self, question: Question, rows: Rows) -> Floats:
        """Return 1 and the part of the queue."""
        levels, preferred = question.world.cpu_levels, architecture_of(question).preferred_level
        return question.columns.unit_numbers_of(
            ("level", preferred), lambda unit: level_factor(levels.get(unit.name, {}), preferred)
        )[rows]

    def details(self, question: Question, row: int) -> Details:
        """Return the factor and the level."""
        if not self.applies(question):
            return {}
        rows = np.array([row], dtype=np.intp)
        return {"prefW": float(self.factor(question, rows)[0]), "level": architecture_of(question).preferred_level}
