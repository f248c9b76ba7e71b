"""A slot's ad as it stands: what was advertised, with fairq's own claim laid over it."""

from __future__ import annotations

from fairq.records import Ad, Claim


def with_claim(ad: Ad, claim: Claim, now: int) -> Ad:
    """Return *ad* with the attributes that a startd advertises while *claim* is on the slot.

    Times in seconds since 1970. A claim without a job of fairq's queue is in the ad already. Machines suspend
    jobs, let them retire or vacate them by policies of their own, which fairq knows only from an import; that
    has its effect through the slot's State and Activity (docs/htcondor.md 2.4 and 3.1), so a job has no status for it.
    """
    if claim.cluster is None:
        return ad
    job = f"{claim.cluster}.{claim.proc}"
    over: Ad = {
        "State": "Claimed",
        "Activity": "Busy",
        "RemoteUser": claim.submitter,
        "RemoteOwner": claim.submitter,
        "AccountingGroup": claim.submitter,
        "JobId": job,
        "CurrentRank": claim.current_rank,
        "JobStart": claim.start_time,
        "TotalJobRunTime": max(0, now - claim.start_time),
        "EnteredCurrentState": claim.start_time,
        "EnteredCurrentActivity": claim.start_time,
    }
    optional = {
        "ConcurrencyLimits": claim.concurrency_limits,
        "RemoteNegotiatingGroup": claim.negotiating_group,
        "RemoteAutoregroup": claim.autoregroup,
    }
    over |= {name: value for name, value in optional.items() if value is not None}
    over |= claim.advertised or {}
    names = {name.lower() for name in over}
    return {name: value for name, value in ad.items() if name.lower() not in names} | over


_TOLD = {
    name.lower(): name
    for name in (
        "State",
        "Activity",
        "EnteredCurrentState",
        "EnteredCurrentActivity",
        "PreemptingUser",
        "PreemptingOwner",
        "PreemptingAccountingGroup",
        "PreemptingRank",
        "PreemptingConcurrencyLimits",
        "RetirementTimeRemaining",
    )
}
"""What is kept of an imported slot's ad as long as its claim lasts."""


def told_of(ad: Ad, claim: Claim) -> Ad | None:
    """Return what an imported slot's *ad* tells of *claim* that the claim itself does not, None if nothing."""
    told = {_TOLD[name.lower()]: value for name, value in ad.items() if name.lower() in _TOLD}
    known = with_claim({}, claim, claim.start_time)
    return {name: value for name, value in told.items() if name not in known or known[name] != value} or None


_CLAIM_ATTRIBUTES = frozenset(
    {
        "remoteuser",
        "remoteowner",
        "remotegroup",
        "remotenegotiatinggroup",
        "remoteautoregroup",
        "accountinggroup",
        "preemptinguser",
        "preemptingowner",
        "preemptingaccountinggroup",
        "preemptingrank",
        "concurrencylimits",
        "matchedconcurrencylimits",
        "preemptingconcurrencylimits",
        "retirementtimeremaining",
        "jobid",
        "globaljobid",
        "jobstart",
        "totaljobruntime",
        "clientmachine",
    }
)


def without_claim(ad: Ad, now: int) -> Ad:
    """Return an imported slot's ad as it is once its claim has ended at *now*."""
    state = {
        "State": "Unclaimed",
        "Activity": "Idle",
        "CurrentRank": 0.0,
        "EnteredCurrentState": now,
        "EnteredCurrentActivity": now,
    }
    gone = _CLAIM_ATTRIBUTES | {name.lower() for name in state}
    return {name: value for name, value in ad.items() if name.lower() not in gone} | state
