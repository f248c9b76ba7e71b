"""The filter by software and hardware, and the weight of preferred CPU levels (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairq.engine.brokerage.checks.software import SoftwareCheck, architecture_of, platform_of_unit
from fairq.engine.brokerage.flow.plugin import Details, PlainWeight, Rows
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.model import Queue
from fairq.engine.brokerage.software.architecture import Architecture
from fairq.engine.brokerage.software.check import AUTO_RELEASES, Needs, level_factor
from fairq.engine.brokerage.software.needs import production_needs
from fairq.engine.brokerage.software.platforms import may_resolve

_PRODUCTION = frozenset({PRODUCTION})


class Software(SoftwareCheck):
    """The queue must have the release and the hardware."""

    name = "software"
    activities = _PRODUCTION

    def applies(self, question: Question) -> bool:
        """Look at every task; by PanDA's code at those that name a release."""
        return question.task.trans_home is not None or question.rules.software_without_release

    def needs(self, question: Question, asked: Architecture) -> Sequence[Needs]:
        """Return what a production task needs."""
        needs = production_needs(question.task, asked, without_release=question.rules.software_without_release)
        return () if needs is None else (needs,)

    def suits_any_release(self, needs: Sequence[Needs], asked: Architecture) -> bool:
        """Return whether ANY is enough: not for containers that a tag must name."""
        tagged = any(one.container and one.only_tags for one in needs)
        return super().suits_any_release(needs, asked) and not tagged


def platform_at(question: Question, row: int) -> str | None:
    """Return what the task's platform comes out as at a queue; None: nothing was to be resolved."""
    if question.task.trans_home is None or not question.task.architecture:
        return None
    asked = architecture_of(question)
    if not may_resolve(asked.sw_platform):
        return None
    return platform_of_unit(question, int(question.columns.unit_of[row]), asked)


class PreferredLevel(PlainWeight):
    """Queues count more by how much of them has the CPU level that the task prefers."""

    name = "cpu level"
    activities = _PRODUCTION

    def applies(self, question: Question) -> bool:
        """Count for tasks that prefer one."""
        return question.task.trans_home is not None and architecture_of(question).preferred_level is not None

    def factor(self, question: Question, rows: Rows) -> Floats:
        """Return 1 and the part of the queue."""
        levels, preferred = question.world.cpu_levels, architecture_of(question).preferred_level
        published = question.world.software

        def factor_of(unit: Queue) -> float:
            # Only of queues that are judged by what they publish.
            judged = unit.releases == AUTO_RELEASES and unit.name in published
            return level_factor(levels.get(unit.name, {}), preferred) if judged else 1.0

        return question.columns.unit_numbers_of(("level", preferred), factor_of)[rows]

    def details(self, question: Question, row: int) -> Details:
        """Return the factor and the level."""
        if not self.applies(question):
            return {}
        rows = np.array([row], dtype=np.intp)
        return {"prefW": float(self.factor(question, rows)[0]), "level": architecture_of(question).preferred_level}
