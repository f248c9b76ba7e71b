"""Who may do what: administrators everything, the others what concerns their own jobs and groups.

Rights count as soon as ``pool.administrators`` or the members of a group are set; before, whoever may write the state
file may everything. Root and the owner of the state file are administrators.
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
    from fairq.settings import Settings
    from fairq.settings.groups import GroupSettings


def is_administrator(settings: Settings, state: Path, person: Person) -> bool:
    """Return whether *person* may change everything in the pool at *state*."""
    listed = settings["pool.administrators"]
    if not listed and not any(group.members for group in settings.groups.values()):
        return True
    if person.uid == 0 or names(listed, person):
        return True
    try:
        return state.stat().st_uid == person.uid
    except OSError:
        return True  # whoever makes the file owns it


def names(listed: Sequence[str], person: Person) -> bool:
    """Return whether *person* is *listed*, by name or, behind ``%``, by a Unix group."""
    return any(one[1:] in person.groups if one.startswith("%") else one == person.name for one in listed)


def require_administrator(actor: Actor, action: str) -> None:
    """Raise NotAllowedError unless *actor* is an administrator; *action* completes "may not".

    Steps that write to the history need not ask: it takes only what is allowed.
    """
    if not actor.administrator:
        raise NotAllowedError(user=actor.user, action=action, who=ADMINISTRATORS)


def check_owner(actor: Actor, found: Iterable[JobRange | EndedJob], action: str) -> None:
    """Raise NotAllowedError if one of the jobs *found* belongs to somebody else, unless an administrator asks."""
    if actor.administrator:
        return
    for job in found:
        if not is_own(actor, job):
            what = f"{action} job {job.cluster}.{job.first_proc} of {job.owner}"
            raise NotAllowedError(user=actor.user, action=what, who=f"{job.owner} and {ADMINISTRATORS}")


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
    # Another spelling of a group, which the negotiator takes for the same, would be a submitter without a past.
    prefix = "" if group == ROOT_GROUP else f"{group}."
    if submitter == f"{prefix}{owner}@{domain}":
        return
    user = submitter.removeprefix(prefix).removesuffix(f"@{domain}")
    is_another = bool(prefix and user) and submitter == f"{prefix}{user}@{domain}"
    if is_another and any(names(one.submit_for_others, person) for one in _chain(settings, group)):
        return
    raise NotAllowedError(user=person.name, action=f"submit jobs as {submitter}", who=ADMINISTRATORS)


def _is_member(settings: Settings, person: Person, group: str) -> bool:
    """Return whether *person* may submit to *group*: the nearest group upwards that lists members decides."""
    listed = next((one.members for one in _chain(settings, group) if one.members), None)
    return listed is None or names(listed, person)


def _chain(settings: Settings, group: str) -> list[GroupSettings]:
    known = {name.lower(): one for name, one in settings.groups.items()}
    return [known[name.lower()] for name in group_and_ancestors(group) if name.lower() in known]
