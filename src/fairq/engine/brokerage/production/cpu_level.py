"""The weight of preferred CPU levels (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Hashable

from fairq.engine.brokerage.checks.software import architecture_of
from fairq.engine.brokerage.flow.plugin import Details, KeyedWeight
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.model import Queue
from fairq.engine.brokerage.software.judging import AUTO_RELEASES, level_factor


class PreferredLevel(KeyedWeight):
    """Queues get more weight, the more of their machines have the CPU level that the task prefers."""

    name = "cpu level"
    activities = frozenset({PRODUCTION})
    reads = ("task.trans_home", "task.architecture")

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to tasks that prefer a CPU level."""
        return request.task.trans_home is not None and architecture_of(request).preferred_level is not None

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the level."""
        return architecture_of(request).preferred_level

    def factors(self, request: BrokerageRequest) -> Floats:
        """Return 1 plus the fraction of the queue with that level."""
        levels, preferred = request.world.cpu_levels, architecture_of(request).preferred_level
        published = request.world.software

        def factor_of(unit: Queue) -> float:
            # Only of queues that are judged by what they publish.
            judged = unit.releases == AUTO_RELEASES and unit.name in published
            return level_factor(levels.get(unit.name, {}), preferred) if judged else 1.0

        return request.columns.unit_numbers_of(("level", preferred), factor_of)

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the factor and the level."""
        if not self.applies(request):
            return {}
        return {"prefW": float(self.factors(request)[row]), "level": architecture_of(request).preferred_level}
