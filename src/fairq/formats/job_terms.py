"""The terms of a job in the queue, from its ad: its numbers, its state, and the submitter to charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairq.common.expression_form import is_expression
from fairq.common.records import Ad, JobStatus
from fairq.errors.base import InvalidNameError
from fairq.formats.ads import Spellings, is_whole, shown
from fairq.formats.source import Source

LARGEST_ID = 2**31 - 1
"""HTCondor's cluster and proc numbers have 32 bits."""

_STATUS = {
    1: JobStatus.IDLE,
    2: JobStatus.RUNNING,
    5: JobStatus.HELD,
    6: JobStatus.RUNNING,  # transferring its output: the slot is still its own
    7: JobStatus.RUNNING,  # suspended: likewise
}
_ENDED = {3, 4}
_UNMATCHED_UNIVERSES = {
    7: "scheduler universe",
    8: "MPI universe",
    9: "grid universe",
    11: "parallel universe",
    12: "local universe",
}
_TRUE = (True,)
"""Of values in ads, the schedd takes 1 for true as well."""

_DEDICATED = "dedicatedscheduler@"
"""The lower-case prefix of the Scheduler of jobs whose slots the schedd's dedicated scheduler claims."""

OWN_NAMES = ("clusterid", "procid", "globaljobid")
"""The attributes that differ for every job."""

ONLY_IN_TERMS = ("jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user")
"""The attributes that are kept in the terms only, not in the ad."""

OF_TERMS = (*ONLY_IN_TERMS, "holdreason", "accountinggroup", "niceuser")
"""The attributes from which the terms are made."""

OF_OFFER = (
    "jobstatus", "jobuniverse", "wantmatching", "wantparallelscheduling", "scheduler", "managed", "isnoopjob",
    "jobcooldownexpiration", "currenthosts", "maxhosts",
)  # fmt: skip
"""The attributes that decide whether a job is offered to a negotiator."""

SPELLINGS = Spellings(*OWN_NAMES, "scheddname", *OF_TERMS, *OF_OFFER)


class Terms(NamedTuple):
    """The columns of a job in the queue."""

    submitter: str
    owner: str
    status: int
    priority: int
    queue_date: int
    status_date: int
    reason: str | None


class TermsReader:
    """Reads the terms of jobs from their ads."""

    def __init__(self, source: Source, submitter_of: Callable[[Ad], str], now: int) -> None:
        """Read ads of *source*; see `jobs.read_jobs` for *submitter_of* and *now*."""
        self._source = source
        self._submitter_of = submitter_of
        self._now = now
        self._submitters: dict[tuple[Any, ...], str] = {}

    def number_of(self, name: str, value: Any, lowest: int, number: int) -> int:
        """Return the *value* of the attribute *name*, a cluster's or a proc's number."""
        if value is None:
            raise self._source.ad_error(number, f"it has no {name}", "every job ad needs ClusterId and ProcId")
        if not is_whole(value, lowest, LARGEST_ID):
            expected = f"give a whole number from {lowest} to {LARGEST_ID}"
            raise self._source.ad_error(number, f"{name} is {shown(value)}", expected)
        return int(value)

    def why_left_out(self, values: Mapping[str, Any], number: int) -> str | None:
        """Return why the schedd offers a job to no negotiator, None if it does; *values* are of the names `OF_OFFER`.

        Sources: schedd.cpp, service_this_universe; qmgmt.cpp, Runnable.
        """
        status = values.get("jobstatus", 1)
        if type(status) is not int or not (status in _STATUS or status in _ENDED):
            expected = "give a status of HTCondor, 1 (idle) to 7 (suspended)"
            raise self._source.ad_error(number, f"JobStatus is {shown(status)}", expected)
        if status in _ENDED:
            return "already ended"
        universe, scheduler = values.get("jobuniverse"), values.get("scheduler")
        if type(universe) is int and universe in _UNMATCHED_UNIVERSES:
            return None if universe == 9 and values.get("wantmatching") is True else _UNMATCHED_UNIVERSES[universe]
        if values.get("wantparallelscheduling") in _TRUE or (
            isinstance(scheduler, str) and scheduler.lower().startswith(_DEDICATED)
        ):
            return "dedicated scheduler"
        if values.get("managed") == "External":
            return "managed by another program"
        return self._why_not_runnable(values) if status == JobStatus.IDLE else None

    def _why_not_runnable(self, values: Mapping[str, Any]) -> str | None:
        """Return why the schedd does not offer an idle job at this time."""
        if values.get("isnoopjob") in _TRUE:
            return "no-op job"
        until: Any = values.get("jobcooldownexpiration")
        hosts: Any = values.get("currenthosts")
        max_hosts: Any = values.get("maxhosts")
        if is_whole(until, 0) and until >= self._now:
            return "in its cool-down"
        if is_whole(hosts, 1) and is_whole(max_hosts, 1) and hosts >= max_hosts:
            return "matched already"
        return None

    def terms(self, values: Mapping[str, Any], names: Mapping[str, str], number: int) -> Terms:
        """Return the terms of a job; *values* are of the names `OF_TERMS`, *names* are its `SPELLINGS`."""

        def number_of(lower: str, default: int, lowest: int) -> int:
            value = values.get(lower, default)
            if not is_whole(value, lowest):
                expected = f"give a whole number, {lowest} or more"
                raise self._source.ad_error(number, f"{names[lower]} is {shown(value)}", expected)
            return int(value)

        status = _STATUS[values.get("jobstatus", 1)]
        queued = number_of("qdate", self._now, 0)
        submitter = self._submitter(values, names, number)
        reason = values.get("holdreason")
        return Terms(
            submitter=submitter,
            owner=self._owner(values) or submitter.rpartition("@")[0],
            status=int(status),
            priority=number_of("jobprio", 0, -(2**31)),
            queue_date=queued,
            status_date=number_of("enteredcurrentstatus", queued, 0),
            reason=reason if status is JobStatus.HELD and isinstance(reason, str) else None,
        )

    @staticmethod
    def _owner(values: Mapping[str, Any]) -> str:
        owner = values.get("owner")
        if isinstance(owner, str) and owner and not is_expression(owner):
            return owner
        user = values.get("user")
        return user.rpartition("@")[0] or user if isinstance(user, str) else ""

    def _submitter(self, values: Mapping[str, Any], names: Mapping[str, str], number: int) -> str:
        identity = values.get("accountinggroup"), values.get("owner"), values.get("user"), values.get("niceuser")
        try:
            name = self._submitters.get(identity)
        except TypeError:
            cure = "give AccountingGroup, Owner and User as texts"
            raise self._source.ad_error(number, "its owner is not a text", cure) from None
        if name is None:
            try:
                name = self._submitter_of({names[lower]: value for lower, value in values.items()})
            except InvalidNameError as failure:
                problem, _, cure = str(failure).rpartition("; ")
                raise self._source.ad_error(number, problem, cure) from None
            self._submitters[identity] = name
        return name


def schedd_of(job_id: Any) -> str | None:
    """Return the schedd in a GlobalJobId, None if it names none."""
    return job_id.partition("#")[0] if isinstance(job_id, str) and "#" in job_id else None
