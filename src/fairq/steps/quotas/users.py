"""Problems of groups related to their users: jobs in the queue and accounting records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group, group_and_ancestors, group_meant, is_nice
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.quotas.problems import Oddity
from fairq.steps.userprio.names import people


class Users(Struct, frozen=True):
    """All users: the names of all *submitters*, and the owners of their jobs in the queue."""

    submitters: Set[str]
    owners: Set[tuple[str, str]]


def users_in(state: State) -> Users:
    """Return the users with jobs or an accounting record in *state*."""
    return Users(people(state), jobs.owners(state))


def user_oddities(users: Users, group_names: Iterable[str]) -> Iterator[Oddity]:
    """Yield the problems of the groups *group_names*; nothing without users."""
    names = tuple(group_names)
    if users.submitters:
        yield from _unused(users, names)
    yield from _named_like_users(users, names)
    yield from _unknown(users, names)


def _unused(users: Users, names: tuple[str, ...]) -> Iterator[Oddity]:
    used: set[str] = set()
    for submitter in users.submitters:
        used.update(name.lower() for name in group_and_ancestors(assigned_group(submitter, names)))
    for name in names:
        if name.lower() not in used:
            problem = "neither it nor its subgroups have jobs or accounting records"
            yield Oddity(name, "unused", problem, f"remove it, or submit jobs with accounting_group = {name}")


def _named_like_users(users: Users, names: tuple[str, ...]) -> Iterator[Oddity]:
    """Yield groups with the name of a user, or its beginning before a dot: jobs of the user may count for them."""
    user_names = {submitter.rpartition("@")[0] for submitter in users.submitters} | {owner for _, owner in users.owners}
    by_lower_name = {user.lower(): user for user in sorted(user_names, reverse=True)}
    for name in names:
        if (user := by_lower_name.get(name.lower())) is not None and "." not in user:
            problem = f"it has the name of user {user}, whose jobs are in it only if they set accounting_group"
            yield Oddity(name, "named like a user", problem, "rename the group")
    for submitter, owner in sorted(users.owners):
        meant_group = group_meant(submitter, owner)
        if meant_group is None or "." not in owner:
            continue
        assigned = assigned_group(submitter, names)
        if assigned != ROOT_GROUP and len(assigned) > len(meant_group):
            problem = f"it has the name of user {owner}: jobs of {submitter} are charged to it"
            cure = "rename the group, or set accounting_group_user in those jobs to a name without dots"
            yield Oddity(assigned, "named like a user", problem, cure)


def _unknown(users: Users, names: tuple[str, ...]) -> Iterator[Oddity]:
    """Yield groups that jobs request but that are not configured."""
    reported: set[str] = set()
    for submitter, owner in sorted(users.owners):
        meant_group = group_meant(submitter, owner)
        if not meant_group or is_nice(meant_group) or meant_group.lower() in reported:
            continue
        assigned = assigned_group(submitter, names)
        if len(assigned if assigned != ROOT_GROUP else "") < len(meant_group):
            reported.add(meant_group.lower())
            problem = f"jobs of {submitter} ask for it, but it is not configured: they are charged to {assigned}"
            cure = "configure the group, or correct accounting_group in the jobs"
            yield Oddity(meant_group, "unknown group", problem, cure)
