"""Edits of the attributes of jobs in the queue: the protected attributes, and the ads with the new values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairq.common.expression_form import as_expression, expression_text, without_attributes
from fairq.common.procs import Procs
from fairq.common.records import JOB_COLUMNS, Ad, JobRange
from fairq.engine.accounting.identity import submitter_name
from fairq.errors.pool import ProtectedAttributeError
from fairq.formats.submitfile import JobGroup, Submission
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.jobs.conditions import CONDITIONS
from fairq.steps.jobs.submit import check

if TYPE_CHECKING:
    from fairq.settings import Settings

_RESOURCES = {"requestcpus": "Cpus", "requestmemory": "Memory", "requestdisk": "Disk", "requestgpus": "GPUs"}
"""The requests, in lower case, for which condor_submit adds a clause to the requirements."""

_QUEUE = "the queue sets it"
_USAGE = "it is what the runs of the job have used"
_IDENTITY = "it decides who is charged; use --accounting-group, or remove the job and submit it again"
_CREDENTIAL = "it tells who proved to be the owner, and how"
_UNIVERSE = "it decides how the job runs; remove the job and submit it again"
_CONDITION = "it decides what the job waits for; remove the job and submit it again"

_COUNTED = (
    "CompletionDate NumCkpts NumJobStarts NumJobCompletions NumRestarts NumSystemHolds RemoteWallClockTime "
    "RemoteUserCpu RemoteSysCpu CumulativeSlotTime CommittedTime TotalSuspensions ExitStatus ExitBySignal ExitCode "
    "ExitSignal JobStartDate JobCurrentStartDate JobRunId MemoryUsage ResidentSetSize DiskUsage ImageSize"
)
_SET = (
    "MyType TargetType Schedd Submitter RerunOf RemoteHost LastRemoteHost Launch HoldReason HoldReasonCode "
    "HoldReasonSubCode RemoveReason ReleaseReason ServerTime WaitsFor EngineReason Matched Reservation TotalSubmitProcs"
)
_PROVEN = (
    "OsUser AuthTokenSubject AuthTokenIssuer AuthTokenGroups AuthTokenId AuthTokenScopes AuthTokenProject "
    "x509UserProxySubject x509UserProxyEmail x509UserProxyVOName x509UserProxyFirstFQAN x509UserProxyFQAN"
)
_CHARGED = "AccountingGroup AcctGroup AcctGroupUser NiceUser"

_PROTECTED = {
    **dict.fromkeys(JOB_COLUMNS, _QUEUE),
    **dict.fromkeys(_SET.lower().split(), _QUEUE),
    **dict.fromkeys(_COUNTED.lower().split(), _USAGE),
    **dict.fromkeys(CONDITIONS | {"deferralwindow", "deferralpreptime"}, _CONDITION),
    **dict.fromkeys(_CHARGED.lower().split(), _IDENTITY),
    **dict.fromkeys(_PROVEN.lower().split(), _CREDENTIAL),
    "jobuniverse": _UNIVERSE,
    "jobprio": "use 'fairq prio'",
    "jobstatus": "use 'fairq hold', 'fairq release' or 'fairq remove'",
}
"""Why an attribute, in lower case, cannot be edited: HTCondor's immutable and secure ones, and fairq's own."""


GROUP = "AcctGroup"
"""The attribute of an accounting group; an edit also sets the attributes that follow from it."""

_READ_LATE = (
    "notifyallended notifycommand "
    "jobmaxretries retryuntil jobsuccessexitcode jobnotification notifyuser jobbatchname leavejobinqueue onexithold "
    "onexitholdreason onexitholdsubcode onexitremove periodichold periodicholdreason periodicholdsubcode "
    "periodicrelease periodicremove"
)
AT_ONCE = frozenset(_READ_LATE.split())
"""The attributes, in lower case, that are read when a run ends or while it lasts: a new value counts for it."""


def check_names(names: Iterable[str]) -> None:
    """Raise ProtectedAttributeError for an attribute that cannot be edited."""
    for name in names:
        if problem := _PROTECTED.get(name.lower()):
            raise ProtectedAttributeError(attribute=name, problem=problem)


def check_edit(attributes: Mapping[str, object], settings: Settings) -> list[str]:
    """Check new values as at submit; return warnings.

    Raises ProtectedAttributeError for an attribute that cannot be edited; JobAttributeError for an invalid value.
    """
    check_names(name for name in attributes if name != GROUP)
    submission = Submission([JobGroup(0, 0, dict(attributes), None)])
    check(submission, settings)
    return submission.warnings


def edit(state: State, ranges: Sequence[JobRange], attributes: Ad) -> None:
    """Set *attributes* of the jobs in *ranges*; a new request gets its clause in the requirements."""
    names = {name.lower() for name in attributes}
    shared = jobs.ads(state, {job.ad_id for job in ranges})
    new_ad_ids = {old: jobs.ad_id(state, _edited(ad, attributes)) for old, ad in shared.items()}
    by_ad: dict[int, list[Procs]] = defaultdict(list)
    for job in ranges:
        procs = job.procs
        if not any(name.lower() in names | {"requirements"} for name in (*(job.own or ()), *(job.template or ()))):
            by_ad[job.ad_id].append(procs)
            continue
        own, template = (
            _with_clauses(without_attributes(ad or {}, names), attributes) for ad in (job.own, job.template)
        )
        jobs.change_many(state, [procs], ad_id=new_ad_ids[job.ad_id], own=own or None, template=template or None)
    for old, whole_ranges in by_ad.items():
        jobs.change_many(state, whole_ranges, ad_id=new_ad_ids[old])


def charged_to(group: str, job: JobRange, shared: Ad) -> tuple[Ad, str]:
    """Return the attributes of *job* in another accounting *group*, and its new submitter; raises InvalidNameError."""
    ad = job.ad_of(shared, job.first_proc)
    user = next((value for name, value in ad.items() if name.lower() == "acctgroupuser"), job.owner)
    attributes: Ad = {GROUP: group, "AcctGroupUser": user, "AccountingGroup": f"{group}.{user}"}
    return attributes, submitter_name({**ad, **attributes}, job.submitter.rpartition("@")[2])


def _edited(ad: Ad, attributes: Ad) -> Ad:
    spelled = {name.lower(): name for name in ad}
    return _with_clauses(
        {**ad, **{spelled.get(name.lower(), name): value for name, value in attributes.items()}}, attributes
    )


def _with_clauses(ad: Ad, attributes: Ad) -> Ad:
    """Return *ad* with a clause in its requirements for each request in *attributes* that they do not mention."""
    spelling = next((name for name in ad if name.lower() == "requirements"), None)
    text = None if spelling is None else expression_text(ad[spelling])
    if spelling is None or text is None or any(name.lower() == "requirements" for name in attributes):
        return ad
    resources = [(name, _RESOURCES[name.lower()]) for name in attributes if name.lower() in _RESOURCES]
    clauses = [
        f"(TARGET.{resource} >= {name})"
        for name, resource in resources
        if not re.search(rf"\b{resource}\b", text, re.IGNORECASE)
    ]
    return {**ad, spelling: as_expression(" && ".join([f"({text})", *clauses]))} if clauses else ad
