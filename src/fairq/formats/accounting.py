"""Accounting ads: reading and writing the accountant's records under HTCondor's attribute names.

The meaning of ``Priority`` depends on the writer of the ad. The negotiator reports the effective priority: in the
collector's ads (``MyType`` Accounting) and those of condor_userprio, which all have ``IsAccountingGroup``, and in its
single ad of numbered attributes. That is what ``condor_userprio -long -allusers`` prints: ``Name3``, ``Priority3`` and
all others with a 3 belong to the third record, those without a number to all records. In all other ads ``Priority`` is
the real priority. ``RealPriority``, in the ads of ``fairq userprio`` and ``fairq export``, is always the real priority.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from fairq.common.records import AccountingRecord, Ad, Lease
from fairq.errors.pool import DuplicateAdError, InvalidAdError
from fairq.formats.ads import Soundness, read_ads, shown
from fairq.formats.kinds import ACCOUNTING, Sorter
from fairq.formats.source import Source

_REALS = {
    "Priority": "priority",
    "WeightedResourcesUsed": "weighted_resources_used",
    "HierWeightedResourcesUsed": "hier_weighted_resources_used",
    "AccumulatedUsage": "accumulated_usage",
    "WeightedAccumulatedUsage": "weighted_accumulated_usage",
    "SubmitterShare": "submitter_share",
    "SubmitterLimit": "submitter_limit",
}
_SIGNED_REALS = {"UnchargedTime": "uncharged_time", "WeightedUnchargedTime": "weighted_uncharged_time"}
_INTEGERS = {
    "ResourcesUsed": "resources_used",
    "BeginUsageTime": "begin_usage_time",
    "LastUsageTime": "last_usage_time",
}
_LEASES = {"Ceiling": "ceiling_lease", "Floor": "floor_lease", "PriorityFactor": "factor_lease"}
_LARGEST_LIMIT = 2**31 - 1
_LOGGED_DECIMALS = 6
_REPORTED = ("IsAccountingGroup", "NegotiatorName")
"""Attributes that only the negotiator's reports have; ``Priority`` is the effective priority there."""

_QUOTAS = ("ConfigQuota", "EffectiveQuota", "SubtreeQuota", "GroupSortKey", "Requested")
_IN_USE = ("ResourcesUsed", "WeightedResourcesUsed", "HierWeightedResourcesUsed")

_NUMBERED = re.compile(r"([a-z]+)([1-9][0-9]*)", re.IGNORECASE)
_SHARED = {"lastupdate", "negotiatorname"}


class AccountingDump(Struct):
    """The accountant's data in a dump.

    Args:
        records: one for each submitter and group.
        last_update: the time of the last priority update, None if the dump names none.
        updated: the time of the last update of single records, by name.
        effective: number of ads with the effective priority; the records have the real one.
        real: number of ads with the real priority.
        without_factor: names of records whose priority is still the effective one, because the ad has no factor.
        tells_use: the ads give the resources in use.
        tells_usage: names of the records whose ads give the accumulated usage.
        quotas: the quota attributes in the ads of groups, by group.
        left_out: number of ads left out, by reason.
    """

    records: list[AccountingRecord] = field(default_factory=list)
    last_update: int | None = None
    updated: dict[str, int] = field(default_factory=dict)
    effective: int = 0
    real: int = 0
    without_factor: set[str] = field(default_factory=set)
    tells_use: bool = False
    tells_usage: set[str] = field(default_factory=set)
    quotas: dict[str, Ad] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def read_accounting(source: Source) -> AccountingDump:
    """Return the accounting records that *source* holds; a missing attribute has the value for a new submitter.

    Ads of other kinds are left out.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError, DuplicateAdError or WrongDumpError.
    """
    dump = AccountingDump()
    numbers: dict[str, int] = {}
    sorter = Sorter(source, ACCOUNTING)
    for number, ad in _accounting_ads(source, sorter):
        fields = _Fields(source, ad, number)
        record = _record(fields, dump)
        first = numbers.setdefault(record.name, number)
        if first != number:
            description = f"record of {record.name}"
            raise DuplicateAdError(source=source.name, number=number, what=description, first=first)
        dump.records.append(record)
        updated = fields.integer("LastUpdate", 0)
        if updated:
            dump.updated[record.name] = updated
            dump.last_update = max(updated, dump.last_update or 0)
    dump.left_out = sorter.left_out
    sorter.check()
    return dump


def _accounting_ads(source: Source, sorter: Sorter) -> Iterator[tuple[int, Ad]]:
    """Yield number and content of each accounting ad; from an ad with numbered attributes, yield each record."""
    soundness = Soundness(source)
    for number, raw in enumerate(read_ads(source), 1):
        ad = soundness.tidied(raw, number)
        if not sorter.wants(ad):
            continue
        if _is_numbered(ad):
            yield from enumerate(_split_numbered(ad), 1)
        else:
            yield number, ad


def _is_numbered(ad: Ad) -> bool:
    """Return whether *ad* is a report with numbered attributes."""
    names = {name.lower() for name in ad}
    return "name" not in names and ("name1" in names or "numsubmittors" in names)


def _split_numbered(ad: Ad) -> Iterator[Ad]:
    """Yield the records of the report *ad*, one ad each, in the order of their numbers."""
    shared = {name: value for name, value in ad.items() if name.lower() in _SHARED}
    ads: dict[int, Ad] = {}
    for name, value in ad.items():
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            ads.setdefault(int(match[2]), dict(shared))[match[1]] = value
    for number in sorted(ads):
        yield ads[number]


class _Fields:
    """The values of one ad; attribute names ignore case."""

    def __init__(self, source: Source, ad: Ad, number: int) -> None:
        self._source = source
        self._number = number
        self._values = {name.lower(): value for name, value in ad.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def name(self) -> str:
        if "Name" not in self:
            raise self.error("it has no Name", "every accounting ad needs one")
        name = self._values["name"]
        if not isinstance(name, str) or not name or not name.isprintable() or " " in name:
            raise self.error(f"Name is {shown(name)}", "give a submitter or a group, without spaces")
        return name

    def is_reported(self) -> bool:
        """Return whether the negotiator wrote this ad as a report."""
        kind = self._values.get("mytype")
        is_accounting = isinstance(kind, str) and kind.lower() == ACCOUNTING.lower()
        return is_accounting or any(name in self for name in _REPORTED)

    def quotas(self) -> Ad:
        """Return the quota attributes in the ad of a group."""
        quotas: Ad = {name: self.real(name, -math.inf) for name in _QUOTAS if name in self}
        policy = self._values.get("surpluspolicy")
        return quotas | ({"SurplusPolicy": policy} if isinstance(policy, str) else {})

    def boolean(self, name: str) -> bool:
        return self._values.get(name.lower()) is True

    def real(self, name: str, lowest: float = 0.0) -> float:
        value = self._values[name.lower()]
        if type(value) not in (int, float) or not math.isfinite(value) or value < lowest:
            expected = "a number" if lowest == -math.inf else f"a number, {lowest:g} or more"
            raise self.error(f"{name} is {shown(value)}", f"give {expected}")
        return float(value)

    def integer(self, name: str, default: int, lowest: int = 0, highest: int = 2**63 - 1) -> int:
        value = self._values.get(name.lower(), default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not lowest <= value <= highest:
            raise self.error(f"{name} is {shown(value)}", f"give a whole number from {lowest} to {highest}")
        return value

    def error(self, problem: str, cure: str) -> InvalidAdError:
        return self._source.ad_error(self._number, problem, cure)


def _record(fields: _Fields, dump: AccountingDump) -> AccountingRecord:
    name = fields.name()
    record = AccountingRecord(name, is_group=fields.boolean("IsAccountingGroup") or "@" not in name)
    for attribute, field_name in _REALS.items():
        if attribute in fields:
            setattr(record, field_name, fields.real(attribute))
    for attribute, field_name in _SIGNED_REALS.items():
        if attribute in fields:
            setattr(record, field_name, fields.real(attribute, -math.inf))
    for attribute, field_name in _INTEGERS.items():
        setattr(record, field_name, fields.integer(attribute, 0))
    if "PriorityFactor" in fields:
        factor = fields.real("PriorityFactor")
        # The accountant treats a factor below 1 as not set.
        record.priority_factor = factor if factor >= 1 else None
    _settle_priority(record, fields, dump)
    if "AccumulatedUsage" in fields and "WeightedAccumulatedUsage" not in fields:
        record.weighted_accumulated_usage = record.accumulated_usage
    record.ceiling = max(-1, fields.integer("Ceiling", -1, -_LARGEST_LIMIT, _LARGEST_LIMIT))
    record.floor = max(0, fields.integer("Floor", 0, -_LARGEST_LIMIT, _LARGEST_LIMIT))
    for limit, field_name in _LEASES.items():
        expiration = fields.integer(f"{limit}LeaseExpiration", 0)
        if expiration:
            prelease_name = f"{limit}PreLeaseValue"
            value = fields.real(prelease_name, -math.inf) if prelease_name in fields else 0.0
            setattr(record, field_name, Lease(expiration, value))
    dump.tells_use = dump.tells_use or any(name in fields for name in _IN_USE)
    if "AccumulatedUsage" in fields:
        dump.tells_usage.add(name)
    if record.is_group:
        quotas = fields.quotas()
        if quotas:
            dump.quotas[name] = quotas
    return record


def _settle_priority(record: AccountingRecord, fields: _Fields, dump: AccountingDump) -> None:
    """Set the priority of *record* to the real one, with the six decimals that the accountant's log keeps."""
    if "RealPriority" in fields:
        record.priority = fields.real("RealPriority")
    elif "Priority" in fields and fields.is_reported():
        dump.effective += 1
        if record.priority_factor is None:
            dump.without_factor.add(record.name)
        else:
            record.priority = real_of(record.priority, record.priority_factor)
        return
    dump.real += "Priority" in fields or "RealPriority" in fields


def real_of(effective: float, factor: float) -> float:
    """Return the real priority: the *effective* priority divided by *factor*."""
    return round(effective / factor, _LOGGED_DECIMALS)


def accounting_ad(record: AccountingRecord, last_update: int) -> Ad:
    """Return *record* as an ad that `read_accounting` reads back; its usage is charged up to *last_update*."""
    ad: dict[str, Any] = {"Name": record.name, "IsAccountingGroup": record.is_group}
    ad["RealPriority"] = record.priority
    for names in (_REALS, _SIGNED_REALS, _INTEGERS):
        for attribute, field_name in names.items():
            value = getattr(record, field_name)
            if value is not None:
                ad[attribute] = value
    if record.priority_factor is not None:
        ad["PriorityFactor"] = record.priority_factor
        ad["Priority"] *= record.priority_factor
    ad["Ceiling"], ad["Floor"] = record.ceiling, record.floor
    for limit, field_name in _LEASES.items():
        lease: Lease | None = getattr(record, field_name)
        if lease is not None:
            ad[f"{limit}LeaseExpiration"] = lease.expiration
            ad[f"{limit}PreLeaseValue"] = lease.prelease_value
    if last_update:
        ad["LastUpdate"] = last_update
    return ad
