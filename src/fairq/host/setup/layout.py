"""The paths of a host's pool; docs/pool.md lists them."""

from __future__ import annotations

from pathlib import Path

ACCOUNT = "fairq"
HOME = Path("/var/lib/fairq")
STATE = HOME / "pool.db"
SITE = Path("/etc/xdg/fairq/fairq.toml")
LIBRARY = Path("/usr/lib/fairq")
PROGRAM = LIBRARY / "apply"
STARTER = LIBRARY / "start"
RUNS = Path("/var/lib/fairq-runs")
COPY = LIBRARY / "venv"
LINK = Path("/usr/local/bin/fairq")
RULE = Path("/etc/sudoers.d/fairq")
"""sudo ignores a file whose name has a dot."""
CRON = Path("/etc/cron.d/fairq")
UNITS = Path("/etc/systemd/system")
SOCKET = Path("/run/fairq-apply.sock")

BY_SOCKET = "--socket"
"""The argument that the socket unit gives to the program. sudo's rule allows none, so it proves a socket."""

MARK = "Written by 'fairq pool create'; 'fairq pool remove' removes it."
"""A line of every file that may be replaced and removed again."""


def has_systemd() -> bool:
    """Return whether systemd runs this host (sd_booted(3))."""
    return Path("/run/systemd/system").is_dir()
