"""The slots at the start of a cycle: which take part, their weights, users, holders, and tie order."""

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
    """Slots (*rows*) that only some submitters may use; *admits* returns whether a submitter, by name, may.

    It lasts from *begin* to *end*, in seconds since 1970 (None: without end).
    """

    rows: Sequence[int]
    admits: Callable[[str], bool]
    begin: int
    end: int | None = None

    def lasts(self, now: int) -> bool:
        """Return whether the reservation is in force at *now*."""
        return self.begin <= now and (self.end is None or now < self.end)


class PoolSlots(Struct, frozen=True):
    """All slots of the pool, in the order the negotiator lists them.

    Args:
        names: one per slot, as advertised.
        keys: one per slot, the accountant's key of its use.
        ads: the slots' ads as columns, with the claims that fairq has made.
        draining: indices of slots that get no more jobs.
        carved: the dynamic slots that fairq made itself, by index.
        reserved: slots that are now in the pie of some submitters only; their Requirements exclude all others.
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
    """Return which slots satisfy NEGOTIATOR_SLOT_CONSTRAINT; all slots without a constraint.

    Other slots are neither in the pie nor candidates; `slots_seen` decides whether their use counts.
    """
    if policy.slot_constraint is None:
        return np.ones(len(slots), np.bool_)
    return evaluate_in_columns(policy.slot_constraint, slots, {}).is_true()


def slots_usable(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return which slots are part of the pool: not drained, draining without a job, offline or absent.

    Others have no part in the pie or in quotas, and are not candidates (manual: the total available size of the pool;
    *count_unusable_slots*).
    """
    return np.ones(len(slots), np.bool_) if policy.count_unusable_slots else ~unusable(slots)


def unusable(slots: AdColumns) -> NDArray[np.bool_]:
    """Return which slots are drained, draining without a job, offline or absent."""
    return evaluate_in_columns(_UNUSABLE, slots, {}).is_true()


def slots_seen(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return on which slots use is counted: all, or only those that take part.

    Today's negotiator does not fetch the others, so that their use is not charged (docs/htcondor.md 3.1).
    """
    return np.ones(len(slots), np.bool_) if policy.count_slots_outside else slots_taking_part(slots, policy)


def slots_shutting_down(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return which slots' machines will shut down within NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD seconds.

    That is, DaemonShutdown or DaemonShutdownFast will be true by then; none without a time or with 0.
    """
    is_ending = np.zeros(len(slots), np.bool_)
    attributes = [attribute for attribute in _SHUTDOWN if attribute.lower() in slots.names()]
    seconds = None
    if attributes and policy.shutdown_threshold is not None:
        from fairq.engine.classad import evaluate_scalar

        seconds = evaluate_scalar(policy.shutdown_threshold, {}, now=slots.now, budget=slots.budget)
    if slots.now is None or not isinstance(seconds, int | float) or not seconds > 0:
        return is_ending
    later = slots.at(slots.now + int(seconds))
    for attribute in attributes:
        is_ending |= evaluate_in_columns(attribute, later, {}).is_true()
    return is_ending


_IN_USE = parse('State == "Claimed" || State == "Preempting"')

_DIVIDED = parse('PartitionableSlot && Activity =!= "Busy"')
"""Whether jobs run on the dynamic slots of a partitionable slot; it is busy itself if one job has all of it."""

_RETIRING = parse("RetirementTimeRemaining > 0")

_SUSPENDED = parse('Activity == "Suspended"')

_CLAIMED_IDLE = parse('State == "Claimed" && Activity == "Idle"')

_WANTS_NONE = parse("WantMatching =?= false")

HOLDER_NAMES = ("PreemptingAccountingGroup", "PreemptingUser", "AccountingGroup", "RemoteUser")
"""Attributes with the submitter that a match would preempt; the first existing one counts."""

_USER_NAMES = ("AccountingGroup", "RemoteUser")

MAX_WEIGHT = 1e100
"""Maximum valid weight, so that sums remain finite."""


def slot_weights(
    slots: AdColumns, policy: NegotiationPolicy, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return the weight of every slot, or of *rows*.

    Accountant.cpp, GetSlotWeight; matchmaker.cpp, obtainAdsFromCollector.

    It is the slot's SlotWeight, or the pool's SLOT_WEIGHT if that is not a number; 1 if that is negative, not a number
    or too large, or if slot weights are off. A dominant weight is that of all resources of a slot.
    """
    size = len(slots) if rows is None else len(rows)
    if not policy.use_slot_weights:
        return np.ones(size)
    if policy.dominant is not None:
        weights: NDArray[np.float64] = dominance(slots, policy).weights(slots, rows).max(axis=0)
        return weights

    def pool_weights() -> NDArray[np.float64]:
        ads = as_fetched(slots, policy, policy.slot_weight) if rows is None else slots
        return evaluate_in_columns(policy.slot_weight, ads, {}, rows).as_rank(np.nan)

    if policy.force_slot_weight:
        return weights_by(None, pool_weights)
    return weights_by(evaluate_in_columns("SlotWeight", slots, {}, rows).as_rank(np.nan), pool_weights)


def weights_by(own: NDArray[np.float64] | None, pool_weights: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the weights of slots by their *own* SlotWeight (None: ignore it), else by SLOT_WEIGHT (*pool_weights*).

    Both are NaN if they are not a number.
    """
    weights = pool_weights() if own is None else own
    is_missing = np.isnan(weights)
    if own is not None and is_missing.any():
        weights = np.where(is_missing, pool_weights(), weights)
    return np.where((weights >= 0) & (weights <= MAX_WEIGHT), weights, 1.0)


def dominance(slots: AdColumns, policy: NegotiationPolicy) -> Dominance:
    """Return the policy's dominant weights, in the pool of *slots* unless they are computed already."""
    assert policy.dominant is not None
    units = policy.dominant.units
    return policy.dominant if units else policy.dominant.of_pool(slots, _counted(slots, policy))


def with_pool(policy: NegotiationPolicy, slots: AdColumns) -> NegotiationPolicy:
    """Return the policy with the dominant weights of resources in the pool of *slots*, if it has any."""
    if policy.dominant is None:
        return policy
    dominant, quotas = dominance(slots, policy), policy.quotas
    if quotas is not None:
        quotas = replace(quotas, demand=replace(quotas.demand, dominant=dominant))
    return replace(policy, dominant=dominant, quotas=quotas)


def _counted(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return which slots count in the size of the pool."""
    counted = slots_taking_part(slots, policy) & slots_usable(slots, policy)
    if policy.pool_size is not None:
        ads = as_fetched(slots, policy, policy.pool_size)
        counted = counted & evaluate_in_columns(policy.pool_size, ads, {}).is_true()
    return counted


def pie_of(slots: AdColumns, policy: NegotiationPolicy) -> float:
    """Return the weight of all slots that count."""
    return size_of(pie_rows(slots, slot_weights(slots, policy), policy))


def size_of(rows: NDArray[np.float64]) -> float:
    """Return the size of the pool from its `pie_rows`; dominant: every resource weighs as much as all cores."""
    return float(max(map(sum, rows.tolist())))


def pie_rows(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> NDArray[np.float64]:
    """Return the weight of every slot in the size of the pool: one row, or with dominant weights one for each resource.

    *weights* are those of the slots.
    """
    if policy.dominant is None:
        return weights_in_pie(slots, weights, policy)[None]
    return weights_in_pie(slots, dominance(slots, policy).weights(slots), policy)


def weights_in_pie(slots: AdColumns, weights: NDArray[np.float64], policy: NegotiationPolicy) -> NDArray[np.float64]:
    """Return the weight of every slot in the size of the pool; 0 if it does not count, or is not usable.

    A GhostMultiplier multiplies it (matchmaker.cpp, sumSlotWeights).
    """
    weights = np.where(_counted(slots, policy), weights, 0.0)
    if "ghostmultiplier" in slots.names():
        weights = weights * np.maximum(evaluate_in_columns("GhostMultiplier", slots, {}).as_rank(1.0), 1.0)
    return weights


def users_of(slots: AdColumns, policy: NegotiationPolicy) -> SlotNames:
    """Return the submitter charged for each slot: its user if it is claimed or being preempted, otherwise None.

    Suspended jobs are not charged if the policy says so (Accountant.cpp, IsClaimed), nor are slots outside its view.
    """
    in_use = evaluate_in_columns(_IN_USE, slots, {}).is_true() & slots_seen(slots, policy)
    if policy.discount_suspended:
        in_use = in_use & ~evaluate_in_columns(_SUSPENDED, slots, {}).is_true()
    return _names(slots, in_use, _USER_NAMES)


def holders_of(slots: AdColumns) -> SlotNames:
    """Return the submitter that a match on each slot must outrank: who waits to preempt it, otherwise its user."""
    anybody = np.ones(len(slots), np.bool_)
    return _names(slots, anybody, HOLDER_NAMES)


def running_on(slots: AdColumns, holders: SlotNames) -> Sequence[str | None]:
    """Return the submitter of each slot's running job: its user, otherwise its holder."""
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
    negotiator_values = (theirs.json_value(row, slots.pool) for row in range(len(slots)))
    values = [
        own.json_value(row, slots.pool) if value is ABSENT else value for row, value in enumerate(negotiator_values)
    ]
    slots.with_column("Requirements", [None if value is ABSENT else value for value in values])


def text_of(slots: AdColumns, attribute: str) -> list[str | None]:
    """Return *attribute* of every slot, None if it is not a text."""
    return list(_names(slots, np.ones(len(slots), np.bool_), [attribute]))


def _names(slots: AdColumns, rows: NDArray[np.bool_], attributes: Sequence[str]) -> SlotNames:
    codes = np.full(len(slots), -1)
    undecided = rows
    for attribute in attributes:
        text_codes = evaluate_in_columns(attribute, slots, {}).text_codes()
        defined = undecided & (text_codes >= 0)
        codes[defined] = text_codes[defined]
        undecided = undecided & ~defined
    texts = slots.pool.strings.texts
    used = np.zeros(len(texts) + 1, np.bool_)
    used[codes] = True
    used[-1] = False  # the entry of code -1, nobody
    numbers = np.where(used, np.cumsum(used) - 1, -1)
    return SlotNames([texts[code] for code in np.flatnonzero(used).tolist()], numbers[codes])


def candidate_slots(pool: PoolSlots, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return which slots may be matched in this cycle (matchmaker.cpp, trimStartdAds).

    Without preemption, slots in use are excluded except divided ones. With preemption, slots whose job has
    retirement time left are excluded unless early preemption is considered. Slots that are unusable, about to shut down
    or excluded by the constraint, and claimed partitionable slots of other owners, are excluded as well.
    """
    slots = pool.ads
    candidates = slots_taking_part(slots, policy) & slots_usable(slots, policy) & ~slots_shutting_down(slots, policy)
    if not policy.consider_preemption:
        candidates &= (
            ~evaluate_in_columns(_IN_USE, slots, {}).is_true() | evaluate_in_columns(_DIVIDED, slots, {}).is_true()
        )
    elif not policy.consider_early_preemption and "retirementtimeremaining" in slots.names():
        candidates &= ~evaluate_in_columns(_RETIRING, slots, {}).is_true()
    if {"wantmatching", "workingcm"} & slots.names():
        candidates &= ~_refuses_matches(slots, policy)
    if not policy.match_claimed_idle:
        candidates &= ~evaluate_in_columns(_CLAIMED_IDLE, slots, {}).is_true()
    candidates[list(pool.draining)] = False
    return candidates


def _refuses_matches(slots: AdColumns, policy: NegotiationPolicy) -> NDArray[np.bool_]:
    """Return which claimed partitionable slots accept no matches or are used by another pool's negotiator."""
    in_use = evaluate_in_columns(_IN_USE, slots, {}).is_true()
    owned = in_use & evaluate_in_columns("PartitionableSlot", slots, {}).is_true()
    refuses = evaluate_in_columns(_WANTS_NONE, slots, {}).is_true()
    if not policy.match_working_cm_slots:
        refuses = refuses | evaluate_in_columns("WorkingCM", slots, {}).kind != UNDEFINED_KIND
    excluded: NDArray[np.bool_] = owned & refuses
    return excluded


def tie_order(names: Sequence[str], policy: NegotiationPolicy) -> NDArray[np.int64]:
    """Return each slot's position among slots that rank equally: by name, numbers by value, or as listed."""
    return _positions_by_name(tuple(names)) if policy.tie_break == "slot_name" else np.arange(len(names))


@lru_cache(maxsize=1)
def _positions_by_name(names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return each name's position in natural order; cached for the cycles of a simulation, which share their names."""
    size = len(names)
    # Numbers of equal length are ordered like their texts.
    key = names.__getitem__ if _differ_in_digits_alone(names) else lambda row: natural_key(names[row])
    positions = np.arange(size)
    positions[sorted(range(size), key=key)] = np.arange(size)
    positions.flags.writeable = False
    return positions


_DIGITS = str.maketrans("123456789", "000000000")


def _differ_in_digits_alone(names: Sequence[str]) -> bool:
    """Return whether all names differ only in their digits, as slot1@n0001 and slot1@n0002 do."""
    shapes = "\n".join(names).translate(_DIGITS).split("\n")
    return len(shapes) == len(names) and len(set(shapes)) == 1


_CLAIMED = parse('State == "Claimed" && PartitionableSlot =!= true')

_FETCHED = frozenset(
    {"name", "mytype", "state", "activity", "startdipaddr", "accountinggroup", "owner", "remoteuser"}
    | {"requirements", "slotweight", "concurrencylimits"}
)

_READING = (parse("MY.Requirements"), parse("MY.SlotWeight"))


def as_fetched(slots: AdColumns, policy: NegotiationPolicy, expression: Expression) -> AdColumns:
    """Return the ads as today's negotiator fetches them: claimed slots may lack attributes that *expression* reads."""
    if policy.rules != "htcondor" or policy.consider_preemption:
        return slots
    claimed = evaluate_in_columns(_CLAIMED, slots, {}).is_true()
    not_fetched = columns_read([expression], "target", slots) - _FETCHED if claimed.any() else frozenset()
    if not not_fetched or EVERY_ATTRIBUTE in not_fetched:
        return slots
    not_fetched -= columns_read(_READING, "target", slots)
    if not not_fetched:
        return slots
    fetched = slots.of_rows(np.arange(len(slots)))
    for name in sorted(not_fetched & slots.names()):
        values = [ABSENT if hidden else slots.json_value(row, name) for row, hidden in enumerate(claimed.tolist())]
        fetched.with_column(name, [None if value is ABSENT else value for value in values])
    return fetched
