"""Run the cycles and answer on the socket: by systemd units where systemd runs, else by a file for cron."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from fairq.errors.base import FairqError
from fairq.host.setup.layout import ACCOUNT, CRON, SOCKET, UNITS, has_systemd
from fairq.host.setup.plan import Rollback, Step, is_file, put, remove_file, run
from fairq.host.setup.store import cycle
from fairq.host.setup.units import cron_line, cycle_units, every_of, socket_units

_MODE = 0o644
_PATIENCE = 30.0
"""Seconds within which the program must answer."""

_TIMER, _SERVICE = "fairq.timer", "fairq.service"
_LISTENER, _ANSWER = "fairq-apply.socket", "fairq-apply@.service"
_DAEMONS = ("cron", "crond", "cronie", "fcron")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def running(every: int | None, python: Path) -> list[Step]:
    """Return the steps that run a cycle every *every* minutes, and open the socket where systemd runs.

    None means the present period, or every minute in a new pool.
    """
    every = every or _present_period() or 1
    how_often = "every minute" if every == 1 else f"every {every} minutes"
    if has_systemd():
        units, listeners = cycle_units(every, cycle(python)), socket_units()
        description = f"run a cycle {how_often} as {ACCOUNT}: {_TIMER} and {_SERVICE} in {UNITS}"
        listener_description = f"answer requests on the socket {SOCKET}: {_LISTENER} and {_ANSWER}"
        return [
            Step(description, _is_enabled(_TIMER, units), lambda rollback: _enable(_TIMER, units, rollback)),
            Step(
                listener_description,
                _is_enabled(_LISTENER, listeners) and answers(),
                lambda rollback: _listen(listeners, rollback),
            ),
            *([_without_cron()] if CRON.exists() else []),
        ]
    line = cron_line(every, cycle(python))
    missing = "" if has_cron() else "; no cron is installed yet, so install one"
    description = f"run a cycle {how_often} as {ACCOUNT} by cron: {CRON}{missing}"
    return [Step(description, is_file(CRON, line, _MODE), lambda rollback: put(CRON, line, _MODE, rollback))]


def _present_period() -> int | None:
    """Return the present number of minutes between two cycles, None if none run."""
    for file in (UNITS / _TIMER, CRON):
        if file.exists():
            return every_of(file.read_text())
    return None


def has_cron() -> bool:
    """Return whether a cron is installed."""
    return any(shutil.which(name, path=_PATH) for name in _DAEMONS)


def stopping() -> list[Step]:
    """Return the steps that end the cycles and close the socket."""
    return [
        _disabling(_TIMER, (_TIMER, _SERVICE), "end the cycles"),
        _without_cron(),
        _disabling(_LISTENER, (_LISTENER, _ANSWER), f"close the socket {SOCKET}"),
    ]


def _without_cron() -> Step:
    return Step(
        f"end the cycles by cron: remove {CRON}", not CRON.exists(), lambda rollback: remove_file(CRON, rollback)
    )


def _is_enabled(unit: str, texts: Mapping[str, str]) -> bool:
    if not all(is_file(UNITS / name, text, _MODE) for name, text in texts.items()):
        return False
    try:
        run("systemctl", "is-enabled", unit)
        run("systemctl", "is-active", unit)
    except (OSError, FairqError):
        return False
    return True


def _enable(unit: str, texts: Mapping[str, str], rollback: Rollback) -> None:
    rollback.add("systemd's list of units", lambda: run("systemctl", "daemon-reload"))
    for name, text in texts.items():
        put(UNITS / name, text, _MODE, rollback)
    run("systemctl", "daemon-reload")
    rollback.add(unit, lambda: run("systemctl", "disable", "--now", unit))
    run("systemctl", "enable", unit)
    run("systemctl", "restart", unit)


def _listen(texts: Mapping[str, str], rollback: Rollback) -> None:
    _enable(_LISTENER, texts, rollback)
    if not answers():
        raise FairqError(message=f"nothing answers on {SOCKET}; 'journalctl -u fairq-apply@*' tells why")


def answers(path: Path = SOCKET) -> bool:
    """Return whether the program answers on the socket *path*: it must refuse an invalid request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(str(path))
            connection.sendall(b"2\n{}")
            return b'"refused"' in connection.recv(4096)
        except OSError:
            return False


def _disabling(unit: str, names: tuple[str, ...], purpose: str) -> Step:
    paths = [UNITS / name for name in names if (UNITS / name).exists()]
    return Step(f"{purpose}: remove {' and '.join(names)} from {UNITS}", not paths, lambda _: _disable(unit, paths))


def _disable(unit: str, paths: list[Path]) -> None:
    if has_systemd():
        run("systemctl", "disable", "--now", unit)
    for path in paths:
        path.unlink()
    if has_systemd():
        run("systemctl", "daemon-reload")
