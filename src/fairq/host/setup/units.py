"""The texts of the systemd units and of the line for cron."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairq.host.setup.layout import ACCOUNT, BY_SOCKET, HOME, MARK, PROGRAM, SOCKET

HOUR = 60
"""Minutes; the longest time between two cycles."""

_HEAD = f"# {MARK}\n"


_EVERY = re.compile(
    r"^(?:OnCalendar=\*:|)(?:(?P<each>\*)|(?P<hour>00?)|(?:\*|0)/(?P<minutes>\d+))(?: \* \* \* \*.*)?$", re.M
)


def every_of(text: str) -> int | None:
    """Return the minutes between two cycles that a file for cron or a timer sets, None if it is in another form."""
    schedule = _EVERY.search(text)
    if schedule is None:
        return None
    return int(schedule["minutes"]) if schedule["minutes"] else 1 if schedule["each"] else HOUR


def cron_line(every: int, command: Sequence[str]) -> str:
    """Return the file for cron that runs *command* every *every* minutes."""
    minutes = {1: "*", HOUR: "0"}.get(every, f"*/{every}")
    return f"{_HEAD}{minutes} * * * * {ACCOUNT} umask 077; exec {' '.join(command)}\n"


def cycle_units(every: int, command: Sequence[str]) -> dict[str, str]:
    """Return the units that run *command* every *every* minutes, by name."""
    service = f"""\
{_HEAD}[Unit]
Description=A cycle of the fairq pool
Documentation=man:fairq-pool(1)

[Service]
Type=oneshot
User={ACCOUNT}
UMask=0077
ExecStart={" ".join(command)}
# Another cycle is running.
SuccessExitStatus=75
# Jobs and their supervisors outlive the cycle that started them.
KillMode=process
Delegate=yes
"""
    calendar = {1: "*:*", HOUR: "*:00"}.get(every, f"*:0/{every}")
    timer = f"""\
{_HEAD}[Unit]
Description=Cycles of the fairq pool
Documentation=man:fairq-pool(1)

[Timer]
OnCalendar={calendar}
AccuracySec=5s

[Install]
WantedBy=timers.target
"""
    return {"fairq.service": service, "fairq.timer": timer}


def socket_units() -> dict[str, str]:
    """Return the units that start the program for each connection to the socket, by name."""
    socket = f"""\
{_HEAD}[Unit]
Description=Requests to the fairq pool
Documentation=man:fairq-pool(1)

[Socket]
ListenStream={SOCKET}
SocketMode=0666
RemoveOnStop=yes
Accept=yes
MaxConnections=64
MaxConnectionsPerSource=16

[Install]
WantedBy=sockets.target
"""
    service = f"""\
{_HEAD}[Unit]
Description=A request to the fairq pool
Documentation=man:fairq-pool(1)
CollectMode=inactive-or-failed

[Service]
User={ACCOUNT}
UMask=0077
# The kernel names who has connected.
ExecStart={PROGRAM} {BY_SOCKET}
StandardInput=socket
StandardOutput=socket
StandardError=journal
RuntimeMaxSec=180
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths={HOME}
ProtectHome=yes
PrivateTmp=yes
RestrictSUIDSGID=yes
"""
    return {"fairq-apply.socket": socket, "fairq-apply@.service": service}
