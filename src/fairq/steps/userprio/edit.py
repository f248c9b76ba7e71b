"""The edits of ``userprio``: changes of the accounting records, stored with the former values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field, to_builtins

from fairq.common.quantities import counted, shown_duration, shown_time
from fairq.common.records import AccountingRecord, Actor, Ad, Change
from fairq.engine.accounting.factors import MINIMUM_FACTOR, AccountingPolicy, resolve_factor
from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, is_group_name
from fairq.engine.accounting.leases import (
    Leasable,
    cancel_lease,
    expire_leases,
    grant_lease,
    lease_of,
    set_permanently,
)
from fairq.engine.accounting.removal import idle_since
from fairq.errors.base import InvalidNameError, InvalidNumberError
from fairq.errors.pool import SubmitterInUseError, UnknownSubmitterError
from fairq.state import claims, history, submitters, undo
from fairq.state.connection import State, reading, writing
from fairq.state.location import exists
from fairq.state.usage import Booking
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import charge_until, decayed_until, records_at
from fairq.steps.userprio.ads import accounting_ad
from fairq.steps.userprio.names import full_name, people, similar_name

if TYPE_CHECKING:
    from fairq.settings import Settings


Bound = Literal["factor", "floor", "ceiling"]
"""The values that can be leased, named like the options."""


class Edited(Struct):
    """The result of edits: sentences for people, and each record's attributes before and after.

    *notes* report side effects. *strangers* are new submitters that the edits created, each with the similar known
    name that may have been meant.
    """

    message: str
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    strangers: dict[str, str | None] = field(default_factory=dict)

    def add(self, other: Edited) -> None:
        """Add the result of another edit of the same call."""
        self.message = f"{self.message}\n{other.message}" if self.message else other.message
        self.changes += other.changes
        self.notes += other.notes
        self.strangers |= other.strangers


class Editor:
    """The accounting records of one state, open for the edits of *actor*.

    With *dry_run* all edits are decided and checked, but not stored. Names may omit the domain and the groups.
    """

    def __init__(self, path: Path, settings: Settings, actor: Actor, *, dry_run: bool = False) -> None:
        """Store the arguments; each edit opens the state itself."""
        self._path = path
        self._policy: AccountingPolicy = accounting_policy(settings)
        self._accounts_first: bool = settings["accounting.edits_at_their_time"]
        self._actor = actor
        self._dry_run = dry_run
        self._open_state: State | None = None
        self._kept: float = settings["pool.undo_kept"]
        self._former: dict[str, Any] = {}
        self._entries: list[int] = []
        self._pending: dict[str, AccountingRecord | None] = {}
        self._was, self._gone = ("would be", "would be deleted") if dry_run else ("was", "deleted")
        self._ended = "would end" if dry_run else "ends"
        self._set, self._cancelled = ("Would set", "Would cancel") if dry_run else ("Set", "Cancelled")

    @contextmanager
    def together(self, *, create: bool = True) -> Iterator[None]:
        """Combine all edits in the body into one change: if one raises, none is stored.

        Without *create*, a missing state file is not created.
        """
        with self._open(create=create) as state:
            self._open_state = state
            try:
                yield
                self._keep(state)
            finally:
                self._open_state = None

    def set_priority(self, name: str, value: float) -> Edited:
        """Set the real priority; below 0.5 it counts as 0.5."""
        _check_number("the priority", value, 0.0)
        message = f"The priority of {_NAME} {self._was} set to {value:f}"
        return self._change(name, partial(_set, "priority", value), message, account=True)

    def set_bound(self, name: str, bound: Bound, value: float, seconds: int | None = None) -> Edited:
        """Set the priority factor, the floor or the ceiling, permanently or for *seconds* (a lease).

        A permanent value ends a lease of the same value.
        """
        leasable = Leasable[bound.upper()]
        _check_number(f"the {leasable.value}", value, _LEAST[leasable])
        if seconds is not None and seconds <= 0:
            raise InvalidNumberError(what="the duration", value=seconds, expected="give 1 second or more")

        def change(record: AccountingRecord) -> None:
            if leasable is Leasable.FACTOR and record.priority_factor is None:
                record.priority_factor = resolve_factor(record.name, self._policy)
            if seconds is None:
                set_permanently(record, leasable, value)
            else:
                grant_lease(record, leasable, value, seconds, self._actor.time)

        shown = f"{value:f}" if leasable is Leasable.FACTOR else f"{value:.0f}"
        if seconds is None:
            return self._change(
                name, change, f"The {leasable.value} of {_NAME} {self._was} set to {shown}", plain=leasable
            )
        kind = _LEASE_NAME[leasable]
        message = f"{self._set} {kind} lease on {_NAME} to {shown} for {shown_duration(seconds)}"
        return self._change(name, change, message)

    def cancel(self, name: str, bound: Bound) -> Edited:
        """End a lease; raises NoLeaseError if there is none."""
        leasable = Leasable[bound.upper()]
        message = f"{self._cancelled} {_LEASE_NAME[leasable]} lease for {_NAME}"
        return self._change(name, partial(cancel_lease, kind=leasable), message, create=False)

    def set_usage(self, name: str, seconds: float) -> Edited:
        """Set the accumulated weighted usage, in weighted seconds; the unweighted usage stays."""
        _check_number("the accumulated usage", seconds, 0.0)
        message = f"The Accumulated Usage of {_NAME} {self._was} set to {seconds:f}"
        return self._change(name, partial(_set, "weighted_accumulated_usage", seconds), message, account=True)

    def set_begin(self, name: str, time: int) -> Edited:
        """Set the time of the first use (seconds since 1970)."""
        message = f"The Begin Usage Time of {_NAME} {self._was} set to {shown_time(time)}"
        return self._change(name, partial(_set, "begin_usage_time", time), message)

    def set_last(self, name: str, time: int) -> Edited:
        """Set the time of the last use (seconds since 1970)."""
        message = f"The Last Usage Time of {_NAME} {self._was} set to {shown_time(time)}"
        return self._change(name, partial(_set, "last_usage_time", time), message)

    def reset_usage(self, name: str) -> Edited:
        """Set the accumulated usage to 0, counted from now. Priority, last use and slots in use stay."""
        message = f"The accumulated usage of {_NAME} {self._was} reset"
        return self._change(name, self._reset, message, create=False, account=True)

    def reset_all(self) -> Edited:
        """Set the accumulated usage of every record to 0."""
        with self._open() as state:
            changes = []
            self._account(state)
            records = self._load_all(state)
            self._remember(state, [record.name for record in records])
            for record in records:
                before = self._ad(record)
                self._reset(record)
                changes.append(_difference(record.name, before, self._ad(record)))
            self._store(state, records, changes)
        return Edited(f"The accumulated usage {self._was} reset for all users", changes)

    def delete(self, name: str, *, force: bool = False) -> Edited:
        """Delete a record; it is created again when needed, without a factor that was set by hand.

        Raises SubmitterInUseError while its jobs hold slots, unless *force*.
        """
        with self._open() as state:
            name = self._full_name(state, name)
            record = self._existing(state, name)
            slot_count = sum(self._is_charged(claim.submitter, name) for claim in claims.load_all(state))
            if slot_count and not force:
                raise SubmitterInUseError(name=name, slots=slot_count)
            changes = [Change(name, self._ad(record), None)]
            self._remember(state, [name])
            self._remove(state, [name], changes)
        return Edited(f"The accountant record named {name} {self._was} deleted", changes)

    def prune(self, seconds: int) -> Edited:
        """Delete the records of submitters that used nothing for *seconds* and hold no slots."""
        with self._open() as state:
            records = {record.name: record for record in self._load_all(state)}
            holding = {claim.submitter for claim in claims.load_all(state)}
            idle = idle_since(records.values(), self._actor.time - seconds, self._policy)
            names = [name for name in idle if name not in holding]
            changes = [Change(name, self._ad(records[name]), None) for name in names]
            self._remember(state, names)
            self._remove(state, names, changes)
        count = counted(len(names), "accountant record")
        days, remainder = divmod(seconds, 86400)
        age = counted(seconds, "second") if remainder or not days else counted(days, "day")
        return Edited(f"{count} idle for {age} {self._gone}", changes)

    def _change(
        self,
        name: str,
        change: Callable[[AccountingRecord], object],
        message: str,
        *,
        create: bool = True,
        account: bool = False,
        plain: Leasable | None = None,
    ) -> Edited:
        """Change the record of *name*; *plain* names a value that is set permanently, which ends its lease."""
        self._check_name(name)
        with self._open(create=create) as state:
            if account:
                self._account(state)
            name = self._full_name(state, name)
            stored_record = self._load(state, name)
            if stored_record is None and not create:
                raise self._unknown(state, name)
            edited = Edited(message.replace(_NAME, name))
            if stored_record is None:
                self._check_new_name(name)
                known_names = people(state)
                if not is_group_name(name) and name not in known_names:
                    edited.strangers[name] = similar_name(name, known_names)
            self._remember(state, [name])
            record = stored_record or AccountingRecord(name, is_group=is_group_name(name))
            before = self._ad(record)
            lease = None if plain is None else lease_of(record, plain)
            if plain is not None and lease is not None:
                until = shown_time(lease.expiration)
                kind = _LEASE_NAME[plain]
                edited.notes.append(f"this {self._ended} the {kind} lease of {name}, which ran until {until}")
            change(record)
            difference = _difference(name, before if stored_record else None, self._ad(record))
            self._store(state, [record], [difference])
        edited.changes.append(difference)
        return edited

    def _full_name(self, state: State, name: str) -> str:
        groups = {group.lower() for group in (ROOT_GROUP, *self._policy.group_names)}
        return name if name.lower() in groups or self._load(state, name) else full_name(state, name)

    def _load(self, state: State, name: str) -> AccountingRecord | None:
        record = self._pending[name] if name in self._pending else submitters.load(state, name)
        expire_leases([] if record is None else [record], self._actor.time)
        return record

    def _load_all(self, state: State) -> list[AccountingRecord]:
        stored = {record.name: record for record in records_at(state, self._actor.time)}
        return [record for record in (stored | self._pending).values() if record is not None]

    def _account(self, state: State) -> None:
        """Charge all submitters up to the time of the edit, so that the new value counts from then on."""
        if self._accounts_first and not self._dry_run:
            charge_until(state, self._policy, self._actor.time)

    def _open(self, *, create: bool = False) -> AbstractContextManager[State]:
        """Open the state; without *create*, a missing state file is not created."""
        if self._open_state is not None:
            return nullcontext(self._open_state)
        if self._dry_run or not (create or exists(self._path)):
            return reading(self._path)
        return writing(self._path)

    def _store(self, state: State, records: list[AccountingRecord], changes: list[Change]) -> None:
        if self._dry_run:
            self._pending |= {record.name: record for record in records}
        else:
            submitters.store(state, records, (), Booking("edit", self._actor.time, self._actor.user))
            self._record(state, changes)

    def _remove(self, state: State, names: list[str], changes: list[Change]) -> None:
        if self._dry_run:
            self._pending |= dict.fromkeys(names)
        else:
            for name in names:
                submitters.delete(state, name, Booking("delete", self._actor.time, self._actor.user))
            self._record(state, changes)

    def _remember(self, state: State, names: Iterable[str]) -> None:
        """Remember the records of *names* before their first change."""
        if not self._dry_run:
            for name in names:
                if name not in self._former:
                    record = submitters.load(state, name)
                    self._former[name] = None if record is None else to_builtins(record)

    def _record(self, state: State, changes: list[Change]) -> None:
        self._entries += history.record(state, self._actor, changes)
        if self._open_state is None:
            self._keep(state)

    def _keep(self, state: State) -> None:
        """Store the data needed to undo the edits."""
        if self._entries:
            entries = range(self._entries[0], self._entries[-1] + 1)
            current = {name: submitters.load(state, name) for name in self._former}
            data = {
                "updated": decayed_until(state),
                "before": self._former,
                "after": {name: None if record is None else to_builtins(record) for name, record in current.items()},
            }
            undo.record(state, self._actor, entries, "userprio", data, self._kept)

    def _reset(self, record: AccountingRecord) -> None:
        record.accumulated_usage = record.weighted_accumulated_usage = 0.0
        record.begin_usage_time = self._actor.time

    def _ad(self, record: AccountingRecord) -> Ad:
        return accounting_ad(record, self._policy, 0)

    def _is_charged(self, submitter: str, name: str) -> bool:
        return submitter == name or (
            is_group_name(name) and assigned_group(submitter, self._policy.group_names) == name
        )

    def _existing(self, state: State, name: str) -> AccountingRecord:
        record = self._load(state, name)
        if record is None:
            raise self._unknown(state, name)
        return record

    def _unknown(self, state: State, name: str) -> UnknownSubmitterError:
        close = similar_name(name, {record.name for record in submitters.load_all(state)})
        hint = f"did you mean {close!r}?" if close else "'fairq userprio --allusers' lists all there are"
        return UnknownSubmitterError(name=name, state=self._path, hint=hint)

    @staticmethod
    def _check_name(name: str) -> None:
        if not name or not name.isprintable() or " " in name:
            raise InvalidNameError(what="the submitter", value=name, expected="give user@domain, without blanks")

    def _check_new_name(self, name: str) -> None:
        local, _, domain = name.rpartition("@")
        groups = {group.lower(): group for group in (ROOT_GROUP, *self._policy.group_names)}
        if not (local and domain) and groups.get(name.lower()) != name:
            expected = "give the full name, as user@domain, or the name of a known group"
            if name.lower() in groups:
                expected = f"the group is called {groups[name.lower()]!r}"
            raise InvalidNameError(what="the submitter", value=name, expected=expected)


_NAME = "\0"
"""Placeholder for the submitter's full name in a message."""

_LEAST = {Leasable.FACTOR: MINIMUM_FACTOR, Leasable.FLOOR: 0.0, Leasable.CEILING: -1.0}
_LEASE_NAME = {Leasable.FACTOR: "priority-factor", Leasable.FLOOR: "floor", Leasable.CEILING: "ceiling"}


def _set(attribute: str, value: float, record: AccountingRecord) -> None:
    setattr(record, attribute, value)


def _check_number(noun: str, value: float, minimum: float) -> None:
    if not (math.isfinite(value) and value >= minimum):
        raise InvalidNumberError(what=noun, value=value, expected=f"give at least {minimum:g}")


def _difference(name: str, before: Ad | None, after: Ad) -> Change:
    """Return the change: the attributes that differ, or all attributes of a new record."""
    if before is None:
        return Change(name, None, after)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return Change(
        name,
        {key: before[key] for key in changed if key in before},
        {key: after[key] for key in changed if key in after},
    )
