"""The views of ``taskqueues``, ready for the renderer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairq.cli.figures import counted, short
from fairq.cli.output import Column, Table, View

if TYPE_CHECKING:
    from fairq.steps.taskqueues.check import CheckReport
    from fairq.steps.taskqueues.import_dump import ImportedQueues
    from fairq.steps.taskqueues.match import Matched
    from fairq.steps.taskqueues.priorities import QueueList, ShareReport
    from fairq.steps.taskqueues.why import WhyNot

FIELDS = (
    "TaskQueue", "Owner", "OwnerGroup", "CPUTime", "Sites", "BannedSites", "GridCEs", "Platforms", "JobTypes", "Tags",
    "MinRAM", "MaxRAM", "Jobs", "AveragePriority", "Priority", "StoredPriority", "LastUpdate",
)  # fmt: skip
"""What CSV and TSV show of every queue."""

_DRAWN = {"dirac": "DIRAC's draw", "proportional": "proportional draw", "strict": "highest priority first"}
"""How each selection is shown."""

_ASKED = (
    ("Sites", "in"), ("BannedSites", "not in"), ("GridCEs", "CE"), ("Platforms", "platform"), ("JobTypes", "type"),
    ("Tags", "tags"), ("MinRAM", "RAM from"), ("MaxRAM", "RAM to"),
)  # fmt: skip


def list_view(listed: QueueList) -> View:
    """Return the task queues."""
    table = Table(
        columns=_queue_columns(),
        records=[{**queue, "Requires": _asks(queue)} for queue in listed.queues],
        empty="no job is idle: there are no task queues",
    )
    jobs = sum(queue["Jobs"] for queue in listed.queues)
    text = f"{counted(len(listed.queues), 'task queue')} of {counted(jobs, 'job')}, rules {listed.rules}"
    return View(text=text if listed.queues else None, tables=[table], fields=(*FIELDS, "Rules"))


def shares_view(report: ShareReport) -> View:
    """Return the calculation of the shares: groups, users, queues, corrections."""
    groups = Table(
        columns=[
            Column("Group", "OwnerGroup"),
            Column("Sharing", "JobSharing", _yes_no, "left"),
            Column("Users", "Users"),
            Column("Queues", "TaskQueues"),
            Column("JobShare", "JobShare", short),
            Column("Factor", "Factor", _places),
            Column("Share", "Share", _priority),
        ],
        records=report.groups,
        title=f"Groups, rules {report.rules}",
        key="Groups",
        empty="no group is configured and no job is idle",
    )
    users = Table(
        columns=[
            Column("Group", "OwnerGroup"),
            Column("User", "Owner"),
            Column("Queues", "TaskQueues"),
            Column("Expected", "ExpectedShare", _priority),
            Column("Factor", "Factor", _places),
            Column("Share", "Share", _priority),
        ],
        records=report.users,
        title="Users of groups without job sharing",
        key="Users",
    )
    queues = Table(
        columns=[
            *_queue_columns()[:-2],
            Column("Pool Share", "PoolShare", _priority),
            Column("Own", "OwnPriority", _priority),
            Column("Family", "Family"),
            *_queue_columns()[-2:],
        ],
        records=[{**queue, "Requires": _asks(queue)} for queue in report.queues],
        title="Task queues",
        key="TaskQueues",
    )
    return View(tables=[groups, users, queues, _corrections(report)], document={"rules": report.rules}, main=2)


def _corrections(report: ShareReport) -> Table:
    """Return a row for every slice of every corrector, and one with the factor that comes of them."""
    rows = []
    for entity in (*report.groups, *report.users):
        for step in entity["Corrections"]:
            name = entity.get("Owner") or entity["OwnerGroup"]
            common = {"Instance": f"{step['Corrector']} {step['Instance']}", "Entity": name}
            for part in step["Slices"]:
                rows.append({**common, "Expected": step["Fraction"], **part})
            rows.append(
                {
                    **common,
                    "Slice": "= factor",
                    "RawCorrection": step["RawFactor"],
                    "Correction": step["Factor"],
                    "Bound": step["Bound"],
                    "MaxCorrection": step["MaxGlobalCorrection"],
                }
            )
    return Table(
        columns=[
            Column("Corrector", "Instance"),
            Column("Of", "Entity"),
            Column("Slice", "Slice"),
            Column("Expected", "Expected", _percent),
            Column("Use", "Use", short),
            Column("of all", "UseFraction", _percent),
            Column("Raw", "RawCorrection", _places),
            Column("Correction", "Correction", _places),
            Column("Bound", "Bound"),
            Column("Max", "MaxCorrection", short),
            Column("Weight", "Weight", _places),
            Column("Term", "Term", _places),
        ],
        records=rows,
        title="Corrections",
    )


def check_view(report: CheckReport, *, every: bool) -> View:
    """Return the queues whose stored priority is not what it should be, or *every* queue with its verdict."""
    columns = [
        Column("Queue", "TaskQueue"),
        Column("Group", "OwnerGroup"),
        Column("Owner", "Owner"),
        Column("CPUTime", "CPUTime"),
        Column("Jobs", "Jobs"),
        Column("Expected", "Expected", _priority),
        Column("Stored", "Stored", _priority),
        Column("Requires", "Requires"),
    ]
    shown = report.queues if every else report.differences
    table = Table(columns=columns, records=[{**one, "Requires": _asks(one)} for one in shown], key="TaskQueues")
    fields = (*FIELDS[:13], "Expected", "Stored", "Verdict")
    return View(tables=[table], document={"rules": report.rules, "alike": report.alike}, fields=fields)


def verdict(report: CheckReport) -> str:
    """Return in one sentence what a check found."""
    count, wrong = len(report.queues), len(report.differences)
    if not wrong:
        return f"all {count} task queues have the expected priority (rules {report.rules})"
    told = f"{wrong} of {count} task queues do not have the expected priority (rules {report.rules})"
    if report.alike is not None:
        told += (
            f"; all have {report.alike:g}: nothing recalculates them. Check that the TaskQueuesAgent runs"
            " (DIRAC issue 8650)"
        )
    return told


def match_view(matched: Matched) -> View:
    """Return what pilots got."""
    records = [
        {
            "job": f"{one.job.cluster}.{one.job.first_proc}",
            "submitter": one.job.submitter,
            "owner": one.owner,
            "group": one.group,
            "taskqueue": one.queue,
            "priority": one.priority,
            "userpriority": one.user_priority,
            "chance": one.chance,
            "slot": one.slot,
            **({"schedd": one.job.schedd} if one.job.schedd else {}),
        }
        for one in matched.matches
    ]
    columns = [
        Column("Job", "job"),
        Column("Group", "group"),
        Column("Owner", "owner"),
        Column("Queue", "taskqueue"),
        Column("Priority", "priority", _priority),
        Column("Chance", "chance", _percent),
        Column("Slot", "slot"),
    ]
    document = {
        "rules": matched.rules,
        "selection": matched.selection,
        "site": matched.pilot.site,
        "time": matched.time,
        "asked": matched.asked,
        "queues": matched.queues,
        "matching": matched.matching,
        "limited": matched.negative,
    }
    told = f"{counted(len(records), 'job')} for {counted(matched.asked, 'pilot')} at {matched.pilot.site}"
    text = f"{told}, rules {matched.rules}, {_DRAWN[matched.selection]}"
    table = Table(columns=columns, records=records, key="matches")
    return View(text=text if records else None, tables=[table], document=document)


def shortage(matched: Matched) -> str:
    """Say why pilots got no job."""
    missing = matched.asked - len(matched.matches)
    who = "the pilot gets no job" if matched.asked == 1 else f"{missing} of {matched.asked} pilots get no job"
    if matched.negative:
        limited = "; ".join(f"{name} {', '.join(values)}" for name, values in matched.negative.items())
        return f"{who}: {matched.pilot.site} is at its limit for {limited}"
    if not matched.queues:
        return f"{who}: no job is idle"
    if not matched.matching:
        return f"{who}: none of {matched.queues} task queues matches; see fairq taskqueues why QUEUE --site ..."
    return f"{who}: the matching task queues are empty"


def why_view(found: WhyNot) -> View:
    """Return why a queue or job is not offered to a pilot."""
    failures = [
        {
            "Condition": failure.condition,
            "Wanted": failure.wanted,
            "Offered": failure.offered,
            "PilotChange": failure.pilot_change,
            "JobChange": failure.job_change,
        }
        for failure in found.failures
    ]
    table = Table(
        columns=[
            Column("Condition", "Condition"),
            Column("Required", "Wanted"),
            Column("Offered", "Offered"),
            Column("Pilot change", "PilotChange"),
            Column("or job change", "JobChange"),
        ],
        records=failures,
        key="failures",
    )
    document = {
        "rules": found.rules,
        "site": found.pilot.site,
        "job": found.job,
        "taskqueue": found.queue,
        "offered": found.queue is not None and not found.failures,
        "reason": found.reason or None,
        "priority": found.priority,
        "chance": found.chance,
        "ahead": found.ahead,
        "matching": found.matching,
        "queues": found.queues,
    }
    return View(text=_sentence(found), tables=[table], document=document)


def _sentence(found: WhyNot) -> str:
    site = found.pilot.site
    if found.queue is None:
        return f"Job {found.job} is not offered to a pilot at {site}: {found.reason}."
    job = f"Job {found.job} of task queue {found.queue}" if found.job else f"Task queue {found.queue}"
    if found.failures:
        count = len(found.failures)
        held = "1 condition fails" if count == 1 else f"{count} conditions fail"
        return f"{job} is not offered to this pilot at {site}: {held} (rules {found.rules})."
    queue = f"The queue has priority {found.priority:.4f} and {counted(found.jobs, 'job')}"
    chance = "" if found.chance is None else f"; its chance to be drawn first is {found.chance:.1%}"
    ahead = f" {counted(found.ahead, 'older job')} with the same UserPriority go first." if found.ahead else ""
    return (
        f"{job} is offered to this pilot at {site}, like {found.matching} of {found.queues} task queues. "
        f"{queue}{chance} (rules {found.rules}).{ahead}"
    )


def import_view(imported: ImportedQueues, dry_run: bool) -> View:
    """Return how much was imported."""
    counts = {"TaskQueues": imported.task_queues, "Jobs": imported.jobs}
    words = [counted(imported.task_queues, "task queue"), counted(imported.jobs, "job")]
    for name, count, word in (("Groups", imported.groups, "group"), ("Reports", imported.reports, "report")):
        if count is not None:
            counts[name] = count
            words.append(counted(count, word))
    if imported.here:
        counts["Here"] = imported.here
        words.append(f"skipping {counted(imported.here, 'job')} already running here or ended since the dump was made")
    return View(document=counts, text=f"{'would import' if dry_run else 'imported'} {', '.join(words)}")


def _queue_columns() -> list[Column]:
    return [
        Column("Queue", "TaskQueue"),
        Column("Group", "OwnerGroup"),
        Column("Owner", "Owner"),
        Column("CPUTime", "CPUTime"),
        Column("Jobs", "Jobs"),
        Column("Average", "AveragePriority", short),
        Column("Priority", "Priority", _priority),
        Column("Requires", "Requires"),
    ]


def _asks(queue: Mapping[str, Any]) -> str:
    """Return in words what a queue asks for beyond owner, group and CPU time."""
    return "; ".join(f"{word} {queue[name]}" for name, word in _ASKED if queue.get(name))


def _places(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _priority(value: float) -> str:
    return f"{value:.4f}"
