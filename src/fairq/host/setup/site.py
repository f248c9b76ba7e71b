"""The site file names the pool of the host, its administrators and its launcher; the site writes everything else."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.errors.host import HostPoolError
from fairq.host.setup.layout import ACCOUNT, PROGRAM, SITE, SOCKET, STATE
from fairq.host.setup.plan import Rollback, Step, put, remove_file
from fairq.settings.collect import read_text
from fairq.settings.edit import remove, set_value
from fairq.settings.layers import Layer
from fairq.settings.model import Settings, gather

_COMMENT = "# The rules of the pool of this host. 'fairq pool create' has set the [pool] table.\n"
_OWN = (("pool", "state"), ("pool", "account"), ("pool", "program"), ("pool", "socket"), ("launch", "run_as"))
_MODE = 0o644


class PoolOptions(Struct, frozen=True):
    """The options of ``pool create``; None keeps the present setting."""

    administrators: Sequence[str] | None
    launch: str | None
    every: int | None = None


def check(options: PoolOptions) -> None:
    """Raise HostPoolError if an administrator is neither a user nor a group of this host."""
    for name in options.administrators or ():
        try:
            if name.startswith("%"):
                grp.getgrnam(name[1:])
            else:
                pwd.getpwnam(name)
        except KeyError:
            missing = f"group {name[1:]}" if name.startswith("%") else f"user {name}"
            cure = "correct --admin; a group is written as %GROUP"
            raise HostPoolError(action="created", problem=f"there is no {missing}", cure=cure) from None


def settings() -> Settings:
    """Return the settings of the site file alone; raises its errors."""
    return gather([Layer("site", SITE)], {})


def starts(options: PoolOptions) -> bool:
    """Return whether the pool starts jobs on this host, by *options* or the site file."""
    kind = settings()["launch.kind"] if options.launch is None else options.launch
    return bool(kind == "local")


def writing(options: PoolOptions, socket: bool) -> Step:
    """Return the step that names the pool in the site file; raises the errors of the present file."""
    settings()
    former = _text()
    values: dict[str, Any] = {"state": str(STATE), "account": ACCOUNT, "program": str(PROGRAM)}
    if socket:
        values["socket"] = str(SOCKET)
    if options.administrators is not None:
        values["administrators"] = list(options.administrators)
    text = former or _COMMENT
    for name, value in values.items():
        text = set_value(text, ("pool", name), value)[0]
    if not socket and (removed := remove(text, ("pool", "socket"))):
        text = removed[0]
    # Otherwise jobs on slots with a launcher would run as the account, and could change the pool.
    text = set_value(text, ("launch", "run_as"), "owner")[0]
    if options.launch is not None:
        text = set_value(text, ("launch", "kind"), options.launch)[0]
    changes = [f"administrators {', '.join(values['administrators']) or 'none'}"] if "administrators" in values else []
    changes += [f"launch.kind {options.launch}"] if options.launch else []
    description = f"name the pool in the site file {SITE}" + (f", with {' and '.join(changes)}" if changes else "")
    return Step(description, text == former and _is_readable(SITE), lambda rollback: _write(text, rollback))


def _write(text: str, rollback: Rollback) -> None:
    put(SITE, text, _MODE, rollback)
    settings()


def removing() -> Step:
    """Return the step that takes the pool out of the site file, or removes the file if nothing else is in it."""
    former = _text()
    text = former
    for path in _OWN:
        if removed := remove(text, path):
            text = removed[0]
    remaining = {line for line in text.splitlines() if line.strip() and f"{line}\n" != _COMMENT}
    is_empty = remaining <= {"[pool]", "[launch]"}
    description = (
        f"remove the site file {SITE}" if is_empty else f"take the pool out of the site file {SITE}; its rules stay"
    )

    def do(rollback: Rollback) -> None:
        if is_empty:
            remove_file(SITE, rollback)
            with suppress(OSError):  # it has other files
                SITE.parent.rmdir()
                rollback.add(str(SITE.parent), SITE.parent.mkdir)
        else:
            put(SITE, text, _MODE, rollback)

    return Step(description, text == former, do)


def _text() -> str:
    try:
        return read_text(SITE)
    except FileNotFoundError:
        return ""


def _is_readable(file: Path) -> bool:
    from fairq.host.setup.owners import weakness

    return weakness(file) is None
