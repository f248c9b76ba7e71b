"""The accounting group that a job requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.engine.accounting.identity import assigned_group, is_nice
from fairq.errors.nearest import nearest

if TYPE_CHECKING:
    from fairq.settings import Settings


def unknown_group(name: str, settings: Settings) -> str | None:
    """Return the effect of requesting group *name* if it is not configured, as a sentence without full stop.

    In a pool without accounting groups, every name is valid: DIRAC's scheme uses it as its own group.
    """
    configured = {group.lower(): group for group in settings.groups}
    if not configured or name.lower() in configured or name.lower() in map(str.lower, settings.share_groups):
        return None
    if is_nice(name):  # it needs no configuration
        return None
    charged = assigned_group(f"{name}.user@", tuple(settings.groups))
    close = nearest(name, settings.groups)
    hint = f" (did you mean {close}?)" if close else ""
    return f"accounting_group {name} is not configured{hint}: the jobs are charged to {charged}"
