"""The machines of the pool: what each has, what of it is free, and why it takes no jobs (condor_status -compact)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairq.common.records import Ad

_AMOUNTS = (("cpus", "Cpus"), ("memory", "Memory"), ("gpus", "GPUs"))


def machines(ads: Iterable[Ad]) -> list[dict[str, Any]]:
    """Return a record of each machine of the slots in *ads*, in pool order.

    An amount is that of all its slots; of a partitionable slot, *ads* have the rest and the dynamic slots. What no job
    uses, and is not drained, is free.
    """
    ads_of: dict[str, list[Ad]] = {}
    for ad in ads:
        ads_of.setdefault(str(ad.get("Machine", ad.get("Name"))), []).append(ad)
    return [_machine(name, own) for name, own in ads_of.items()]


def _machine(name: str, ads: Sequence[Ad]) -> dict[str, Any]:
    free = [ad for ad in ads if is_available(ad)]
    record: dict[str, Any] = {"machine": name, "slots": len(ads), "jobs": sum("JobId" in ad for ad in ads)}
    for member, attribute in _AMOUNTS:
        record[member] = _sum(ads, attribute)
        record[f"free_{member}"] = _sum(free, attribute)
    reasons = [ad.get("DrainReason") or "drained" for ad in ads if ad.get("Draining") is True]
    reasons += [f"reservation {ad['Reservations']}" for ad in ads if "Reservations" in ad]
    reasons += ["off" for ad in ads if ad.get("Offline") is True]
    record["reasons"] = list(dict.fromkeys(str(reason) for reason in reasons))
    return record


def is_available(ad: Ad) -> bool:
    """Return whether a slot may take a job: nobody uses it, it is neither drained nor off, and a core of it is left."""
    is_out = ad.get("Draining") is True or ad.get("Offline") is True
    return ad.get("State") == "Unclaimed" and not is_out and ad.get("Cpus") != 0


def _sum(ads: Iterable[Ad], attribute: str) -> int:
    values = (ad.get(attribute) for ad in ads)
    return sum(int(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool))
