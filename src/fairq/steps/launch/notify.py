"""Mail to the users of jobs that start or end, according to ``notification`` and ``notify_user`` of the job.

Source: the manual of condor_submit, "notification"; ``Email::shouldSend`` and ``Email::sendStart`` (email_cpp.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.quantities import shown_duration, shown_time
from fairq.common.records import UNFORESEEN, Ad, JobStatus, Launch
from fairq.state import ended_jobs, jobs, runs
from fairq.state.connection import State, reading
from fairq.state.ended_jobs import Wanted
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.outcome import BY_POLICY, BY_USER, SUBMITTED_ON_HOLD, Outcome
from fairq.steps.launch.values import one_line, program_of, read
from fairq.steps.mail import ALWAYS, COMPLETE, ERROR, START, Mailer, is_address

if TYPE_CHECKING:
    from fairq.settings import Settings

_NO_ERROR = (BY_USER, BY_POLICY, SUBMITTED_ON_HOLD)
"""Codes of holds that the user asked for, also by the job's own policy."""

_MAX_MAILS = 100
"""Maximum number of mails that one turn sends."""


def notify(
    path: Path,
    settings: Settings,
    ended: Sequence[tuple[Launch, Outcome | None]],
    started: Sequence[Launch] = (),
    *,
    faults: Faults,
) -> list[str]:
    """Mail the users of these runs who asked for it; return error messages. Without mail.command, do nothing.

    The *started* runs are mailed only if they are the first of their jobs. Jobs whose mail cannot be written become
    *faults* of the turn.
    """
    mailer = Mailer.of(settings)
    if not mailer.command:
        return []
    mails: list[tuple[str, str, str]] = []
    with reading(path) as state:
        for launch in started:
            ad = _queued_ad(state, launch)
            with faults.apart(launch.procs):
                if ad is not None and _notification(ad) == START and not _former_runs(state, launch):
                    mails.append(_mail(launch, ad, f"started on {launch.slot}", []))
        for launch, outcome in ended:
            ad = None if outcome is None else _ad(state, launch, outcome)
            is_known = outcome is not None and outcome.code == UNFORESEEN
            with faults.apart(launch.procs, again=is_known):
                if outcome is not None and ad is not None and _is_wanted(launch, outcome, ad):
                    mails.append(_mail(launch, ad, _end(launch, outcome), _facts(launch)))
    unknown = [to for to, _, _ in mails if not is_address(to)]
    notes = [f"no mail was sent to {to!r}: it is no address" for to in dict.fromkeys(unknown)]
    mails = [mail for mail in mails if is_address(mail[0])]
    for mail in mails[:_MAX_MAILS]:
        problem = mailer.send(*mail)
        if problem is not None:
            # Stop here: the other mails would wait for the same command.
            return [*notes, problem]
    unsent = len(mails) - _MAX_MAILS
    return [*notes, f"{unsent} mails about jobs were left out: {_MAX_MAILS} are sent at once"] if unsent > 0 else notes


def _ad(state: State, launch: Launch, outcome: Outcome) -> Ad | None:
    if outcome.status in (JobStatus.COMPLETED, JobStatus.REMOVED):
        query = Wanted(jobs=((launch.cluster, launch.proc, launch.proc, launch.schedd),))
        for _, ended_job in ended_jobs.page(state, query, 1):
            return ended_job.ad_of(jobs.ads(state, [ended_job.ad_id])[ended_job.ad_id], launch.proc)
        return None
    return _queued_ad(state, launch)


def _queued_ad(state: State, launch: Launch) -> Ad | None:
    job = jobs.find(state, *launch.key)
    return None if job is None else jobs.whole_ad(state, job)


def _former_runs(state: State, launch: Launch) -> bool:
    return bool(runs.of_procs(state, launch.schedd, launch.cluster, launch.proc, launch.proc))


def _notification(ad: Ad) -> int:
    value: int | None = read(ad, "JobNotification", 0)
    return value or 0


def _is_wanted(launch: Launch, outcome: Outcome, ad: Ad) -> bool:
    notification = _notification(ad)
    if notification == ALWAYS:
        return True
    if notification == COMPLETE:
        return outcome.status == JobStatus.COMPLETED
    if notification != ERROR:
        return False
    if outcome.status == JobStatus.COMPLETED:
        facts = launch.ended or {}
        expected = read(ad, "JobSuccessExitCode", launch.end_time or launch.intended) or 0
        return facts.get("signal") is not None or facts.get("exit_code") not in (None, expected)
    return outcome.status == JobStatus.HELD and outcome.code not in _NO_ERROR


def _end(launch: Launch, outcome: Outcome) -> str:
    """Return how the run ended, in words."""
    facts = launch.ended or {}
    if outcome.status == JobStatus.COMPLETED:
        signal = facts.get("signal")
        return f"ended by signal {signal}" if signal is not None else f"ended with exit code {facts.get('exit_code')}"
    word = {JobStatus.HELD: "is held", JobStatus.REMOVED: "was removed"}.get(outcome.status, "waits again")
    return word + (f": {outcome.reason}" if outcome.reason else "")


def _facts(launch: Launch) -> list[str]:
    """Return the lines of a mail about the end of the run."""
    facts = launch.ended or {}
    end = launch.end_time or launch.intended
    lines = [f"Ended:     {shown_time(end)}, after {shown_duration(max(0, end - launch.intended))}"]
    if "user_seconds" in facts:
        lines.append(f"CPU time:  {facts['user_seconds'] + facts.get('system_seconds', 0.0):.1f} s")
        lines.append(f"Memory:    {-(-int(facts.get('peak_memory_kb', 0)) // 1024)} MB at most")
    return lines


def _mail(launch: Launch, ad: Ad, news: str, facts: Sequence[str]) -> tuple[str, str, str]:
    """Return address, subject and text of a mail about the run."""
    name = f"fairq job {launch.job}"
    lines = [
        f"{name} {news}.",
        "",
        f"Command:   {one_line(' '.join(program_of(ad, launch.intended)))}",
        f"Slot:      {launch.slot}",
        f"Submitted: {shown_time(ad['QDate'])}",
        f"Started:   {shown_time(launch.intended)}",
        *facts,
    ]
    to = read(ad, "NotifyUser", launch.intended) or str(ad["Owner"])
    return to, f"{name} {news}", "\n".join(lines) + "\n"
