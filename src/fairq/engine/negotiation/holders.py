"""The users of slots at the start of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.expression_cache import LiveAttributes
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.slots import holders_of, running_on
from fairq.engine.slot_names import SlotNames

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups


class Holders(Struct, frozen=True):
    """The holders of slots that a match would preempt.

    Args:
        held: per slot, whether a match would preempt its holder.
        names: per slot, its holder; None if there is none.
        running: the same; for a slot that is being preempted, the submitter of the job that it still runs.
        priorities: per slot, the holder's effective priority at the cycle's start.
        changing: attributes of the slots' ads about holders that change within the cycle; None if no slot has a holder.
        groups: per slot, the place of its holder's group in the tree; None: no hard cap reads it.
    """

    held: NDArray[np.bool_]
    names: SlotNames
    running: Sequence[str | None]
    priorities: NDArray[np.float64]
    changing: LiveAttributes | None = None
    groups: NDArray[np.int32] | None = None


def find_holders(
    slots: AdColumns, policy: NegotiationPolicy, accountant: Accountant, groups: Groups | None, sees_siblings: bool
) -> Holders:
    """Find who holds the slots at the start of a cycle, with what expressions read of them.

    *sees_siblings*: some expression reads who holds another slot of a machine.
    """
    names = holders_of(slots) if policy.consider_preemption else SlotNames.nobody(len(slots))
    held = names.codes >= 0
    if not held.any():
        return Holders(held, names, names, np.full(len(held), np.nan))
    from fairq.engine.negotiation.remote_attributes import RemoteAttributes

    remote = RemoteAttributes(slots, names, accountant, groups, policy, sees_siblings)
    known = {name: accountant.effective_priority(name) for name in remote.known}
    priorities = np.array([*(known[name] for name in names.distinct), np.nan])[names.codes]
    numbers = None if groups is None else groups.numbers_of(names)
    return Holders(held, names, running_on(slots, names), priorities, remote, numbers)
