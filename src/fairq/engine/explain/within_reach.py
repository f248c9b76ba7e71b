"""What a change brings, told by the slots within reach: in a pool in use they are few, and a cycle on them is short.

It is told only where no other slot can be matched, and where these cannot move a limit either (`rows_within_reach`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.accounting.removal import removable
from fairq.engine.explain.diagnosis import CycleInput, Outcome
from fairq.engine.negotiation.goal import Goal
from fairq.records import JobRange


def rows_within_reach(held: Outcome) -> NDArray[np.intp] | None:
    """Return the slots that the cycle *held* could hand out, by row; None if others may matter to its matches.

    Others matter if they can be taken from their users, if slots are divided, if they move quotas of groups or what is
    dealt last, if settings choose which slots count, or if jobs see the users of other slots.
    """
    reach, policy = held.cycle.candidates.reach, held.given.policy
    others_matter = (
        held.cycle.candidates.divides
        or policy.quotas is not None
        or policy.last_dealing
        or held.cycle.sees_siblings
        or policy.pool_size is not None
        or policy.slot_constraint is not None
    )
    return None if reach is None or others_matter else reach.rows


def freed(held: Outcome, keys: Iterable[SlotKey], key: SlotKey) -> Accountant | None:
    """Return the accounts at the start of a cycle like *held*, but with the slot *key* free; None if they are not told.

    They are exact for the slots *keys*, which are all that the cycle looks at. They are told where the charges were as
    the slots stood, and where weights are whole numbers: their sums are the same in any order.
    """
    given, records = held.given, held.settled
    charges = given.accountant.charges
    if records is None or not all(weight.is_integer() for weight in {of.slot_weight for of in charges.kinds()}):
        return None
    charged = {each: charges[each] for each in keys if each in charges}
    former = given.accountant
    accountant = Accountant(map(replace, records), former.policy, former.last_update, charged, former.decayed_until)
    accountant.remove_match(key, given.now)
    for name in removable(accountant.records.values(), accountant.policy):
        accountant.forget(name)
    return accountant


def is_matched(held: Outcome, given: CycleInput, weight: tuple[int, float], job: JobRange) -> bool | None:
    """Tell whether a cycle on the slots within reach (*given*) matches the first job of a range.

    *weight* is the row of the freed slot, with its weight in the cycle *held* on the whole pool. None: the slot has
    another weight once it is free, is to be divided, or jobs have concurrency limits.
    """
    goal = Goal(job.schedd, job.cluster, job.first_proc, or_none_left=True, or_missed=job)
    cycle = given.cycle(goal, held.cycle.whole)
    row, before = weight
    if cycle.candidates.divides or cycle.cost[row] != before:
        return None
    matches = cycle.run().matches
    if any("concurrencylimits" in kind for kind in cycle.whole.autoclusters.kinds):
        return None
    wanted = (job.schedd, job.cluster, job.first_proc)
    return any((match.schedd, match.cluster, match.proc) == wanted for match in matches)
