"""The condition of a run, from the ad of its job.

Source: the manual's appendix "Job ClassAd Attributes"; what a shadow leaves in them was tried with HTCondor 23.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.launch.htcondor.description import RUN
from fairq.launch.interface import Condition, JsonObject, Look, Queued

IDLE, RUNNING, REMOVED, COMPLETED, HELD = 1, 2, 3, 4, 5
"""HTCondor's JobStatus; 6 (transferring output) and 7 (suspended) also count as running."""

PROJECTION = (
    RUN, "ClusterId", "ProcId", "JobStatus", "ShadowBday", "NumShadowStarts", "JobStartDate", "RemoteWallClockTime",
    "ExitBySignal", "ExitCode", "ExitSignal", "JobCoreDumped", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize",
    "MemoryProvisioned", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "LastHoldReason", "LastHoldReasonCode",
    "LastHoldReasonSubCode", "RemoveReason", "VacateReason", "LastRejMatchReason",
    "LastRejMatchTime", "LastJobLeaseRenewal", "JobLeaseDuration", "StageOutFinish",
)  # fmt: skip
"""The attributes that this module reads."""

TAKEN_BACK = "fairq decides what comes next"
"""The reason given for the removal of a job that HTCondor has evicted or put on hold."""

Ad = Mapping[str, Any]


_SPOOLING = 16
"""The code of a hold that lasts until the files of a job have been sent to the schedd."""


def id_of(ad: Ad) -> str:
    """Return the id of a job in the schedd."""
    return f"{ad['ClusterId']}.{ad['ProcId']}"


def has_begun(ad: Ad) -> bool:
    """Return whether a shadow has ever been started for the job: a machine was claimed for it."""
    return bool(ad.get("NumShadowStarts"))


def has_shadow(ad: Ad) -> bool:
    """Return whether a shadow may work for the job, or its machine may continue without one.

    A killed schedd may leave ShadowBday in the ad of a job without a shadow. A job with a shadow is not offered to the
    negotiator: once the negotiator rejects the job, the shadow is gone. The machine ends the job when its lease
    expires.
    """
    born = ad.get("ShadowBday")
    if born is None:
        return False
    lease_end = (ad.get("LastJobLeaseRenewal") or born) + (ad.get("JobLeaseDuration") or 0)
    return bool((ad.get("LastRejMatchTime") or 0) <= max(born, lease_end))


def former(ad: Ad) -> Ad:
    """Return the ad of a job that has left the queue, marked as without shadow and without output to fetch."""
    return {**ad, "ShadowBday": None, "StageOutFinish": 0}


def is_over(ad: Ad) -> bool:
    """Return whether the job will not run any more, and no machine is held for it."""
    return not has_shadow(ad) and ad["JobStatus"] in (REMOVED, COMPLETED)


def is_stopped(ad: Ad) -> bool:
    """Return whether HTCondor has stopped the job before its end: it is on hold there, or was evicted."""
    is_held = ad["JobStatus"] == HELD and not _is_spooling(ad)
    is_evicted = ad["JobStatus"] == IDLE and has_begun(ad)
    return (is_held or is_evicted) and not has_shadow(ad)


def look_at(ad: Ad) -> Look:
    """Return the condition of the run that a job's ad describes."""
    queued = Queued(id_of(ad))
    since = ad.get("JobStartDate")
    if has_shadow(ad) or ad["JobStatus"] not in (IDLE, REMOVED, COMPLETED, HELD):
        return Look(Condition.RUNNING, queued, since=since)
    if ad["JobStatus"] == IDLE and not has_begun(ad):
        return Look(Condition.QUEUED, queued, detail=_why_idle(ad))
    if _is_spooling(ad):
        return Look(Condition.QUEUED, queued, detail="its files are being sent to HTCondor")
    until = None if since is None else since + float(ad.get("RemoteWallClockTime") or 0)
    if ad["JobStatus"] == COMPLETED:
        return Look(Condition.ENDED, queued, _facts(ad, "exit"), since=since, until=until)
    if _hold(ad, "HoldReasonCode") not in (None, _SPOOLING):
        return Look(Condition.ENDED, queued, _facts(ad, "engine"), since=since, until=until)
    return Look(Condition.LOST, queued, detail=_why_lost(ad), since=since, until=until)


def _is_spooling(ad: Ad) -> bool:
    return ad["JobStatus"] == HELD and ad.get("HoldReasonCode") == _SPOOLING


def _why_idle(ad: Ad) -> str:
    reason = str(ad.get("LastRejMatchReason") or "").strip()
    return f"HTCondor has not matched it: {reason}" if reason else "HTCondor has not looked at it yet"


def _why_lost(ad: Ad) -> str:
    removed = ad.get("RemoveReason")
    if removed is not None and not str(removed).startswith(TAKEN_BACK):
        return f"it was removed in HTCondor: {removed}"
    reason = ad.get("VacateReason")
    return f"HTCondor has evicted it: {reason}" if reason else "HTCondor has evicted it"


def _hold(ad: Ad, name: str) -> Any:
    """Return an attribute of the hold; the ad of a removed job has it with the prefix Last."""
    return ad.get(name if ad["JobStatus"] == HELD else f"Last{name}")


def _facts(ad: Ad, reason: str) -> JsonObject:
    """Return the facts of an end in the form of docs/running.md, "The end of a run"."""
    started = float(ad.get("JobStartDate") or 0)
    facts: JsonObject = {
        "reason": reason,
        "exit_code": None,
        "signal": None,
        "core": bool(ad.get("JobCoreDumped")),
        "started": started,
        "ended": started + float(ad.get("RemoteWallClockTime") or 0),
        "user_seconds": float(ad.get("RemoteUserCpu") or 0),
        "system_seconds": float(ad.get("RemoteSysCpu") or 0),
        "cpu_measured": "htcondor",
        "peak_memory_kb": int(ad.get("ResidentSetSize") or 0),
        "memory_measured": "htcondor",
        "memory_limit_mb": ad.get("MemoryProvisioned"),
    }
    if reason == "exit":
        status = "signal" if ad.get("ExitBySignal") else "exit_code"
        facts[status] = ad.get("ExitSignal" if ad.get("ExitBySignal") else "ExitCode")
    else:
        code, subcode = _hold(ad, "HoldReasonCode"), _hold(ad, "HoldReasonSubCode")
        facts |= {"detail": str(_hold(ad, "HoldReason")), "code": code, "subcode": subcode}
    return facts
