"""The data of commands about task queues: one snapshot, recalculated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from fairq.common.records import JobStatus
from fairq.engine.shares.corrector import TO_START
from fairq.engine.shares.division import Recalculation, recalculate
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.history_corrector import DEFAULT_PERIOD
from fairq.engine.shares.options import Note, names, number
from fairq.errors.nearest import nearest
from fairq.errors.shares import UnknownShareGroupError
from fairq.state import jobs, share_groups
from fairq.state.connection import State
from fairq.steps.taskqueues.correctors import ShareHistory, start_corrections
from fairq.steps.taskqueues.formation import FormedQueues, form_queues
from fairq.steps.taskqueues.job_requirements import identity_of, relevant
from fairq.steps.taskqueues.policy import SharePolicy, share_policy

if TYPE_CHECKING:
    from fairq.settings import Settings


class HasNotes(Protocol):
    """Notes for all users (*notes*), and for --verbose (*details*)."""

    @property
    def notes(self) -> list[Note | str]:
        """Notes for all users."""

    @property
    def details(self) -> list[Note | str]:
        """Remarks of the correctors."""


class ShareWorld(Struct):
    """The task queues of one snapshot, their priorities, and notes (see `HasNotes`).

    *configured* are the groups in the settings or an import.
    """

    policy: SharePolicy
    formed: FormedQueues
    result: Recalculation
    notes: list[Note | str]
    details: list[Note | str]
    configured: list[str]

    @property
    def priorities(self) -> list[float]:
        """The stored form of every queue's priority, in the order of the queues."""
        return self.result.stored_priorities()


def load_world(state: State, settings: Settings, now: int, rules: str | None = None) -> ShareWorld:
    """Form the task queues of *state* and recalculate all priorities at *now*, under *rules* or those of the settings.

    Raises:
        ShareCorrectionError, ShareCorrectorError, DiracStopsError: see `start_corrections`.
        SettingValueError: see `share_policy`.
    """
    policy = share_policy(settings, state, rules)
    formed = form_queues(state, policy)
    groups_with_queues = dict.fromkeys(group for group, _ in formed.queues.owners[0])
    groups = dict(policy.groups)
    if policy.rules.checked_settings:
        # Groups with queues are corrected even if they are not configured; in DIRAC they are not.
        groups |= {name: OwnerGroup(name) for name in groups_with_queues if name not in groups}
    known_groups = dict.fromkeys((*policy.groups, *settings.groups))
    corrections = None
    if names(policy.corrections.get(TO_START)):
        history = ShareHistory(state, {*groups, *groups_with_queues, *known_groups, *_running_groups(state)}, now)
        corrections = start_corrections(policy.rules, policy.corrections, history, now)
    result = recalculate(formed.queues, groups, policy.rules, corrections)
    details = (
        []
        if corrections is None
        else [*corrections.notes, *_notes_on_ineffective(policy), *_notes_on_old_reports(policy, state, now)]
    )
    idle_notes = [] if corrections is None else corrections.idle(known_groups, groups_with_queues)
    return ShareWorld(policy, formed, result, [*_notes_on_left_out(formed), *idle_notes], details, list(known_groups))


def _running_groups(state: State) -> set[str]:
    """Return the groups of the running jobs."""
    running = jobs.select(state, statuses=[JobStatus.RUNNING])
    shared = jobs.ads(state, {job.ad_id for job in running})
    return {identity_of(relevant({**shared[job.ad_id], **(job.own or {})}), job.owner)[1] for job in running}


def _notes_on_left_out(formed: FormedQueues) -> list[str]:
    left_out = formed.left_out
    if not left_out:
        return []
    first, count = left_out[0], sum(left_jobs.last - left_jobs.first + 1 for left_jobs in left_out)
    jobs_are = "1 idle job is" if count == 1 else f"{count} idle jobs are"
    return [f"{jobs_are} in no task queue; the first is job {first.cluster}.{first.first}: {first.reason}"]


def _notes_on_ineffective(policy: SharePolicy) -> list[str]:
    """Return notes about corrections that never have an effect."""
    corrected = _corrected_groups(policy)
    texts = [
        f"a corrector is for the users of {name}, but job sharing does not divide its share among users"
        for name in corrected
        if name in policy.groups and policy.groups[name].job_sharing
    ]
    if policy.rules.in_group_key == "dn" and corrected:
        texts.append(
            "corrections inside a group have no effect, as in DIRAC: reports name users by distinguished name, task "
            'queues by name. To correct by name, set shares.in_group_key = "name"'
        )
    return texts


def _notes_on_old_reports(policy: SharePolicy, state: State, now: int) -> list[str]:
    """Return notes about imported reports that are older than the correctors' UpdateHistoryPeriod."""
    oldest = min((report.time for report in share_groups.load_reports(state)), default=now)
    periods = [
        number(options, "UpdateHistoryPeriod", DEFAULT_PERIOD, policy.rules, TO_START, lambda _: None)
        for options in _instances(policy)
    ]
    if now - oldest <= min(periods, default=DEFAULT_PERIOD):
        return []
    return [f"the imported usage reports are {now - oldest} seconds old; import a newer dump"]


def _corrected_groups(policy: SharePolicy) -> list[str]:
    """Return the groups whose users are corrected."""
    return [str(options["Group"]) for options in _instances(policy) if options.get("Group")]


def _instances(policy: SharePolicy) -> list[Mapping[str, Any]]:
    """Return the settings of the instances of all correctors."""
    blocks = [block for block in policy.corrections.values() if isinstance(block, Mapping)]
    return [options for block in blocks for options in block.values() if isinstance(options, Mapping)]


def check_group(state: State, world: ShareWorld, group: str | None, where: str) -> None:
    """Raise UnknownShareGroupError if *group* is neither configured nor corrected, and has no idle or running job.

    Without configured groups, no group is refused: one whose jobs have all ended would look unknown.
    """
    known_groups = {*world.configured, *(name for name, _ in world.formed.queues.owners[0])}
    if group is None or group in known_groups or not world.configured:
        return
    known_groups |= {*_corrected_groups(world.policy), *_running_groups(state)}
    if group in known_groups:
        return
    close = nearest(group, sorted(known_groups))
    hint = f"did you mean {close!r}?" if close else f"known are {', '.join(sorted(known_groups)) or 'none'}"
    raise UnknownShareGroupError(where=where, group=group, hint=hint)
