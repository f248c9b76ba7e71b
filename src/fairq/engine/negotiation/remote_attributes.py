"""A slot's attributes about its holder during a cycle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
from fairq.engine.negotiation.pool import HOLDER_NAMES, holders_of, running_on, show_waiting_ranks, text_of
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

    remote = RemoteAttributes(slots, names, accountant, groups, policy, sees_siblings)
    known = {name: accountant.effective_priority(name) for name in remote.known}
    priorities = np.array([*(known[name] for name in names.distinct), np.nan])[names.codes]
    numbers = None if groups is None else groups.numbers_of(names)
    return Holders(held, names, running_on(slots, names), priorities, remote, numbers)


UNDEFINED = as_expression("undefined")
"""The value of an attribute that only some ads have."""


class InUse:
    """The use of users and groups, as whole slots or as weight.

    The manuals' rule is whole slots. The figures of groups have one unit, so that use and quota are comparable: slots
    if all slots weigh 1, otherwise weight, rounded down. They are undefined without a group quota.
    """

    def __init__(self, accountant: Accountant, rule: ResourcesInUse) -> None:
        self._accountant = accountant
        self._whole = rule == "slots"
        self._quotas: dict[str, float | str] = {}

    def of_user(self, name: str) -> float:
        """What a user has in use at this moment."""
        if not self._whole:
            return self._accountant.weighted_used(name)
        record = self._accountant.records.get(name)
        return 0 if record is None else record.resources_used

    def of_group(self, group: QuotaGroup) -> float | str:
        """The current use of a group's own submitters."""
        return self._figure(group, self._accountant.weighted_used(group.name))

    def quota_of(self, group: QuotaGroup) -> float | str:
        """A group's own quota."""
        if not self._whole:
            return group.quota
        # No quota but the root's, which is not told, changes within a cycle.
        known = self._quotas.get(group.name)
        if known is None:
            known = self._quotas[group.name] = self._figure(group, group.quota)
        return known

    def _figure(self, group: QuotaGroup, weight: float) -> float | str:
        if not self._whole:
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
        self._told = InUse(accountant, policy.resources_in_use)
        self._known_groups = policy.known_groups
        self._as_today = policy.rules == "htcondor"
        self._own: dict[str, Column] = {}
        """What the ads themselves say under the names of these attributes."""
        self._families = {"": names}
        if siblings:
            of_number = holders_by_number(slots, names)
            self._families |= {prefix: SlotNames.of(family) for prefix, family in of_number.items()}
        self.known = sorted({name for family in self._families.values() for name in family.distinct})
        self.live = frozenset(
            f"{prefix}{name}".lower() for prefix in self._families for name in (_USER_IN_USE, _GROUP_IN_USE)
        )
        """The lower-case names of the attributes that follow the matches made."""
        self.version = 0
        """A number that changes when these attributes change in `refresh`."""
        self._in_use: tuple[float | str, ...] = ()
        self._state_holders()
        show_waiting_ranks(slots)
        self.refresh()

    def refresh(self) -> None:
        """Update the attributes of use."""
        users = {name: self._told.of_user(name) for name in self.known}
        of_groups: dict[str, float | str] = {}
        if self._groups is not None:
            of_groups = {name: self._told.of_group(group) for name, group in self._groups_of_holders().items()}
        in_use = (*users.values(), *of_groups.values())
        if in_use == self._in_use:
            return
        self._in_use = in_use
        self.version += 1
        self._give(_USER_IN_USE, users)
        if of_groups:
            self._give(_GROUP_IN_USE, of_groups)

    def _state_holders(self) -> None:
        accountant = self._accountant
        priorities = {name: accountant.effective_priority(name) for name in self.known}
        if self._as_today:
            with np.errstate(over="ignore"):
                priorities = {name: float(np.float32(priority)) for name, priority in priorities.items()}
        self._give("RemoteUserPrio", priorities)
        self._give("RemoteUserFloor", {name: accountant.record(name).floor for name in self.known})
        if self._groups is not None:
            groups = self._groups_of_holders()
            self._give("RemoteGroup", {name: group.name for name, group in groups.items()})
            self._give("RemoteGroupQuota", {name: self._told.quota_of(group) for name, group in groups.items()})

    def _groups_of_holders(self) -> dict[str, QuotaGroup]:
        """The groups of the holders, if an earlier cycle knew them (matchmaker.cpp, getGroupInfoFromUserId)."""
        assert self._groups is not None
        groups = {name: self._groups.group_of(name) for name in self.known}
        known = self._known_groups
        if known is None:
            return groups
        return {n: group for n, group in groups.items() if (known if group.is_root else group.name.lower() in known)}

    def _give(self, attribute: str, values: Mapping[str, float | str]) -> None:
        for prefix, names in self._families.items():
            # Nobody's value is the last one.
            given = [*map(values.get, names.distinct), None]
            own = self._own.setdefault(prefix + attribute, self._slots.column((prefix + attribute).lower()))
            if self._as_today and not own.is_missing:
                told = (given[code] for code in names.codes.tolist())
                self._slots.with_column(prefix + attribute, [self._or_own(own, *one) for one in enumerate(told)])
            else:
                self._slots.with_shared(prefix + attribute, given, names.codes)

    def _or_own(self, own: Column, row: int, value: float | str | None) -> Any:
        """The value of a row, or else what its ad says: a startd publishes what it was told with the claim."""
        if value is not None:
            return value
        found = own.json_value(row, self._slots.pool)
        return None if found is ABSENT else found


_OF_SIBLINGS = re.compile(r"slot\d+_remote", re.IGNORECASE)


def siblings_are_named(policy: NegotiationPolicy, slots: AdColumns, kinds: Sequence[Ad]) -> bool:
    """Whether any expression of the policy, the slots or the jobs reads a ``Slot<N>_Remote...``.

    *kinds* has an ad of every autocluster, with all that matters.
    """
    policies = (str(expression) for expression in policy.expressions_on_jobs)
    if any(map(_OF_SIBLINGS.search, policies)) or _named_in_slots(slots):
        return True
    values = (value for ad in kinds for value in ad.values())
    return any(map(_OF_SIBLINGS.search, filter(is_expression, values)))


def _named_in_slots(slots: AdColumns) -> bool:
    columns = map(slots.column, slots.expression_names())
    texts = (text for column in columns for text in (*(one.text for one in column.expressions), *map(str, column.raw)))
    # Most pools need no look at what the expressions read.
    return any(map(_OF_SIBLINGS.search, texts)) and any(map(_OF_SIBLINGS.search, slots.external_references()))


def holders_by_number(slots: AdColumns, names: Sequence[str | None]) -> dict[str, list[str | None]]:
    """Per prefix ``Slot<N>_`` and slot, the holder of slot number N of the same machine; *names* are the holders.

    Attributes of siblings in the slot's own ad (such as ``Slot<N>_RemoteUser``) come first.
    """
    found: dict[str, list[str | None]] = {}
    told = re.compile(rf"slot(\d+)_({'|'.join(HOLDER_NAMES)})", re.IGNORECASE)
    numbers = {int(match[1]) for name in slots.names() if (match := told.fullmatch(name))}
    machines = text_of(slots, "Machine")
    siblings: dict[int, dict[str, str | None]] = {}
    for row, machine in enumerate(machines):
        number = slots.value(row, "SlotID")
        if machine is not None and type(number) is int and slots.value(row, "DynamicSlot") is not True:
            siblings.setdefault(number, {})[machine] = names[row]
    for number in sorted(numbers | siblings.keys()):
        of_machine = siblings.get(number, {})
        family = [None if machine is None else of_machine.get(machine) for machine in machines]
        for attribute in reversed(HOLDER_NAMES):
            for row, name in enumerate(text_of(slots, f"Slot{number}_{attribute}")):
                family[row] = family[row] if name is None else name
        found[f"Slot{number}_"] = family
    return found
