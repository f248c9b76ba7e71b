"""The attributes of slots about their holders during a cycle."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.expression_form import as_expression, is_expression
from fairq.common.records import Ad
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.classad.column import ABSENT, Column
from fairq.engine.negotiation.evaluation import LiveAttributes
from fairq.engine.negotiation.policy import NegotiationPolicy, ResourcesInUse
from fairq.engine.negotiation.pool import HOLDER_NAMES, PoolSlots, holders_of, running_on, show_waiting_ranks, text_of
from fairq.engine.quotas.tree import QuotaGroup
from fairq.engine.slot_names import SlotNames
from fairq.engine.weights import whole

if TYPE_CHECKING:
    from fairq.engine.negotiation.groups import Groups
    from fairq.engine.quotas.tree import QuotaGroup


class Holders(Struct, frozen=True):
    """The holders of slots that a match would preempt.

    Args:
        held: per slot, whether a match would preempt its holder.
        names: per slot, its holder; None if there is none.
        running: per slot, the submitter of its running job; it differs from the holder if the slot is being preempted.
        priorities: per slot, the holder's effective priority at the cycle's start.
        changing: attributes of the slots about holders that change within the cycle; None if no slot has a holder.
        groups: per slot, the index of its holder's group in the tree; None: no hard cap depends on it.
        find_borrowed: returns which slots are used above the quota of their group; None: it is not considered.
    """

    held: NDArray[np.bool_]
    names: SlotNames
    running: Sequence[str | None]
    priorities: NDArray[np.float64]
    changing: LiveAttributes | None = None
    groups: NDArray[np.int32] | None = None
    find_borrowed: Callable[[], NDArray[np.bool_]] | None = None


def find_holders(
    pool: PoolSlots, policy: NegotiationPolicy, accountant: Accountant, groups: Groups | None, sees_siblings: bool
) -> Holders:
    """Find the holders of slots at the start of a cycle, and set the attributes about them.

    *sees_siblings*: an expression reads the holder of another slot of a machine.
    """
    slots = pool.ads
    names = holders_of(slots) if policy.consider_preemption else SlotNames.nobody(len(slots))
    held = names.codes >= 0
    if not held.any():
        return Holders(held, names, names, np.full(len(held), np.nan))

    remote = RemoteAttributes(slots, names, accountant, groups, policy, sees_siblings)
    priority_by_name = {name: accountant.effective_priority(name) for name in remote.holder_names}
    priorities = np.array([*(priority_by_name[name] for name in names.distinct), np.nan])[names.codes]
    numbers = None if groups is None else groups.numbers_of(names)
    borrowed = None if groups is None or not policy.borrowed_first else partial(groups.borrowed, pool.keys)
    return Holders(held, names, running_on(slots, names), priorities, remote, numbers, borrowed)


UNDEFINED = as_expression("undefined")
"""The value of an attribute that only some ads have."""


class InUse:
    """The use of users and groups, in whole slots or in weight.

    The manuals' rule is whole slots. Use and quota of groups have one unit, so that they are comparable: slots if all
    slots weigh 1, otherwise weight, rounded down. They are undefined without a group quota.
    """

    def __init__(self, accountant: Accountant, rule: ResourcesInUse) -> None:
        self._accountant = accountant
        self._in_whole_slots = rule == "slots"
        self._quotas: dict[str, float | str] = {}

    def of_user(self, name: str) -> float:
        """Return the current use of a user."""
        if not self._in_whole_slots:
            return self._accountant.weighted_used(name)
        record = self._accountant.records.get(name)
        return 0 if record is None else record.resources_used

    def of_group(self, group: QuotaGroup) -> float | str:
        """Return the current use of a group's own submitters."""
        return self._figure(group, self._accountant.weighted_used(group.name))

    def quota_of(self, group: QuotaGroup) -> float | str:
        """Return a group's own quota."""
        if not self._in_whole_slots:
            return group.quota
        # Only the quota of the root changes within a cycle, and it is undefined here.
        figure = self._quotas.get(group.name)
        if figure is None:
            figure = self._quotas[group.name] = self._figure(group, group.quota)
        return figure

    def _figure(self, group: QuotaGroup, weight: float) -> float | str:
        if not self._in_whole_slots:
            return weight
        return UNDEFINED if group.is_root or not group.has_quota else whole(weight)


_USER_IN_USE = "RemoteUserResourcesInUse"

_GROUP_IN_USE = "RemoteGroupResourcesInUse"


class RemoteAttributes:
    """Updates the attributes of the slots' holders during one cycle.

    Args:
        slots: the slots' ads, which get the attributes.
        names: per slot, its holder; None if there is none.
        accountant: has priorities, floors and use.
        groups: the accounting groups; None: there are none.
        policy: the cycle's rules; only its *known_groups* appear.
        siblings: whether every slot also gets the attributes of its machine's other slots, as
            ``Slot<N>_RemoteUserPrio``.
    """

    def __init__(
        self,
        slots: AdColumns,
        names: SlotNames,
        accountant: Accountant,
        groups: Groups | None,
        policy: NegotiationPolicy,
        siblings: bool = False,
    ) -> None:
        self._slots = slots
        self._accountant = accountant
        self._groups = groups
        self._use = InUse(accountant, policy.resources_in_use)
        self._known_groups = policy.known_groups
        self._as_today = policy.rules == "htcondor"
        self._own_columns: dict[str, Column] = {}
        """The slots' own columns of these attributes."""
        self._families = {"": names}
        if siblings:
            holders_by_prefix = holders_by_number(slots, names)
            self._families |= {prefix: SlotNames.of(family) for prefix, family in holders_by_prefix.items()}
        self.holder_names = sorted({name for family in self._families.values() for name in family.distinct})
        self.live = frozenset(
            f"{prefix}{name}".lower() for prefix in self._families for name in (_USER_IN_USE, _GROUP_IN_USE)
        )
        """The lower-case names of the attributes that change with the matches made."""
        self.version = 0
        """A number that changes when `refresh` changes these attributes."""
        self._in_use: tuple[float | str, ...] = ()
        self._set_holders()
        show_waiting_ranks(slots)
        self.refresh()

    def refresh(self) -> None:
        """Update the attributes of use."""
        users = {name: self._use.of_user(name) for name in self.holder_names}
        groups: dict[str, float | str] = {}
        if self._groups is not None:
            groups = {name: self._use.of_group(group) for name, group in self._groups_of_holders().items()}
        in_use = (*users.values(), *groups.values())
        if in_use == self._in_use:
            return
        self._in_use = in_use
        self.version += 1
        self._set(_USER_IN_USE, users)
        if groups:
            self._set(_GROUP_IN_USE, groups)

    def _set_holders(self) -> None:
        accountant = self._accountant
        priorities = {name: accountant.effective_priority(name) for name in self.holder_names}
        if self._as_today:
            with np.errstate(over="ignore"):
                priorities = {name: float(np.float32(priority)) for name, priority in priorities.items()}
        self._set("RemoteUserPrio", priorities)
        self._set("RemoteUserFloor", {name: accountant.record(name).floor for name in self.holder_names})
        if self._groups is not None:
            groups = self._groups_of_holders()
            self._set("RemoteGroup", {name: group.name for name, group in groups.items()})
            self._set("RemoteGroupQuota", {name: self._use.quota_of(group) for name, group in groups.items()})

    def _groups_of_holders(self) -> dict[str, QuotaGroup]:
        """Return the groups of the holders that an earlier cycle knew (matchmaker.cpp, getGroupInfoFromUserId)."""
        assert self._groups is not None
        groups = {name: self._groups.group_of(name) for name in self.holder_names}
        known_groups = self._known_groups
        if known_groups is None:
            return groups
        return {
            n: group
            for n, group in groups.items()
            if (known_groups if group.is_root else group.name.lower() in known_groups)
        }

    def _set(self, attribute: str, values: Mapping[str, float | str]) -> None:
        for prefix, names in self._families.items():
            # Code -1, for nobody, finds the last value.
            shared_values = [*map(values.get, names.distinct), None]
            own = self._own_columns.setdefault(prefix + attribute, self._slots.column((prefix + attribute).lower()))
            if self._as_today and not own.is_missing:
                row_values = (shared_values[code] for code in names.codes.tolist())
                self._slots.with_column(
                    prefix + attribute, [self._or_own(own, *row_and_value) for row_and_value in enumerate(row_values)]
                )
            else:
                self._slots.with_shared(prefix + attribute, shared_values, names.codes)

    def _or_own(self, own: Column, row: int, value: float | str | None) -> Any:
        """Return *value*, or if None the value in the slot's own ad: a startd publishes what came with the claim."""
        if value is not None:
            return value
        own_value = own.json_value(row, self._slots.pool)
        return None if own_value is ABSENT else own_value


_OF_SIBLINGS = re.compile(r"slot\d+_remote", re.IGNORECASE)


def siblings_are_named(policy: NegotiationPolicy, slots: AdColumns, kinds: Sequence[Ad]) -> bool:
    """Return whether any expression of the policy, the slots or the jobs reads a ``Slot<N>_Remote...``.

    *kinds* has an ad of every autocluster, with all that matters.
    """
    policies = (str(expression) for expression in policy.expressions_on_jobs)
    if any(map(_OF_SIBLINGS.search, policies)) or _named_in_slots(slots):
        return True
    values = (value for ad in kinds for value in ad.values())
    return any(map(_OF_SIBLINGS.search, filter(is_expression, values)))


def _named_in_slots(slots: AdColumns) -> bool:
    columns = map(slots.column, slots.expression_names())
    texts = (
        text
        for column in columns
        for text in (*(expression.text for expression in column.expressions), *map(str, column.raw))
    )
    # For most pools, the search in the texts is enough.
    return any(map(_OF_SIBLINGS.search, texts)) and any(map(_OF_SIBLINGS.search, slots.external_references()))


def holders_by_number(slots: AdColumns, names: Sequence[str | None]) -> dict[str, list[str | None]]:
    """Return by prefix ``Slot<N>_``, for each slot, the holder of slot N of its machine; *names* are the holders.

    Attributes of siblings in the slot's own ad (such as ``Slot<N>_RemoteUser``) have precedence.
    """
    families: dict[str, list[str | None]] = {}
    pattern = re.compile(rf"slot(\d+)_({'|'.join(HOLDER_NAMES)})", re.IGNORECASE)
    numbers = {int(match[1]) for name in slots.names() if (match := pattern.fullmatch(name))}
    machines = text_of(slots, "Machine")
    siblings: dict[int, dict[str, str | None]] = {}
    for row, machine in enumerate(machines):
        number = slots.value(row, "SlotID")
        if machine is not None and type(number) is int and slots.value(row, "DynamicSlot") is not True:
            siblings.setdefault(number, {})[machine] = names[row]
    for number in sorted(numbers | siblings.keys()):
        holder_by_machine = siblings.get(number, {})
        family = [None if machine is None else holder_by_machine.get(machine) for machine in machines]
        for attribute in reversed(HOLDER_NAMES):
            for row, name in enumerate(text_of(slots, f"Slot{number}_{attribute}")):
                family[row] = family[row] if name is None else name
        families[f"Slot{number}_"] = family
    return families
