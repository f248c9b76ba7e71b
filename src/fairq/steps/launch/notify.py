"""Mail to the users of ended jobs, according to ``notification`` and ``notify_user`` of the submit description.

Source: the manual of condor_submit, "notification".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.quantities import shown_duration, shown_time
from fairq.records import Ad, JobStatus, Launch
from fairq.state import ended_jobs, jobs
from fairq.state.connection import State, reading
from fairq.state.ended_jobs import Wanted
from fairq.steps.launch.outcome import BY_USER, Outcome
from fairq.steps.launch.values import raw
from fairq.steps.mail import Mailer

if TYPE_CHECKING:
    from fairq.settings import Settings

ALWAYS, COMPLETE, ERROR = 1, 2, 3
"""HTCondor's values of the notification attribute; 0 means never."""

_MOST = 100
"""Maximum number of mails that one turn sends."""


def notify(path: Path, settings: Settings, ended: Sequence[tuple[Launch, Outcome | None]]) -> list[str]:
    """Mail the users of these runs who asked for it; return error messages. Without mail.command, do nothing."""
    if not settings["mail.command"]:
        return []
    told: list[tuple[Launch, Outcome, Ad]] = []
    with reading(path) as state:
        for launch, what in ended:
            ad = None if what is None else _ad(state, launch, what)
            if what is not None and ad is not None and _is_wanted(launch, what, raw(ad, "JobNotification")):
                told.append((launch, what, ad))
    for one in told[:_MOST]:
        problem = _mail(settings, *one)
        if problem is not None:
            # Stop here: the other mails would wait for the same command.
            return [problem]
    left = len(told) - _MOST
    return [f"{left} mails about jobs were left out: {_MOST} are sent at once"] if left > 0 else []


def _ad(state: State, launch: Launch, what: Outcome) -> Ad | None:
    if what.status in (JobStatus.COMPLETED, JobStatus.REMOVED):
        wanted = Wanted(jobs=((launch.cluster, launch.proc, launch.proc, launch.schedd),))
        for _, one in ended_jobs.page(state, wanted, 1):
            return one.ad_of(jobs.ads(state, [one.ad_id])[one.ad_id], launch.proc)
        return None
    for job in jobs.select(state, cluster=launch.cluster, proc=launch.proc, schedd=launch.schedd):
        return job.ad_of(jobs.ads(state, [job.ad_id])[job.ad_id], launch.proc)
    return None


def _is_wanted(launch: Launch, what: Outcome, notification: object) -> bool:
    facts = launch.ended or {}
    failed = facts.get("signal") is not None or bool(facts.get("exit_code"))
    if notification == ALWAYS:
        return True
    if notification == COMPLETE:
        return what.status == JobStatus.COMPLETED
    if notification != ERROR:
        return False
    return failed if what.status == JobStatus.COMPLETED else what.status == JobStatus.HELD and what.code != BY_USER


def _mail(settings: Settings, launch: Launch, what: Outcome, ad: Ad) -> str | None:
    facts = launch.ended or {}
    name = f"fairq job {launch.job}"
    if what.status == JobStatus.COMPLETED:
        signal = facts.get("signal")
        said = f"ended by signal {signal}" if signal is not None else f"ended with exit code {facts.get('exit_code')}"
    else:
        word = {JobStatus.HELD: "is held", JobStatus.REMOVED: "was removed"}.get(what.status, "waits again")
        said = word + (f": {what.reason}" if what.reason else "")
    end = launch.end_time or launch.intended
    lines = [
        f"{name} {said}.",
        "",
        f"Command:   {ad.get('Cmd', '')} {ad.get('Args') or ad.get('Arguments') or ''}".rstrip(),
        f"Slot:      {launch.slot}",
        f"Submitted: {shown_time(ad.get('QDate', 0))}",
        f"Started:   {shown_time(launch.intended)}",
        f"Ended:     {shown_time(end)}, after {shown_duration(max(0, end - launch.intended))}",
    ]
    if "user_seconds" in facts:
        lines.append(f"CPU time:  {facts['user_seconds'] + facts.get('system_seconds', 0.0):.1f} s")
        lines.append(f"Memory:    {-(-int(facts.get('peak_memory_kb', 0)) // 1024)} MB at most")
    to = raw(ad, "NotifyUser") or str(ad.get("Owner", ""))
    return Mailer.of(settings).send(str(to), f"{name} {said}", "\n".join(lines) + "\n")
