"""Accounting ads: the accountant's records by HTCondor's attribute names, in and out.

An ad of the accountant's own has the real priority as ``Priority``. condor_userprio prints the effective one under
that name; its ads are told by ``IsAccountingGroup``, which all of them have. Where an ad has ``RealPriority``, as those
of ``fairq userprio`` and ``fairq export``, that is the real one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fairq.dumps.ads import Soundness, read_ads, shown
from fairq.dumps.source import Source
from fairq.errors.pool import DuplicateAdError, InvalidAdError
from fairq.records import AccountingRecord, Ad, Lease

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
_WHOLE = {
    "ResourcesUsed": "resources_used",
    "BeginUsageTime": "begin_usage_time",
    "LastUsageTime": "last_usage_time",
}
_LEASES = {"Ceiling": "ceiling_lease", "Floor": "floor_lease", "PriorityFactor": "factor_lease"}
_LARGEST_LIMIT = 2**31 - 1


@dataclass(slots=True)
class AccountingDump:
    """The records of a dump, and the time of its last priority update, None if it names none."""

    records: list[AccountingRecord]
    last_update: int | None = None


def read_accounting(source: Source) -> AccountingDump:
    """Return the accounting records that *source* holds; what an ad leaves out is that of a newcomer.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError or DuplicateAdError.
    """
    dump = AccountingDump([])
    soundness = Soundness(source)
    numbers: dict[str, int] = {}
    for number, ad in enumerate(read_ads(source), 1):
        fields = _Fields(source, soundness.tidied(ad, number), number)
        record = _record(fields)
        first = numbers.setdefault(record.name, number)
        if first != number:
            what = f"record of {record.name}"
            raise DuplicateAdError(source=source.name, number=number, what=what, first=first)
        dump.records.append(record)
        updated = fields.whole("LastUpdate", 0)
        if updated:
            dump.last_update = max(updated, dump.last_update or 0)
    return dump


class _Fields:
    """The values of one ad, whatever the letter case of their names."""

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
            raise self.error(f"Name is {shown(name)}", "it is a submitter or a group, without spaces")
        return name

    def truth(self, name: str) -> bool:
        return self._values.get(name.lower()) is True

    def real(self, name: str, lowest: float = 0.0) -> float:
        value = self._values[name.lower()]
        if type(value) not in (int, float) or not math.isfinite(value) or value < lowest:
            least = "a number" if lowest == -math.inf else f"a number, {lowest:g} or more"
            raise self.error(f"{name} is {shown(value)}", f"it is {least}")
        return float(value)

    def whole(self, name: str, default: int, lowest: int = 0, highest: int = 2**63 - 1) -> int:
        value = self._values.get(name.lower(), default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not lowest <= value <= highest:
            raise self.error(
                f"{name} is {shown(value)}", f"it is a whole number from {lowest} to {highest}"
            )
        return value

    def error(self, problem: str, cure: str) -> InvalidAdError:
        return InvalidAdError(source=self._source.name, number=self._number, problem=problem, cure=cure)


def _record(fields: _Fields) -> AccountingRecord:
    name = fields.name()
    record = AccountingRecord(name, is_group=fields.truth("IsAccountingGroup") or "@" not in name)
    for attribute, field in _REALS.items():
        if attribute in fields:
            setattr(record, field, fields.real(attribute))
    for attribute, field in _SIGNED_REALS.items():
        if attribute in fields:
            setattr(record, field, fields.real(attribute, -math.inf))
    for attribute, field in _WHOLE.items():
        setattr(record, field, fields.whole(attribute, 0))
    if "PriorityFactor" in fields:
        factor = fields.real("PriorityFactor")
        # The accountant takes a factor below 1 for one that was never set.
        record.priority_factor = factor if factor >= 1 else None
    if "RealPriority" in fields:
        record.priority = fields.real("RealPriority")
    elif "IsAccountingGroup" in fields and record.priority_factor is not None:
        record.priority /= record.priority_factor
    if "AccumulatedUsage" in fields and "WeightedAccumulatedUsage" not in fields:
        record.weighted_accumulated_usage = record.accumulated_usage
    record.ceiling = max(-1, fields.whole("Ceiling", -1, -_LARGEST_LIMIT, _LARGEST_LIMIT))
    record.floor = max(0, fields.whole("Floor", 0, -_LARGEST_LIMIT, _LARGEST_LIMIT))
    for limit, field in _LEASES.items():
        expiration = fields.whole(f"{limit}LeaseExpiration", 0)
        if expiration:
            before = f"{limit}PreLeaseValue"
            value = fields.real(before, -math.inf) if before in fields else 0.0
            setattr(record, field, Lease(expiration, value))
    return record


def accounting_ad(record: AccountingRecord, last_update: int) -> Ad:
    """Return *record* as the ad that `read_accounting` reads back; all is charged up to *last_update*."""
    ad: dict[str, Any] = {"Name": record.name, "IsAccountingGroup": record.is_group}
    ad["RealPriority"] = record.priority
    for names in (_REALS, _SIGNED_REALS, _WHOLE):
        for attribute, field in names.items():
            value = getattr(record, field)
            if value is not None:
                ad[attribute] = value
    if record.priority_factor is not None:
        ad["PriorityFactor"] = record.priority_factor
        ad["Priority"] *= record.priority_factor
    ad["Ceiling"], ad["Floor"] = record.ceiling, record.floor
    for limit, field in _LEASES.items():
        lease: Lease | None = getattr(record, field)
        if lease is not None:
            ad[f"{limit}LeaseExpiration"] = lease.expiration
            ad[f"{limit}PreLeaseValue"] = lease.prelease_value
    if last_update:
        ad["LastUpdate"] = last_update
    return ad
