"""The views of ``taskqueues``, ready for the renderer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.cli.comparison import comparison_sentence, comparison_table
from fairq.cli.figures import counted, short
from fairq.cli.output import Column, Table, View
from fairq.common.quantities import shown_duration

if TYPE_CHECKING:
    from fairq.steps.taskqueues.check import CheckReport
    from fairq.steps.taskqueues.import_dump import ImportedQueues
    from fairq.steps.taskqueues.match import Matched
    from fairq.steps.taskqueues.priorities import QueueList, ShareReport
    from fairq.steps.taskqueues.why import WhyNot

FIELDS = (
    "task_queue", "owner", "owner_group", "cpu_time", "sites", "banned_sites", "grid_ces", "platforms", "job_types",
    "tags", "min_ram", "max_ram", "jobs", "average_priority", "priority", "stored_priority", "last_update_time",
)  # fmt: skip
"""The columns of every queue in CSV and TSV."""

_DRAWN = {"dirac": "DIRAC's draw", "proportional": "proportional draw", "strict": "highest priority first"}
"""The display name of each selection."""

_REQUIREMENT_LABELS = (
    ("sites", "in"), ("banned_sites", "not in"), ("grid_ces", "CE"), ("platforms", "platform"), ("job_types", "type"),
    ("tags", "tags"), ("min_ram", "RAM from"), ("max_ram", "RAM to"),
)  # fmt: skip


def list_view(listed: QueueList) -> View:
    """Return the task queues."""
    table = Table(
        columns=_queue_columns(),
        records=[{**queue, "requires": _requirement_text(queue)} for queue in listed.queues],
        empty="no job is idle: there are no task queues",
    )
    jobs = sum(queue["jobs"] for queue in listed.queues)
    text = f"{counted(len(listed.queues), 'task queue')} of {counted(jobs, 'job')}, rules {listed.rules}"
    return View(text=text if listed.queues else None, tables=[table], fields=(*FIELDS, "rules"))


def shares_view(report: ShareReport) -> View:
    """Return the calculation of the shares: groups, users, queues, corrections."""
    groups = Table(
        columns=[
            Column("Group", "owner_group"),
            Column("Sharing", "job_sharing", _yes_no, "left", level=4),
            Column("Users", "users", level=3),
            Column("Queues", "task_queues", level=2),
            Column("JobShare", "job_share", short, level=1),
            Column("Factor", "factor", _four_decimals, level=1),
            Column("Share", "share", _priority),
        ],
        records=report.groups,
        title=f"Groups, rules {report.rules}",
        key="groups",
        empty="no group is configured and no job is idle",
    )
    users = Table(
        columns=[
            Column("Group", "owner_group"),
            Column("User", "owner"),
            Column("Queues", "task_queues", level=2),
            Column("Expected", "expected_share", _priority, level=1),
            Column("Factor", "factor", _four_decimals, level=1),
            Column("Share", "share", _priority),
        ],
        records=report.users,
        title="Users of groups without job sharing",
        key="users",
    )
    queues = Table(
        columns=[
            *_queue_columns()[:-2],
            Column("Pool Share", "pool_share", _priority, level=6),
            Column("Own", "own_priority", _priority, level=4),
            Column("Family", "family", level=3),
            *_queue_columns()[-2:],
        ],
        records=[{**queue, "requires": _requirement_text(queue)} for queue in report.queues],
        title="Task queues",
        key="task_queues",
    )
    return View(tables=[groups, users, queues, _corrections(report)], document={"rules": report.rules}, main=2)


def _corrections(report: ShareReport) -> Table:
    """Return a row for every slice of every corrector, and one with the resulting factor."""
    rows = []
    for entity in (*report.groups, *report.users):
        for step in entity["corrections"]:
            name = entity.get("owner") or entity["owner_group"]
            common = {"instance": f"{step['corrector']} {step['instance']}", "entity": name}
            for part in step["slices"]:
                rows.append({**common, "expected": step["fraction"], **part})
            rows.append(
                {
                    **common,
                    "slice": "= factor",
                    "raw_correction": step["raw_factor"],
                    "correction": step["factor"],
                    "bound": step["bound"],
                    "max_correction": step["max_global_correction"],
                }
            )
    return Table(
        columns=[
            Column("Corrector", "instance"),
            Column("Of", "entity"),
            Column("Slice", "slice"),
            Column("Expected", "expected", _percent, level=6),
            Column("Use", "use", short, level=5),
            Column("of all", "use_fraction", _percent, level=4),
            Column("Raw", "raw_correction", _four_decimals, level=3),
            Column("Correction", "correction", _four_decimals),
            Column("Bound", "bound", level=1),
            Column("Max", "max_correction", short, level=2),
            Column("Weight", "weight", _four_decimals, level=7),
            Column("Term", "term", _four_decimals, level=8),
        ],
        records=rows,
        title="Corrections",
    )


def check_view(report: CheckReport, *, every: bool) -> View:
    """Return the queues whose stored priority differs from the expected one, or *every* queue with its verdict."""
    columns = [
        Column("Queue", "task_queue"),
        Column("Group", "owner_group", level=3),
        Column("Owner", "owner", level=2),
        Column("CPUTime", "cpu_time", level=4),
        Column("Jobs", "jobs", level=1),
        Column("Expected", "expected", _priority),
        Column("Stored", "stored", _priority),
        Column("Requires", "requires", level=5),
    ]
    queues = report.queues if every else report.differences
    table = Table(
        columns=columns,
        records=[{**queue, "requires": _requirement_text(queue)} for queue in queues],
        key="task_queues",
    )
    fields = (*FIELDS[:13], "expected", "stored", "verdict")
    return View(tables=[table], document={"rules": report.rules, "alike": report.alike}, fields=fields)


def verdict(report: CheckReport) -> str:
    """Return the result of a check in one sentence."""
    count, difference_count = len(report.queues), len(report.differences)
    if not difference_count:
        subject = "the only task queue has" if count == 1 else f"all {count} task queues have"
        return f"{subject} the expected priority (rules {report.rules})"
    subject = f"{difference_count} of {counted(count, 'task queue')} {'does' if difference_count == 1 else 'do'}"
    text = f"{subject} not have the expected priority (rules {report.rules})"
    if report.alike is not None:
        text += (
            f"; all have {report.alike:g}: nothing recalculates them. Check that the TaskQueuesAgent runs"
            " (DIRAC issue 8650)"
        )
    return text


def match_view(matched: Matched) -> View:
    """Return the jobs matched to pilots."""
    records = [
        {
            "job": f"{matched_job.job.cluster}.{matched_job.job.first_proc}",
            "submitter": matched_job.job.submitter,
            "owner": matched_job.owner,
            "group": matched_job.group,
            "task_queue": matched_job.queue,
            "priority": matched_job.priority,
            "user_priority": matched_job.user_priority,
            "chance": matched_job.chance,
            "slot": matched_job.slot,
            **({"schedd": matched_job.job.schedd} if matched_job.job.schedd else {}),
        }
        for matched_job in matched.matches
    ]
    columns = [
        Column("Job", "job"),
        Column("Group", "group", level=3),
        Column("Owner", "owner", level=2),
        Column("Queue", "task_queue", level=1),
        Column("Priority", "priority", _priority, level=4),
        Column("Chance", "chance", _percent, level=5),
        Column("Slot", "slot"),
    ]
    document = {
        "rules": matched.rules,
        "selection": matched.selection,
        "site": matched.pilot.site,
        "time": matched.time,
        "asked": matched.pilots,
        "queues": matched.queues,
        "matching": matched.matching,
        "limited": matched.restrictions.limited,
        "delayed": [
            {"attribute": attribute, "value": value, "seconds": seconds}
            for (attribute, value), seconds in matched.restrictions.delayed.items()
        ],
    }
    counts = f"{counted(len(records), 'job')} for {counted(matched.pilots, 'pilot')} at {matched.pilot.site}"
    text = f"{counts}, rules {matched.rules}, {_DRAWN[matched.selection]}"
    table = Table(columns=columns, records=records, key="matches")
    return View(text=text if records else None, tables=[table], document=document)


def shortage(matched: Matched) -> str:
    """Return why pilots got no job."""
    missing = matched.pilots - len(matched.matches)
    who = (
        "the pilot gets no job"
        if matched.pilots == 1
        else f"{missing} of {matched.pilots} pilots {'gets' if missing == 1 else 'get'} no job"
    )
    if matched.is_restricted:
        return f"{who}: {'; '.join(_restriction_texts(matched))}"
    if not matched.queues:
        return f"{who}: no job is idle"
    if not matched.matching:
        none = (
            "the only task queue does not match"
            if matched.queues == 1
            else f"none of {matched.queues} task queues matches"
        )
        return f"{who}: {none}; see fairq taskqueues why QUEUE --site ..."
    return f"{who}: the matching task queues are empty"


def _restriction_texts(matched: Matched) -> Iterator[str]:
    """Yield a text for the reached limits of the site, and one for each delay with its remaining time."""
    limited = "; ".join(f"{name} {', '.join(values)}" for name, values in matched.restrictions.limited.items())
    if limited:
        yield f"{matched.pilot.site} is at its limit for {limited}"
    for (attribute, value), seconds in matched.restrictions.delayed.items():
        yield f"the delay of {attribute} {value} lasts {shown_duration(math.ceil(seconds))} more"


def why_view(explanation: WhyNot, comparison: dict[str, Any] | None) -> View:
    """Return why a queue or job is not offered to a pilot; *comparison*: the decision of the other set of rules."""
    table = Table(
        columns=[
            Column("Condition", "condition"),
            Column("Required", "wanted"),
            Column("Offered", "offered"),
            Column("Pilot change", "pilot_change"),
            Column("or job change", "job_change"),
        ],
        records=[asdict(failure) for failure in explanation.failures],
        key="failures",
    )
    document: dict[str, Any] = {
        "rules": explanation.rules,
        "site": explanation.pilot.site,
        "job": explanation.job,
        "task_queue": explanation.queue,
        "offered": explanation.queue is not None and not explanation.failures,
        "reason": explanation.reason or None,
        "priority": explanation.priority,
        "chance": explanation.chance,
        "ahead": explanation.ahead,
        "matching": explanation.matching,
        "queues": explanation.queues,
    }
    tables, text = [table], _sentence(explanation)
    if comparison is not None:
        document["compare"] = comparison
        tables.append(comparison_table(comparison))
        text += f"\n{comparison_sentence(comparison)}"
    return View(text=text, tables=tables, document=document)


def _sentence(explanation: WhyNot) -> str:
    site = explanation.pilot.site
    if explanation.queue is None:
        return f"Job {explanation.job} is not offered to a pilot at {site}: {explanation.reason}."
    job = (
        f"Job {explanation.job} of task queue {explanation.queue}"
        if explanation.job
        else f"Task queue {explanation.queue}"
    )
    if explanation.failures:
        count = len(explanation.failures)
        failed = "1 condition fails" if count == 1 else f"{count} conditions fail"
        return f"{job} is not offered to this pilot at {site}: {failed} (rules {explanation.rules})."
    queue = f"The queue has priority {explanation.priority:.4f} and {counted(explanation.jobs, 'job')}"
    chance = "" if explanation.chance is None else f"; its chance to be drawn first is {explanation.chance:.1%}"
    ahead = (
        f" {counted(explanation.ahead, 'older job')} with the same UserPriority go first." if explanation.ahead else ""
    )
    return (
        f"{job} is offered to this pilot at {site}, "
        f"like {explanation.matching} of {counted(explanation.queues, 'task queue')}. "
        f"{queue}{chance} (rules {explanation.rules}).{ahead}"
    )


def import_view(imported: ImportedQueues, dry_run: bool) -> View:
    """Return the numbers of imported records."""
    counts = {"task_queues": imported.task_queues, "jobs": imported.jobs}
    words = [counted(imported.task_queues, "task queue"), counted(imported.jobs, "job")]
    for name, count, word in (("groups", imported.groups, "group"), ("reports", imported.reports, "report")):
        if count is not None:
            counts[name] = count
            words.append(counted(count, word))
    if imported.here:
        counts["here"] = imported.here
        words.append(f"skipping {counted(imported.here, 'job')} already running here or ended since the dump was made")
    return View(document=counts, text=f"{'would import' if dry_run else 'imported'} {', '.join(words)}")


def _queue_columns() -> list[Column]:
    return [
        Column("Queue", "task_queue"),
        Column("Group", "owner_group"),
        Column("Owner", "owner"),
        Column("CPUTime", "cpu_time", level=5),
        Column("Jobs", "jobs", level=1),
        Column("Average", "average_priority", short, level=7),
        Column("Priority", "priority", _priority),
        Column("Requires", "requires", level=2),
    ]


def _requirement_text(queue: Mapping[str, Any]) -> str:
    """Return the requirements of a queue, except owner, group and CPU time, as text."""
    return "; ".join(f"{word} {queue[name]}" for name, word in _REQUIREMENT_LABELS if queue.get(name))


def _four_decimals(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _priority(value: float) -> str:
    return f"{value:.4f}"
