"""The accountant: the use of each submitter and group, and the priority that follows from it.

The algorithm is HTCondor's up to 25.9 (``UpdatePriorities``, ``AddMatch``, ``RemoveMatch``,
``CheckMatches``); that of 25.10 and later leaves usage behind when matches end and is not followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairq.common.past import Charge
from fairq.common.records import AccountingRecord
from fairq.engine.accounting.charges import START, Charges, SingleCharges, SlotCharge, SlotKey
from fairq.engine.accounting.factors import MINIMUM_FACTOR, AccountingPolicy, resolve_factor
from fairq.engine.accounting.identity import (
    assigned_group,
    group_and_ancestors,
    is_group_name,
)
from fairq.engine.accounting.priority import (
    LOGGED_DECIMALS,
    charge,
    correct_priority,
    correct_usage,
    decay,
    effective_priority,
)
from fairq.engine.sums import added, summed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Chain(NamedTuple):
    """The records that a match of one submitter touches."""

    member: AccountingRecord
    group: AccountingRecord | None
    subtree: tuple[AccountingRecord, ...]


class Accountant:
    """The accounting records of a pool and the slots charged to them, changed in place.

    *records* maps names of submitters and groups to their records, *charges* maps slot keys to charges; callers may
    read both. *last_update* is the time up to which everybody is charged, 0 before the first update. *decayed_until*
    is the time up to which priorities have decayed; it is later only after the clock was set back. *booked* collects
    the charges for the ledger while *keeps_books* is set.
    """

    def __init__(
        self,
        records: Iterable[AccountingRecord],
        policy: AccountingPolicy,
        last_update: int = 0,
        charges: Mapping[SlotKey, SlotCharge] | None = None,
        decayed_until: int = 0,
    ) -> None:
        """Take over *records* and *charges*.

        The counters in the records are trusted, unless somebody is charged for a slot without having a
        record (it was deleted by force): then all are counted again.
        """
        self.records = {record.name: record for record in records}
        self.policy = policy
        self.last_update = last_update
        self.decayed_until = max(last_update, decayed_until) if policy.exact_usage else last_update
        self.charges: Charges = charges if isinstance(charges, Charges) else SingleCharges(charges or {})
        self.booked: list[Charge] = []
        self.keeps_books = True
        self._chains: dict[str, _Chain] = {}
        if not {held.submitter for held in self.charges.kinds()} <= self.records.keys():
            self.recount()

    def record(self, name: str) -> AccountingRecord:
        """Return the record of *name*; create it with the values of a new submitter if it is missing."""
        record = self.records.get(name)
        if record is None:
            record = AccountingRecord(name, is_group=is_group_name(name))
            self.records[name] = record
        return record

    def forget(self, name: str) -> None:
        """Delete the record of *name*; when next needed, it is created again with the values of a new submitter."""
        self.records.pop(name, None)
        self._chains.clear()

    def group_of(self, name: str) -> str:
        """Return the accounting group that *name* is assigned to, ``<none>`` if none."""
        return assigned_group(name, self.policy.group_names)

    def priority_factor(self, name: str) -> float:
        """Return the factor of *name*; one that was never stored (or is below 1) is resolved and stored."""
        record = self.record(name)
        factor = record.priority_factor
        if factor is None or factor < MINIMUM_FACTOR:
            factor = record.priority_factor = resolve_factor(name, self.policy)
        return factor

    def effective_priority(self, name: str) -> float:
        """Return the effective priority of *name*: real priority times factor. Lower is better."""
        return effective_priority(self.record(name), self.priority_factor(name))

    def weighted_used(self, name: str) -> float:
        """Return the summed slot weight of the slots that *name* has in use."""
        record = self.records.get(name)
        return 0.0 if record is None else record.weighted_resources_used

    def update(self, now: int) -> None:
        """Charge everybody for the time since the last update and let priorities decay.

        The first update of a new state only sets the time to count from. (HTCondor counts from 1970, which decays
        every priority set before to its best value and charges decades to whoever holds a slot.)

        If the clock went back, nobody is charged, pending corrections are dropped, and time counts from *now* on.
        Where usage is exact, the slots held now are refunded the time that will be charged again, and priorities
        stay until the clock passes `decayed_until`, so that no time decays them twice. When the clock is right
        again, nobody is charged for the time before a match.
        """
        if now == self.last_update:
            return
        exact = self.policy.exact_usage
        if self.last_update == 0 or now < self.last_update:
            for record in self.records.values():
                record.uncharged_time = record.weighted_uncharged_time = 0.0
            if exact and self.last_update:
                self._refund_later_time(now)
            self.last_update = now
        else:
            if exact:
                self._exclude_time_before_matches(now)
            if self.last_update < self.decayed_until:
                self._charge_until(min(now, self.decayed_until), 1.0)
            if self.last_update < now:
                self._charge_until(now, decay(now - self.last_update, self.policy.priority_halflife))
        self.decayed_until = max(now, self.decayed_until) if exact else now

    def _charge_until(self, now: int, remaining: float) -> None:
        """Charge everybody up to *now*; *remaining* is the fraction of a priority that `decay` leaves."""
        for record in self.records.values():
            used, weighted = charge(record, now - self.last_update, remaining, now)
            if (used or weighted) and self.keeps_books:
                self.booked.append(Charge(record.name, self.last_update, now, used, weighted))
        self.last_update = now

    def update_as_logged(self, now: int) -> None:
        """Charge everybody as `update` does, and round priorities to six decimals, as in HTCondor's log.

        Equal records then stay equal to the last digit that the negotiator compares.
        """
        self.update(now)
        for record in self.records.values():
            record.priority = round(record.priority, LOGGED_DECIMALS)

    def forget_shares(self) -> None:
        """Reset share and limit, which are those of the last cycle."""
        for record in self.records.values():
            record.submitter_share = record.submitter_limit = 0.0

    def recount(self) -> None:
        """Count the charged slots again in all records."""
        for record in self.records.values():
            record.resources_used = 0
            record.weighted_resources_used = record.hier_weighted_resources_used = 0.0
        self._count_all(self.charges.used())

    def check_matches(
        self,
        keys: Sequence[SlotKey],
        users: Sequence[str | None],
        weights: Sequence[float] | NDArray[np.float64],
        now: int,
    ) -> None:
        """Adapt the charges to the claims in the pool, once per cycle, after `update`.

        A charged slot that is gone or not claimed by its submitter is released; every claimed slot is charged to its
        user.

        Args:
            keys: the slots of the pool.
            users: per slot, who has it claimed (also while being preempted), None if nobody.
            weights: per slot, its weight.
            now: the time, in seconds since 1970.
        """
        self._catch_up(now)
        rows, gone = self.charges.compare(keys, users)
        for slot in gone:
            self.remove_match(slot, now)
        new: list[tuple[str, float]] = []
        for row in rows:
            submitter, weight = users[row], float(weights[row])
            if submitter is not None:
                self.charges[keys[row]] = SlotCharge(submitter, weight, now)
                new.append((submitter, weight))
        self._count_all(summed(Counter(new), new), early=now - self.last_update)
        if self.policy.exact_usage:
            for submitter in {submitter for submitter, _ in new}:
                self._record_use_time(self._chain(submitter), now)
        if self.policy.count_preempted:
            self.recount()

    def add_match(self, submitter: str, slot: SlotKey, weight: float, now: int) -> None:
        """Charge *slot*, of *weight*, to *submitter* from *now* on; its former user is released first.

        Nothing changes if it is already charged to this submitter.
        """
        held = self.charges.get(slot)
        if held is not None:
            if held.submitter == submitter:
                return
            self.remove_match(slot, now)
        if now > self.last_update:
            self._catch_up(now)
        self.charges[slot] = SlotCharge(submitter, weight, now)
        chain = self._chain(submitter)
        self._count(chain, 1, weight)
        early = now - self.last_update
        if early > 0:
            self._exclude_early_time(chain, early, 1, weight)
        if self.policy.exact_usage:
            if early < 0:
                self._settle(chain, -early, 1, weight)
            self._record_use_time(chain, now)

    def add_matches(self, submitter: str, slots: Sequence[SlotKey], weight: float) -> None:
        """Charge *slots*, of *weight* each, to *submitter* from the last update on, as `add_match` does one by one."""
        now = self.last_update
        if self.charges.any_of(slots):
            for slot in slots:
                self.add_match(submitter, slot, weight, now)
            return
        self.charges.add(slots, SlotCharge(submitter, weight, now))
        chain = self._chain(submitter)
        for record in (chain.member, chain.group):
            if record is not None:
                record.resources_used += len(slots)
                record.weighted_resources_used = added(record.weighted_resources_used, weight, len(slots))
        for above in chain.subtree:
            above.hier_weighted_resources_used = added(above.hier_weighted_resources_used, weight, len(slots))
        if self.policy.exact_usage:
            self._record_use_time(chain, now)

    def preempt(self, submitter: str, slot: SlotKey, weight: float, now: int) -> None:
        """Charge *slot* to *submitter*, who preempts its user (perhaps another job of its own).

        If the policy counts preempted use, the slot also counts for its former user until `check_matches` runs.
        """
        self.evict(slot, now)
        self.add_match(submitter, slot, weight, now)

    def evict(self, slot: SlotKey, now: int) -> None:
        """Release *slot* from its preempted user at *now*.

        If the policy counts preempted use, the slot counts for this user until `check_matches` runs.
        """
        if self.policy.count_preempted:
            self.charges.pop(slot, None)
        else:
            self.remove_match(slot, now)

    def remove_match(self, slot: SlotKey, now: int) -> None:
        """Release *slot* at *now*; its user is still charged for the time since the last update.

        If the last update was later than *now* and usage is exact, the excess is refunded.
        """
        if slot in self.charges:
            self._catch_up(now)
        held = self.charges.pop(slot, None)
        if held is None:
            return
        weight = held.slot_weight
        chain = self._chain(held.submitter)
        member, group, subtree = chain
        _release(member, weight)
        if group is not None:
            _release(group, weight)
        for above in subtree:
            above.hier_weighted_resources_used = max(0.0, above.hier_weighted_resources_used - weight)
        # Count from the last update even if the match is later: the time before the match is excluded already.
        # (HTCondor counts from the match, which excludes it twice; there matches and updates coincide.)
        late = now - self.last_update
        if late > 0 and self.last_update > 0:
            self._correct(chain, late, 1, weight)
        elif late < 0 and self.policy.exact_usage:
            self._settle(chain, self.last_update - max(now, held.start_time), -1, weight)
            for record in (member, group):
                if record is not None and not record.resources_used:
                    record.last_usage_time = min(record.last_usage_time, max(now, held.start_time))

    def _catch_up(self, now: int) -> None:
        """If usage is exact, charge everybody up to *now* before anything changes."""
        if self.policy.exact_usage and 0 < self.last_update < now:
            self.update(now)

    def _refund_later_time(self, now: int) -> None:
        """Refund what was charged for the slots held for the time after *now*."""
        for held in self.charges.each():
            chain = self._chain(held.submitter)
            self._settle_usage(chain, self.last_update - max(now, held.start_time), -1, held.slot_weight)

    def _exclude_time_before_matches(self, now: int) -> None:
        """Exclude the time before each match from the next update: the clock was back, and is right again.

        A match that begins after *now* was made by a clock that was ahead; it is charged like the others.
        """
        if max(map(START, self.charges.kinds()), default=0) <= self.last_update:
            return
        for held in self.charges.each():
            if self.last_update < held.start_time <= now:
                chain = self._chain(held.submitter)
                self._correct(chain, self.last_update - held.start_time, 1, held.slot_weight)

    def _settle(self, chain: _Chain, seconds: int, sign: int, weight: float) -> None:
        """Charge (*sign* 1) or refund (-1) a slot of *weight* for the last *seconds* before the last update."""
        if seconds <= 0:
            return
        self._settle_usage(chain, seconds, sign, weight)
        for record in {record.name: record for record in (chain.member, *chain.subtree)}.values():
            correct_priority(record, seconds, sign * weight, self.policy.priority_halflife)

    def _settle_usage(self, chain: _Chain, seconds: int, sign: int, weight: float) -> None:
        """Charge or refund as `_settle`, but only usage, not priority."""
        if seconds <= 0:  # the match began after the last update
            return
        for record in (chain.member, chain.group):
            if record is not None:
                changed = correct_usage(record, seconds, sign, sign * weight)
                if self.keeps_books:
                    self.booked.append(Charge(record.name, self.last_update - seconds, self.last_update, *changed))

    @staticmethod
    def _record_use_time(chain: _Chain, now: int) -> None:
        """Set the times of first and last use to *now*, as far as they are not set or earlier."""
        for record in (chain.member, chain.group):
            if record is not None:
                record.begin_usage_time = record.begin_usage_time or now
                if now > record.last_usage_time:  # noqa: PLR1730 - for every match, and max costs more
                    record.last_usage_time = now

    def _chain(self, submitter: str) -> _Chain:
        known = self._chains.get(submitter)
        if known is not None:
            return known
        group = self.group_of(submitter)
        subtree = tuple(self.record(name) for name in group_and_ancestors(group))
        # A job charged to the bare name of a group counts once, not as member and as group.
        charged_group = None if group == submitter else subtree[0]
        chain = self._chains[submitter] = _Chain(self.record(submitter), charged_group, subtree)
        return chain

    def _count_all(self, used: Mapping[str, tuple[int, float]], early: int = 0) -> None:
        """Count slots and their weights for each submitter; they were matched *early* seconds after the last update."""
        for submitter, (slots, weight) in used.items():
            chain = self._chain(submitter)
            self._count(chain, slots, weight)
            self._exclude_early_time(chain, early, slots, weight)

    def _exclude_early_time(self, chain: _Chain, early: int, slots: int, weight: float) -> None:
        """Exclude the *early* seconds from the next update, which charges all time since the last one."""
        if early > 0 and self.last_update > 0:
            self._correct(chain, -early, slots, weight)

    @staticmethod
    def _count(chain: _Chain, slots: int, weight: float) -> None:
        member, group, subtree = chain
        member.resources_used += slots
        member.weighted_resources_used += weight
        if group is not None:
            group.resources_used += slots
            group.weighted_resources_used += weight
        for above in subtree:
            above.hier_weighted_resources_used += weight

    @staticmethod
    def _correct(chain: _Chain, seconds: int, slots: int, weight: float) -> None:
        for record in (chain.member, chain.group):
            if record is not None:
                record.uncharged_time += seconds * slots
                record.weighted_uncharged_time += seconds * weight


def _release(record: AccountingRecord, weight: float) -> None:
    record.resources_used = max(0, record.resources_used - 1)
    weight_in_use = record.weighted_resources_used - weight
    # The last slot also removes the rounding error that sums of fractions leave.
    record.weighted_resources_used = max(0.0, weight_in_use) if record.resources_used else 0.0
