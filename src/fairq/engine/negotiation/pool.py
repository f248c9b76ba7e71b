"""The slots at the start of a cycle: who takes part, weights, holders, candidates, tie order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.names import natural_key
from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    columns_read,
    evaluate_in_columns,
    parse,
)
from fairq.engine.classad.column import ABSENT
from fairq.engine.classad.kinds import INTEGER, REAL, UNDEFINED_KIND
from fairq.engine.dominance import Dominance
from fairq.engine.negotiation.pieces import Carved
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.slot_names import SlotNames


class ReservedSlots(Struct, frozen=True):
    """Slots (*rows*) that only some submitters may use; *admits* tells whether a submitter, by name, is one.

    It lasts from *begin* to *end*, in seconds since 1970 (None: without end).
    """

    rows: Sequence[int]
    admits: Callable[[str], bool]
    begin: int
    end: int | None = None

    def lasts(self, now: int) -> bool:
        """Return whether it has begun and has not ended."""
        return self.begin <= now and (self.end is None or now < self.end)


class PoolSlots(Struct, frozen=True):
    """All slots of the pool, in the order the negotiator lists them.

    Args:
        names: one per slot, as advertised.
        keys: one per slot, the accountant's key of its use.
        ads: the slots' ads as columns, with the claims that fairq has made.
        draining: indices of slots that get no more jobs.
        carved: the dynamic slots that fairq made itself, by index.
        reserved: slots that are in the pie of some submitters only now; their Requirements keep others out.
    """

    names: Sequence[str]
    keys: Sequence[int]
    ads: AdColumns
    draining: frozenset[int] = frozenset()
    carved: Mapping[int, Carved] = field(default_factory=dict)
    reserved: Sequence[ReservedSlots] = ()


_UNUSABLE = parse(
    'State == "Drained" || (Draining =?= true && State =!= "Claimed" && State =!= "Preempting")'
    " || Offline =?= true || Absent =?= true"
)

_SHUTDOWN = ("DaemonShutdown", "DaemonShutdownFast")


def slots_taking_part(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots for which NEGOTIATOR_SLOT_CONSTRAINT is true; all slots without a constraint.

    Other slots are not in the pie and not candidates; `slots_seen` says whether their use counts.
    """
    if policy.slot_constraint is None:
        return np.ones(len(slots), np.bool_)
    return evaluate_in_columns(policy.slot_constraint, slots, {}).is_true()


def slots_usable(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots that are part of the pool: not drained, draining without a job, offline or absent.

    Others have no part in the pie or in quotas, and are not candidates (manual: the total available size of the pool;
    *count_unusable_slots*).
    """
    return np.ones(len(slots), np.bool_) if policy.count_unusable_slots else ~unusable(slots)


def unusable(slots: AdColumns) -> NDArray[np.bool_]:
    """The slots that are drained, draining without a job, offline or absent."""
    return evaluate_in_columns(_UNUSABLE, slots, {}).is_true()


def slots_seen(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots on which use is counted: all, or only those that take part.

    Today's negotiator does not fetch the others, so that their use is not charged (docs/htcondor.md 3.1).
    """
    return np.ones(len(slots), np.bool_) if policy.count_slots_outside else slots_taking_part(slots, policy)


def slots_shutting_down(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots whose machine will shut down within NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD seconds.

    That is, DaemonShutdown or DaemonShutdownFast will be true by then; none without a time or with 0.
    """
    ending = np.zeros(len(slots), np.bool_)
    told = [attribute for attribute in _SHUTDOWN if attribute.lower() in slots.names()]
    seconds = None
    if told and policy.shutdown_threshold is not None:
        from fairq.engine.classad import evaluate_scalar

        seconds = evaluate_scalar(policy.shutdown_threshold, {}, now=slots.now, budget=slots.budget)
    if slots.now is None or not isinstance(seconds, int | float) or not seconds > 0:
        return ending
    later = slots.at(slots.now + int(seconds))
    for attribute in told:
        ending |= evaluate_in_columns(attribute, later, {}).is_true()
    return ending


_IN_USE = parse('State == "Claimed" || State == "Preempting"')

_RETIRING = parse("RetirementTimeRemaining > 0")

_SUSPENDED = parse('Activity == "Suspended"')

_CLAIMED_IDLE = parse('State == "Claimed" && Activity == "Idle"')

_WANTS_NONE = parse("WantMatching =?= false")

HOLDER_NAMES = ("PreemptingAccountingGroup", "PreemptingUser", "AccountingGroup", "RemoteUser")
"""Attributes with the submitter that a match would preempt; the first existing one counts."""

_USER_NAMES = ("AccountingGroup", "RemoteUser")

HEAVIEST = 1e100
"""Maximum valid weight, so that sums remain finite."""


def slot_weights(
    slots: AdColumns, policy: NegotiationPolicy, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """The weight of every slot, or of *rows* (Accountant.cpp, GetSlotWeight; matchmaker.cpp, obtainAdsFromCollector).

    Its own SlotWeight, or if that is not a number the pool's SLOT_WEIGHT; 1 if that is negative, not a number or too
    large, and always if slot weights are off. Dominant weights are those of all that a slot has.
    """
    size = len(slots) if rows is None else len(rows)
    if not policy.use_slot_weights:
        return np.ones(size)
    if policy.dominant is not None:
        weights: NDArray[np.float64] = dominance(slots, policy).weights(slots, rows).max(axis=0)
        return weights

    def of_pool() -> NDArray[np.float64]:
        known = as_fetched(slots, policy, policy.slot_weight) if rows is None else slots
        return evaluate_in_columns(policy.slot_weight, known, {}, rows).as_rank(np.nan)

    if policy.force_slot_weight:
        return weights_by(None, of_pool)
    return weights_by(evaluate_in_columns("SlotWeight", slots, {}, rows).as_rank(np.nan), of_pool)


def weights_by(own: NDArray[np.float64] | None, of_pool: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The weights of slots by their *own* SlotWeight (None: it does not count) and SLOT_WEIGHT, which *of_pool* tells.

    Both are NaN where they are not a number.
    """
    weights = of_pool() if own is None else own
    lacking = np.isnan(weights)
    if own is not None and lacking.any():
        weights = np.where(lacking, of_pool(), weights)
    return np.where((weights >= 0) & (weights <= HEAVIEST), weights, 1.0)


def dominance(slots: AdColumns, policy: NegotiationPolicy) -> Dominance:
    """The dominant weights of the policy, in the pool of these *slots* unless it is known."""
    assert policy.dominant is not None
    known = policy.dominant.units
    return policy.dominant if known else policy.dominant.of_pool(slots, _counted(slots, policy))


def with_pool(policy: NegotiationPolicy, slots: AdColumns) -> NegotiationPolicy:
    """The policy in the pool of these *slots*: it knows what their resources weigh."""
    if policy.dominant is None:
        return policy
    known, quotas = dominance(slots, policy), policy.quotas
    if quotas is not None:
        quotas = replace(quotas, demand=replace(quotas.demand, dominant=known))
    return replace(policy, dominant=known, quotas=quotas)


def _counted(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots that count in the size of the pool."""
    counted = slots_taking_part(slots, policy) & slots_usable(slots, policy)
    if policy.pool_size is not None:
        known = as_fetched(slots, policy, policy.pool_size)
        counted = counted & evaluate_in_columns(policy.pool_size, known, {}).is_true()
    return counted


def pie_of(slots: AdColumns, policy: NegotiationPolicy) -> float:
    """The weight of all slots that count."""
    return size_of(pie_rows(slots, slot_weights(slots, policy), policy))


def size_of(rows: NDArray[np.float64]) -> float:
    """The size of the pool by its `pie_rows`; with dominant weights all of any resource weighs as much as all cores."""
    return float(max(map(sum, rows.tolist())))


def pie_rows(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> NDArray[np.float64]:
    """The weight of every slot in the size of the pool: one row, or with dominant weights one for each resource.

    *weights* are those of the slots.
    """
    if policy.dominant is None:
        return weights_in_pie(slots, weights, policy)[None]
    return weights_in_pie(slots, dominance(slots, policy).weights(slots), policy)


def weights_in_pie(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> NDArray[np.float64]:
    """The weight of every slot in the size of the pool; 0 if it does not count, or is not usable.

    A GhostMultiplier multiplies it (matchmaker.cpp, sumSlotWeights).
    """
    weights = np.where(_counted(slots, policy), weights, 0.0)
    if "ghostmultiplier" in slots.names():
        weights = weights * np.maximum(evaluate_in_columns("GhostMultiplier", slots, {}).as_rank(1.0), 1.0)
    return weights


def users_of(slots: AdColumns, policy: NegotiationPolicy) -> SlotNames:
    """The submitter charged for each slot: the user of a slot that is claimed or being preempted, otherwise None.

    There is no charge for suspended jobs if the policy does not count them (Accountant.cpp, IsClaimed), or for slots
    that it does not see.
    """
    in_use = evaluate_in_columns(_IN_USE, slots, {}).is_true() & slots_seen(slots, policy)
    if policy.discount_suspended:
        in_use = in_use & ~evaluate_in_columns(_SUSPENDED, slots, {}).is_true()
    return _names(slots, in_use, _USER_NAMES)


def holders_of(slots: AdColumns) -> SlotNames:
    """The submitter that a match on each slot must outrank: the one waiting to preempt it, otherwise its user."""
    anybody = np.ones(len(slots), np.bool_)
    return _names(slots, anybody, HOLDER_NAMES)


def running_on(slots: AdColumns, holders: SlotNames) -> Sequence[str | None]:
    """The submitter of each slot's running job: its user, otherwise its holder."""
    if not {"preemptinguser", "preemptingaccountinggroup"} & slots.names():
        return holders
    users = _names(slots, np.ones(len(slots), np.bool_), _USER_NAMES)
    return [holder and (user or holder) for user, holder in zip(users, holders, strict=True)]


def show_waiting_ranks(slots: AdColumns) -> None:
    """Set CurrentRank to the rank of a claim that waits to preempt, if there is one.

    A new claim must exceed it (docs/htcondor.md 3.9; matchmaker.cpp, addRemoteUserPrios).
    """
    if "preemptingrank" not in slots.names():
        return
    waiting, current = (evaluate_in_columns(name, slots, {}) for name in ("PreemptingRank", "CurrentRank"))
    waits = np.isin(waiting.kind, (INTEGER, REAL))
    ranks = np.where(waits, waiting.as_rank(0.0), current.as_rank(0.0))
    slots.with_numbers("CurrentRank", ranks, waits | (current.kind != UNDEFINED_KIND))


def show_negotiator_requirements(slots: AdColumns) -> None:
    """Set Requirements to NegotiatorRequirements where an ad has them (matchmaker.cpp, obtainAdsFromCollector)."""
    if "negotiatorrequirements" not in slots.names():
        return
    own, theirs = slots.column("requirements"), slots.column("negotiatorrequirements")
    found = (theirs.json_value(row, slots.pool) for row in range(len(slots)))
    values = [own.json_value(row, slots.pool) if value is ABSENT else value for row, value in enumerate(found)]
    slots.with_column("Requirements", [None if value is ABSENT else value for value in values])


def text_of(slots: AdColumns, attribute: str) -> list[str | None]:
    """The attribute of every slot, None if it is not a text."""
    return list(_names(slots, np.ones(len(slots), np.bool_), [attribute]))


def _names(slots: AdColumns, rows: NDArray[np.bool_], attributes: Sequence[str]) -> SlotNames:
    codes = np.full(len(slots), -1)
    left = rows
    for attribute in attributes:
        found = evaluate_in_columns(attribute, slots, {}).text_codes()
        defined = left & (found >= 0)
        codes[defined] = found[defined]
        left = left & ~defined
    texts = slots.pool.strings.texts
    used = np.zeros(len(texts) + 1, np.bool_)
    used[codes] = True
    used[-1] = False  # nobody's
    numbers = np.where(used, np.cumsum(used) - 1, -1)
    return SlotNames([texts[code] for code in np.flatnonzero(used).tolist()], numbers[codes])


def candidate_slots(pool: PoolSlots, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """The slots that may be matched in this cycle (matchmaker.cpp, trimStartdAds).

    Without preemption, busy slots are excluded except partitionable ones. With preemption, slots whose job has
    retirement time left are excluded unless early preemption is considered. Slots that are unusable, about to shut down
    or excluded by the constraint, and claimed partitionable slots of other owners, are excluded as well.
    """
    slots = pool.ads
    candidates = slots_taking_part(slots, policy) & slots_usable(slots, policy) & ~slots_shutting_down(slots, policy)
    if not policy.consider_preemption:
        in_use = evaluate_in_columns(_IN_USE, slots, {}).is_true()
        candidates &= ~in_use | evaluate_in_columns("PartitionableSlot", slots, {}).is_true()
    elif not policy.consider_early_preemption and "retirementtimeremaining" in slots.names():
        candidates &= ~evaluate_in_columns(_RETIRING, slots, {}).is_true()
    if {"wantmatching", "workingcm"} & slots.names():
        candidates &= ~_not_to_be_matched(slots, policy)
    if not policy.match_claimed_idle:
        candidates &= ~evaluate_in_columns(_CLAIMED_IDLE, slots, {}).is_true()
    candidates[list(pool.draining)] = False
    return candidates


def _not_to_be_matched(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Claimed partitionable slots whose owner accepts no matches, or that another pool's negotiator uses."""
    in_use = evaluate_in_columns(_IN_USE, slots, {}).is_true()
    owned = in_use & evaluate_in_columns("PartitionableSlot", slots, {}).is_true()
    refuses = evaluate_in_columns(_WANTS_NONE, slots, {}).is_true()
    if not policy.match_working_cm_slots:
        refuses = refuses | evaluate_in_columns("WorkingCM", slots, {}).kind != UNDEFINED_KIND
    found: NDArray[np.bool_] = owned & refuses
    return found


def tie_order(names: Sequence[str], policy: NegotiationPolicy) -> NDArray[np.int64]:
    """Each slot's place among slots that rank equally: by name, with numbers compared by value, or as listed."""
    return _places_by_name(tuple(names)) if policy.tie_break == "slot_name" else np.arange(len(names))


@lru_cache(maxsize=1)
def _places_by_name(names: tuple[str, ...]) -> NDArray[np.int64]:
    """The same for consecutive cycles of one pool, as in a simulation: the names are sorted once."""
    size = len(names)
    # The order of numbers of equal length is that of their texts.
    key = names.__getitem__ if _differ_in_digits_alone(names) else lambda row: natural_key(names[row])
    places = np.arange(size)
    places[sorted(range(size), key=key)] = np.arange(size)
    places.flags.writeable = False
    return places


_DIGITS = str.maketrans("123456789", "000000000")


def _differ_in_digits_alone(names: Sequence[str]) -> bool:
    """Whether all names have their digits in the same places and are equal otherwise, as slot1@n0001, slot1@n0002."""
    shapes = "\n".join(names).translate(_DIGITS).split("\n")
    return len(shapes) == len(names) and len(set(shapes)) == 1


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
