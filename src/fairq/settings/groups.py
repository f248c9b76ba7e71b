"""The settings of accounting groups."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What is configured for one accounting group; None is not configured.

    Args:
        name: in the spelling of the settings; groups are compared without regard to case.
        quota: static quota in slot weight; wins over *quota_dynamic*.
        quota_dynamic: fraction of the parent's quota, 0 to 1.
        prio_factor: the factor that members without one start with.
        accept_surplus, autoregroup: None means what holds for all groups.
        members: who may submit to it and its subgroups (users, and Unix groups as ``%GROUP``); empty is what holds for
            the group above, at the top everybody.
        submit_for_others: who may submit to it in the name of others.
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
        """The name of the group above, None for one at the top."""
        return self.name.rpartition(".")[0] or None
