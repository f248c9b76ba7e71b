"""Results shared by all jobs to which the machines give the same Rank.

Machines that prefer the jobs of their owners ask for the owner of every job, so that its results could be no other
owner's. What they answer is mostly the same for all jobs but a few.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np

from fairq.engine.classad import AdColumns, Expression, evaluate_in_columns, parse
from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, INTEGER, REAL, UNDEFINED_KIND
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.references import Attribute, closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.classad.values import EXACT
from fairq.engine.negotiation.expression_cache import LiveAttributes, RequestContext
from fairq.expression_form import may_read

Result = TypeVar("Result")

_RANK = parse("MY.Rank")
_OF_SLOTS: Attribute = (Side.COLUMNS, "rank")
_KINDS = (UNDEFINED_KIND, ERROR_KIND, BOOLEAN, INTEGER, REAL)


class _RankUnread(UnknownAd):
    """Any single ad, and the slots without what their Rank reads."""

    def nodes(self, side: Side, name: str) -> list[Node | None]:
        """Return the trees of the expressions that the attribute *name* may have on *side*."""
        return [] if (side, name) == _OF_SLOTS else super().nodes(side, name)


class MachineRanks:
    """The Rank that every slot gives a job, as a key; that of the last job is at hand.

    *changing* are attributes of the slots that change within the cycle.
    """

    def __init__(self, slots: AdColumns, changing: LiveAttributes | None) -> None:
        self.slots = slots
        self._last: tuple[RequestContext, Hashable] | None = None
        found = closure([(Side.COLUMNS, node) for node in slots.nodes("rank")], UnknownAd((), slots))
        leads_back = any(end == _OF_SLOTS for ends in found.edges.values() for end, _ in ends)
        stays = changing is None or found.names(Side.COLUMNS).isdisjoint(changing.live)
        self.read_jobs = stays and bool(found.names(Side.AD)) and not (found.everything or found.draws or leads_back)
        """Whether they depend on the job, and can be told before what else they are used for."""

    def key(self, context: RequestContext) -> Hashable:
        """A key that is equal only for equal Ranks of all slots; None if they cannot be compared."""
        if self._last is None or self._last[0] is not context:
            self._last = context, self._find(context)
        return self._last[1]

    def _find(self, context: RequestContext) -> Hashable:
        values = evaluate_in_columns(_RANK, self.slots, context.ad())
        kind, numbers = values.kind, values.numbers
        if not np.isin(kind, _KINDS).all() or (np.abs(numbers) >= EXACT).any():
            return None
        return kind.tobytes(), numbers.tobytes()


class SharedByRank(Generic[Result]):
    """Results that depend on a job by the Ranks of the machines, and by some of its attributes.

    Args:
        ranks: the Rank of every slot.
        of_slots: the expressions evaluated on the slots' side, with the job as the other ad.
        of_job: names of the job's own attributes that are evaluated.
        changing: attributes of the slots that change.
    """

    def __init__(
        self,
        ranks: MachineRanks,
        of_slots: Sequence[Expression],
        of_job: Sequence[str],
        changing: LiveAttributes | None,
    ) -> None:
        self._ranks = ranks
        self._works = ranks.read_jobs
        self._names: list[str] = []
        self._known: dict[Hashable, Result] = {}
        if ranks.read_jobs:
            found = closure([(Side.COLUMNS, of.node) for of in of_slots], _RankUnread((), ranks.slots))
            self._names = sorted({*found.names(Side.AD), *of_job})
            reads_changing = changing is not None and not found.names(Side.COLUMNS).isdisjoint(changing.live)
            self._works = not (found.everything or found.draws or reads_changing)

    def get(self, context: RequestContext, make: Callable[[RequestContext], Result]) -> Result:
        """Return what *make* returns for *context*, made at most once for the same Ranks."""
        if not self._works:
            return make(context)
        job = context.ad()
        if any(may_read(job.get(name)) for name in self._names):
            return make(context)
        budget = self._ranks.slots.budget
        before = 0 if budget is None else budget.cut_short
        ranks = self._ranks.key(context)
        key = ranks, tuple([repr(job[name]) if name in job else None for name in self._names])
        found = self._known.get(key) if ranks is not None else None
        if found is None:
            found = make(context)
            if ranks is not None and (budget is None or budget.cut_short == before):
                self._known[key] = found
        return found
