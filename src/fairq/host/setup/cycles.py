"""What runs the cycles and answers on the socket: units where systemd runs, else a file for cron."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from fairq.errors.base import FairqError
from fairq.host.setup.layout import ACCOUNT, CRON, SOCKET, UNITS, has_systemd
from fairq.host.setup.plan import Step, WayBack, is_file, put, run, take_away
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
    """Return the steps that let a cycle run *every* so many minutes, and open the socket where systemd runs.

    None means as often as now, or every minute in a new pool.
    """
    every = every or _now() or 1
    how_often = "every minute" if every == 1 else f"every {every} minutes"
    if has_systemd():
        units, listeners = cycle_units(every, cycle(python)), socket_units()
        what = f"run a cycle {how_often} as {ACCOUNT}: {_TIMER} and {_SERVICE} in {UNITS}"
        door = f"answer requests on the socket {SOCKET}: {_LISTENER} and {_ANSWER}"
        return [
            Step(what, _is_enabled(_TIMER, units), lambda back: _enable(_TIMER, units, back)),
            Step(door, _is_enabled(_LISTENER, listeners) and answers(), lambda back: _listen(listeners, back)),
            *([_without_cron()] if CRON.exists() else []),
        ]
    line = cron_line(every, cycle(python))
    missing = "" if has_cron() else "; no cron is installed yet, so install one"
    what = f"run a cycle {how_often} as {ACCOUNT} by cron: {CRON}{missing}"
    return [Step(what, is_file(CRON, line, _MODE), lambda back: put(CRON, line, _MODE, back))]


def _now() -> int | None:
    """Return how many minutes are between two cycles now, None if none run."""
    for place in (UNITS / _TIMER, CRON):
        if place.exists():
            return every_of(place.read_text())
    return None


def has_cron() -> bool:
    """Say whether a cron is installed."""
    return any(shutil.which(name, path=_PATH) for name in _DAEMONS)


def stopping() -> list[Step]:
    """Return the steps that end the cycles and close the socket."""
    return [
        _disabling(_TIMER, (_TIMER, _SERVICE), "end the cycles"),
        _without_cron(),
        _disabling(_LISTENER, (_LISTENER, _ANSWER), f"close the socket {SOCKET}"),
    ]


def _without_cron() -> Step:
    return Step(f"end the cycles by cron: remove {CRON}", not CRON.exists(), lambda back: take_away(CRON, back))


def _is_enabled(unit: str, texts: Mapping[str, str]) -> bool:
    if not all(is_file(UNITS / name, text, _MODE) for name, text in texts.items()):
        return False
    try:
        run("systemctl", "is-enabled", unit)
        run("systemctl", "is-active", unit)
    except (OSError, FairqError):
        return False
    return True


def _enable(unit: str, texts: Mapping[str, str], back: WayBack) -> None:
    back.add("systemd's list of units", lambda: run("systemctl", "daemon-reload"))
    for name, text in texts.items():
        put(UNITS / name, text, _MODE, back)
    run("systemctl", "daemon-reload")
    back.add(unit, lambda: run("systemctl", "disable", "--now", unit))
    run("systemctl", "enable", unit)
    run("systemctl", "restart", unit)


def _listen(texts: Mapping[str, str], back: WayBack) -> None:
    _enable(_LISTENER, texts, back)
    if not answers():
        raise FairqError(message=f"nothing answers on {SOCKET}; 'journalctl -u fairq-apply@*' tells why")


def answers(place: Path = SOCKET) -> bool:
    """Say whether the program answers on the socket at *place*: it refuses a request that is none."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(str(place))
            connection.sendall(b"2\n{}")
            return b'"refused"' in connection.recv(4096)
        except OSError:
            return False


def _disabling(unit: str, names: tuple[str, ...], what: str) -> Step:
    places = [UNITS / name for name in names if (UNITS / name).exists()]
    return Step(f"{what}: remove {' and '.join(names)} from {UNITS}", not places, lambda _: _disable(unit, places))


def _disable(unit: str, places: list[Path]) -> None:
    if has_systemd():
        run("systemctl", "disable", "--now", unit)
    for place in places:
        place.unlink()
    if has_systemd():
        run("systemctl", "daemon-reload")
