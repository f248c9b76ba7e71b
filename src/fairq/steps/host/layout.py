"""Where the parts of a host's pool are. docs/pool.md lists them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.settings import Settings

ACCOUNT = "fairq"
HOME = Path("/var/lib/fairq")
STATE = HOME / "pool.db"
SITE = Path("/etc/xdg/fairq/fairq.toml")
LIBRARY = Path("/usr/lib/fairq")
PROGRAM = LIBRARY / "apply"
RULE = Path("/etc/sudoers.d/fairq")
CRON = Path("/etc/cron.d/fairq")
UNITS = Path("/etc/systemd/system")
SOCKET = Path("/run/fairq-apply.sock")


@dataclass(frozen=True, slots=True)
class HostPool:
    """The pool of this host, as its site file names it; without a *program* or a *socket*, that door is closed."""

    state: Path
    account: str
    program: Path | None
    socket: Path | None


def host_pool(site: Settings) -> HostPool | None:
    """Return the pool that the settings of the *site* file alone name, None if the host has none."""
    state = site["pool.state"]
    if not state:
        return None
    program, socket = site["pool.program"], site["pool.socket"]
    return HostPool(
        Path(state), site["pool.account"] or ACCOUNT, Path(program) if program else None, Path(socket) if socket else None
    )
