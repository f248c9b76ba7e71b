"""The settings of accounting groups."""

from __future__ import annotations

from msgspec import Struct


class GroupSettings(Struct, frozen=True):
    """The settings of one accounting group; None means not configured.

    Args:
        name: the name in the spelling of the settings; names of groups ignore case.
        quota: static quota in slot weight; wins over *quota_dynamic*.
        quota_dynamic: fraction of the parent's quota, 0 to 1.
        prio_factor: the initial priority factor of members without one.
        accept_surplus, autoregroup: None means the setting for all groups.
        members: users, and Unix groups as ``%GROUP``, who may submit to it and its subgroups; empty means the members
            of the parent group, or everybody for a group at the top.
        submit_for_others: users who may submit to it in the name of others.
    """

    name: str
    quota: float | None = None
    quota_dynamic: float | None = None
    prio_factor: float | None = None
    accept_surplus: bool | None = None
    autoregroup: bool | None = None
    members: tuple[str, ...] = ()
    submit_for_others: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The name of the parent group; None for a group at the top."""
        return self.name.rpartition(".")[0] or None
