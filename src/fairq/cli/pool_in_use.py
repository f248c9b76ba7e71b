"""Which pool the commands use, and how this process may read and change it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.errors.base import FairqError

if TYPE_CHECKING:
    from fairq.settings import Settings


class HostPool(Struct, frozen=True):
    """The pool that the *site* file names: its *state* file, the *account* that owns it, and the *program* for changes.

    The program may also be behind a *socket*.

    *used* tells whether commands use it if nothing names another state, and *used_by* which setting decides. *settings*
    are those of the pool.
    """

    site: Path
    state: Path
    account: str
    program: Path
    socket: Path | None
    used: bool
    used_by: str
    settings: Settings


class PoolInUse(Struct, frozen=True):
    """The pool of this run: its *state* file, and the *reason* in words.

    *host* is set if it is the pool of this host. *is_direct*: this process opens the state file itself.
    """

    state: Path
    reason: str
    host: HostPool | None = None
    is_direct: bool = True


def pool_in_use(state_file: Path | None, named_by: str | None, environ: Mapping[str, str]) -> PoolInUse:
    """Return the pool that this run uses; *state_file* is the one that *named_by* names, None if nothing does.

    Raises the errors of the settings if nothing names a state file.
    """
    if state_file is not None:
        host = _named_host(state_file, environ)
        return PoolInUse(state_file, f"{named_by} names it", host, host is None or _opens_it(host))
    from fairq.common.files import own_state

    neither = "neither --state nor FAIRQ_STATE names another"
    host = _host(environ)
    if host is None:
        return PoolInUse(own_state(), f"your own: {neither}")
    if host.used:
        return PoolInUse(host.state, f"the pool of this host: {host.site} names it", host, _opens_it(host))
    return PoolInUse(own_state(), f"your own: pool.use is private in {host.used_by}")


def _host(environ: Mapping[str, str]) -> HostPool | None:
    """Return the pool of this host, or None if the site file names none.

    Raises the errors of the site file, of the user's settings file and of the variables.
    """
    from fairq.settings.layers import site_file

    site = site_file()
    if not site.exists():
        return None
    from fairq.settings.host_pool import host_settings

    settings = host_settings(environ)
    if settings["pool.state"] is None:
        return None
    return HostPool(
        site,
        Path(settings["pool.state"]),
        settings["pool.account"],
        Path(settings["pool.program"]),
        Path(settings["pool.socket"]) if settings["pool.socket"] else None,
        settings["pool.use"] == "host",
        str(settings.origin("pool.use")),
        settings,
    )


def _named_host(state_file: Path, environ: Mapping[str, str]) -> HostPool | None:
    try:
        host = _host(environ)
    except FairqError:  # a named state does not need the settings; commands that do will report this
        return None
    is_same = host is not None and os.path.realpath(state_file) == os.path.realpath(host.state)
    return host if is_same else None


def _opens_it(host: HostPool) -> bool:
    """Return whether this process is root or the account of the pool, who open the state file itself."""
    import pwd

    try:
        return os.geteuid() in (0, pwd.getpwnam(host.account).pw_uid)
    except KeyError:
        return os.geteuid() == 0
