"""What today's negotiator knows of claimed slots without preemption (matchmaker.cpp, obtainAdsFromCollector).

It asks the collector for a few of their attributes, and the collector adds those that these read.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.classad import EVERY_ATTRIBUTE, AdColumns, Expression, columns_read, evaluate_in_columns, parse
from fairq.engine.classad.column import ABSENT
from fairq.engine.negotiation.policy import NegotiationPolicy

_CLAIMED = parse('State == "Claimed" && PartitionableSlot =!= true')
_FETCHED = frozenset(
    {"name", "mytype", "state", "activity", "startdipaddr", "accountinggroup", "owner", "remoteuser"}
    | {"requirements", "slotweight", "concurrencylimits"}
)
_READING = (parse("MY.Requirements"), parse("MY.SlotWeight"))


def as_fetched(slots: AdColumns, policy: NegotiationPolicy, expression: Expression) -> AdColumns:
    """The slots' ads, with of claimed slots only what is known of them, as far as *expression* reads it."""
    if policy.rules != "htcondor" or policy.consider_preemption:
        return slots
    claimed = evaluate_in_columns(_CLAIMED, slots, {}).is_true()
    unknown = columns_read([expression], "target", slots) - _FETCHED if claimed.any() else frozenset()
    if not unknown or EVERY_ATTRIBUTE in unknown:
        return slots
    unknown -= columns_read(_READING, "target", slots)
    if not unknown:
        return slots
    known = slots.of_rows(np.arange(len(slots)))
    for name in sorted(unknown & slots.names()):
        values = [ABSENT if hidden else slots.json_value(row, name) for row, hidden in enumerate(claimed.tolist())]
        known.with_column(name, [None if value is ABSENT else value for value in values])
    return known
