"""Slurm's jobs as job ads: one for each part of a job on a node, since a job of fairq has one slot; its past jobs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from fairq.common.expression_form import as_expression
from fairq.common.past import EndedJob
from fairq.common.records import Ad, JobStatus
from fairq.engine.classad.nodes import literal_text
from fairq.formats.slurm.queue import SlurmJob
from fairq.formats.slurm.sacct import Record
from fairq.formats.slurm.text import Resources
from fairq.steps.pool.slurm.groups import Groups
from fairq.steps.pool.slurm.machines import Part, Partition

_HELD = {
    "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin", "Licenses", "Reservation",
    "BadConstraints", "AccountNotAllowed", "InvalidQOS", "InvalidAccount", "RequeueHeld",
}  # fmt: skip
"""Reasons that no free node ends."""

_NAME = r"[\w.-]+"
_NUMBER = re.compile(r"(\d{1,9})(?:_(\d{1,9}))?", re.ASCII)


class Work(Struct):
    """The ads of jobs, the parts of nodes that they have, by node, and *notes* on what is different, as sentences."""

    ads: list[Ad] = field(default_factory=list)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_work(jobs: Iterable[SlurmJob], groups: Groups, partitions: Mapping[str, Partition]) -> Work:
    """Return the work that *jobs* are."""
    work = Work()
    odd: Counter[str] = Counter()
    for job in jobs:
        for task in job.tasks or (None,):
            for part in range(job.nodes):
                _take(work, job, task, part, groups, partitions)
        if job.nodes > 1 and _status(job, partitions)[0] != JobStatus.COMPLETED:
            odd["jobs of several nodes: each node is a job of its own, and they start apart"] += 1
        if job.features and _features(job.features) is None:
            odd["features that are not only alternatives, or only needed together, are not asked for"] += 1
    work.notes = [f"{count} with {what}" if what[0] == "f" else f"{count} {what}" for what, count in odd.items()]
    return work


def _take(
    work: Work, job: SlurmJob, task: int | None, part: int, groups: Groups, partitions: Mapping[str, Partition]
) -> None:
    """Add the part of a job, or of a task of an array, on one of its nodes to *work*."""
    status, reason = _status(job, partitions)
    cluster = job.array if task is not None else job.number
    proc = (task or 0) * job.nodes + part
    submitter = groups.submitter(job.account, job.user)
    has = job.given if status == JobStatus.RUNNING else job.asked
    amount = _share(has, job.nodes, part)
    limits = [partitions[name].limit for name in job.partitions if name in partitions]
    limit = job.limit or next((most for most in limits if most), None)
    ad: Ad = {
        "MyType": "Job",
        "ClusterId": cluster,
        "ProcId": proc,
        "JobStatus": int(status),
        "JobUniverse": 5,
        "Owner": job.user,
        "AccountingGroup": submitter,
        "JobPrio": job.priority,
        "QDate": job.submit,
        "EnteredCurrentStatus": job.start or job.submit,
        "RequestCpus": amount.cpus,
        "RequestMemory": amount.memory,
        "Requirements": as_expression(" && ".join(_requirements(job))),
        "JobBatchName": job.name,
        "SlurmJobId": str(job.number) if task is None else f"{job.array}_{task}",
        "SlurmPartition": ",".join(job.partitions),
        "SlurmQOS": job.qos,
    }
    if amount.gpus:
        ad["RequestGPUs"] = amount.gpus
    if limit is not None:
        ad["AllowedExecuteDuration"] = limit
    if status == JobStatus.RUNNING:
        ad["JobStartDate"] = ad["JobCurrentStartDate"] = job.start
        running = Part(f"{cluster}.{proc}", submitter, job.start, amount)
        work.parts.setdefault(job.hosts[part], []).append(running)
    elif status == JobStatus.HELD:
        ad["HoldReason"] = reason
    elif job.reason:
        ad["SlurmReason"] = job.reason
    work.ads.append(ad)


def _status(job: SlurmJob, partitions: Mapping[str, Partition]) -> tuple[int, str]:
    """Return the status of a job, and why it is held."""
    if job.hosts:
        return JobStatus.RUNNING, ""
    if "PENDING" not in job.states:
        return JobStatus.COMPLETED, ""
    if job.reason in _HELD:
        return JobStatus.HELD, f"{job.reason} in Slurm" + (f": {job.dependency}" if job.dependency else "")
    known = [name for name in job.partitions if name in partitions]
    if known and not any(partitions[name].is_up for name in known):
        return JobStatus.HELD, f"partition {','.join(known)} takes no jobs in Slurm"
    return JobStatus.IDLE, ""


def _share(whole: Resources, nodes: int, part: int) -> Resources:
    """Return the share of one of *nodes*: equal shares, and the first ones have the remainder."""
    cpus, memory, gpus = (
        amount // nodes + (part < amount % nodes) for amount in (whole.cpus, whole.memory, whole.gpus)
    )
    return Resources(max(1, cpus), memory, gpus)


def _requirements(job: SlurmJob) -> Iterator[str]:
    """Yield what a job asks of its node: partition, features and nodes."""
    if job.partitions:
        # A machine that is added on trial is in every partition.
        members = [f"stringListMember({literal_text(name)}, TARGET.SlurmPartitions)" for name in job.partitions]
        yield _any(["TARGET.SlurmPartitions is undefined", *members])
    features = _features(job.features)
    if features:
        yield features
    if job.required:
        yield _any(f"TARGET.Machine == {literal_text(name)}" for name in job.required)
    for name in job.excluded:
        yield f"TARGET.Machine != {literal_text(name)}"
    yield "TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory"
    if job.asked.gpus:
        yield "TARGET.GPUs >= RequestGPUs"


def _features(text: str) -> str | None:
    """Return what features mean in a requirement: all of them, or any of them; None for any other expression."""
    for sign, word in (("[&,]", " && "), (r"\|", " || ")):
        if re.fullmatch(rf"{_NAME}({sign}{_NAME})*", text):
            names = re.findall(_NAME, text)
            return _joined((f"stringListMember({literal_text(name)}, TARGET.SlurmFeatures)" for name in names), word)
    return None


def _any(conditions: Iterable[str]) -> str:
    return _joined(conditions, " || ")


def _joined(conditions: Iterable[str], word: str) -> str:
    clauses = list(conditions)
    return clauses[0] if len(clauses) == 1 else f"({word.join(clauses)})"


def ended_jobs(records: Iterable[Record], groups: Groups, domain: str, offset: int) -> Iterator[tuple[EndedJob, Ad]]:
    """Yield the jobs that ran and have ended, each with its ad; times are *offset* seconds later than in UTC.

    A job that Slurm ended, or somebody cancelled, was removed, with Slurm's state as the reason.
    """
    for record in records:
        number = _NUMBER.fullmatch(record.number)
        if number is None or record.start is None or not record.has_ended:
            continue
        submitter = groups.submitter(record.account, record.user)
        ad: Ad = {
            "MyType": "Job",
            "JobUniverse": 5,
            "AccountingGroup": submitter,
            "RequestCpus": record.cpus,
            "RequestMemory": record.memory,
        }
        ended = record.state in ("COMPLETED", "FAILED")
        start = record.start - offset
        job = EndedJob(
            cluster=int(number[1]),
            first_proc=int(number[2] or 0),
            last_proc=int(number[2] or 0),
            ad_id=0,
            submitter=f"{submitter}@{domain}",
            owner=record.user,
            status=int(JobStatus.COMPLETED if ended else JobStatus.REMOVED),
            queue_date=record.submit - offset,
            end_time=start + record.run,
            runs=1,
            first_start=start,
            start_time=start,
            wall_seconds=record.run,
            slot_seconds=float(record.run * record.cpus),
            exit_code=int(record.state == "FAILED") if ended else None,
            request_cpus=float(record.cpus),
            request_memory=float(record.memory),
            reason=None if ended else f"{record.state} in Slurm",
        )
        yield job, ad
