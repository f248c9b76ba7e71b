"""Rights: administrators may change everything, other users their own jobs and jobs of their groups.

Rights apply as soon as ``pool.administrators`` or the members of a group are set; before, all who may write the state
file may change everything. Root and the owner of the state file are administrators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.past import EndedJob
from fairq.common.people import Person
from fairq.common.records import Actor, JobRange
from fairq.engine.accounting.identity import (
    NICE_PREFIX,
    ROOT_GROUP,
    assigned_group,
    group_and_ancestors,
)
from fairq.errors.people import NotAllowedError
from fairq.state.history import ADMINISTRATORS

if TYPE_CHECKING:
    from fairq.settings import GroupSettings, Settings


def is_administrator(settings: Settings, state: Path, person: Person) -> bool:
    """Return whether *person* may change everything in the pool at *state*."""
    administrators = settings["pool.administrators"]
    if not administrators and not any(group.members for group in settings.groups.values()):
        return True
    if person.uid == 0 or names(administrators, person):
        return True
    try:
        return state.stat().st_uid == person.uid
    except OSError:
        return True  # a new file will belong to this person


def names(members: Sequence[str], person: Person) -> bool:
    """Return whether one of *members* is *person*: by name or, after ``%``, by a Unix group."""
    return any(member[1:] in person.groups if member.startswith("%") else member == person.name for member in members)


def require_administrator(actor: Actor, action: str) -> None:
    """Raise NotAllowedError unless *actor* is an administrator; *action* completes "may not".

    Steps that write to the history need not call it: the history refuses changes that are not allowed.
    """
    if not actor.administrator:
        raise NotAllowedError(user=actor.user, action=action, who=ADMINISTRATORS)


def check_owner(actor: Actor, ranges: Iterable[JobRange | EndedJob], action: str) -> None:
    """Raise NotAllowedError if one of these jobs belongs to another user, unless *actor* is an administrator."""
    if actor.administrator:
        return
    for job in ranges:
        if not is_own(actor, job):
            full_action = f"{action} job {job.cluster}.{job.first_proc} of {job.owner}"
            raise NotAllowedError(user=actor.user, action=full_action, who=f"{job.owner} and {ADMINISTRATORS}")


def is_own(actor: Actor, job: JobRange | EndedJob) -> bool:
    """Return whether *job* is the actor's, in fairq's own queue."""
    return job.owner == actor.user and not job.schedd


def check_submitters(settings: Settings, actor: Actor, submitters: Iterable[str], owner: str, domain: str) -> None:
    """Raise NotAllowedError if jobs of *owner* may not be charged to one of the *submitters*.

    A submitter is ``user@domain`` or ``group.user@domain``, perhaps with ``nice-user.`` in front. The group has to be
    configured, spelled as there, and to have the actor as a member. The user has to be the owner, unless the group lets
    the actor submit for others.
    """
    if actor.administrator:
        return
    person = Person(actor.user, -1, actor.unix_groups)
    for submitter in submitters:
        _check(settings, person, submitter.removeprefix(f"{NICE_PREFIX}."), owner, domain)


def _check(settings: Settings, person: Person, submitter: str, owner: str, domain: str) -> None:
    configured = tuple(settings.groups)
    group = assigned_group(submitter, configured)
    if group != ROOT_GROUP and not _is_member(settings, person, group):
        own = [name for name in configured if _is_member(settings, person, name)]
        others = f"their groups: {', '.join(own) or 'none'}"
        who = f"its members and {ADMINISTRATORS}"
        raise NotAllowedError(user=person.name, action=f"submit to group {group} ({others})", who=who)
    # Another spelling of a group, which means the same to the negotiator, would be a new submitter without past use.
    prefix = "" if group == ROOT_GROUP else f"{group}."
    if submitter == f"{prefix}{owner}@{domain}":
        return
    user = submitter.removeprefix(prefix).removesuffix(f"@{domain}")
    is_another = bool(prefix and user) and submitter == f"{prefix}{user}@{domain}"
    if is_another and any(names(ancestor.submit_for_others, person) for ancestor in _chain(settings, group)):
        return
    raise NotAllowedError(user=person.name, action=f"submit jobs as {submitter}", who=ADMINISTRATORS)


def _is_member(settings: Settings, person: Person, group: str) -> bool:
    """Return whether *person* may submit to *group*; its nearest ancestor, or itself, that lists members decides."""
    members = next((ancestor.members for ancestor in _chain(settings, group) if ancestor.members), None)
    return members is None or names(members, person)


def _chain(settings: Settings, group: str) -> list[GroupSettings]:
    """Return the settings of *group* and its ancestors."""
    by_name = {name.lower(): group_settings for name, group_settings in settings.groups.items()}
    return [by_name[name.lower()] for name in group_and_ancestors(group) if name.lower() in by_name]
