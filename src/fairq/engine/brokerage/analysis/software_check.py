"""The filter of analysis by software and hardware (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Sequence

from fairq.engine.brokerage.checks.software import SoftwareCheck, architecture_of, platform_of_unit
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.software.architecture import Architecture
from fairq.engine.brokerage.software.check import Needs
from fairq.engine.brokerage.software.needs import analysis_needs
from fairq.engine.brokerage.software.platforms import may_resolve


class Software(SoftwareCheck):
    """The queue must have the release, container and hardware."""

    name = "analysis software"
    activities = frozenset({ANALYSIS})

    def applies(self, question: Question) -> bool:
        """Leave a queue that the task is given alone under PanDA's rules."""
        return not question.is_spared_alone

    def needs(self, question: Question, asked: Architecture) -> Sequence[Needs]:
        """Return what an analysis task needs."""
        return analysis_needs(question.task, asked)


def platform_at(question: Question, row: int) -> str | None:
    """Return what the task's platform comes out as at a queue; None: nothing was to be resolved."""
    asked = architecture_of(question)
    if question.is_spared_alone or not may_resolve(asked.sw_platform):
        return None
    return platform_of_unit(question, int(question.columns.unit_of[row]), asked)
