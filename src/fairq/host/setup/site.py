"""The site file names the pool of the host, its administrators and its launcher; the rest of it is the site's."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.errors.base import FairqError
from fairq.errors.host import HostPoolError
from fairq.host.setup.layout import ACCOUNT, PROGRAM, SITE, SOCKET, STATE
from fairq.host.setup.plan import Step, WayBack, put, take_away
from fairq.settings.collect import read_text
from fairq.settings.edit import remove, set_value
from fairq.settings.layers import Layer
from fairq.settings.model import Settings, gather

_COMMENT = "# The rules of the pool of this host. 'fairq pool create' has set the [pool] table.\n"
_OWN = (("pool", "state"), ("pool", "account"), ("pool", "program"), ("pool", "socket"), ("launch", "run_as"))
_MODE = 0o644


class Wishes(Struct, frozen=True):
    """What ``pool create`` was told; None leaves what is set now."""

    administrators: Sequence[str] | None
    launch: str | None
    every: int | None = None


def check(wishes: Wishes) -> None:
    """Raise HostPoolError if an administrator is neither a user nor a group of this host."""
    for name in wishes.administrators or ():
        try:
            if name.startswith("%"):
                grp.getgrnam(name[1:])
            else:
                pwd.getpwnam(name)
        except KeyError:
            what = f"group {name[1:]}" if name.startswith("%") else f"user {name}"
            cure = "correct --admin; a group is written as %GROUP"
            raise HostPoolError(action="created", problem=f"there is no {what}", cure=cure) from None


def settings() -> Settings:
    """Return the settings of the site file alone; raises its errors."""
    return gather([Layer("site", SITE)], {}, _raise)


def starts(wishes: Wishes) -> bool:
    """Say whether the pool starts jobs on this host: *wishes* say so, or the site file does."""
    kind = settings()["launch.kind"] if wishes.launch is None else wishes.launch
    return bool(kind == "local")


def writing(wishes: Wishes, socket: bool) -> Step:
    """Return the step that names the pool in the site file; raises the errors of the file as it is."""
    settings()
    former = _text()
    wanted: dict[str, Any] = {"state": str(STATE), "account": ACCOUNT, "program": str(PROGRAM)}
    if socket:
        wanted["socket"] = str(SOCKET)
    if wishes.administrators is not None:
        wanted["administrators"] = list(wishes.administrators)
    text = former or _COMMENT
    for name, value in wanted.items():
        text = set_value(text, ("pool", name), value)[0]
    if not socket and (without := remove(text, ("pool", "socket"))):
        text = without[0]
    # Otherwise jobs on slots with a launcher would run as the account, and could change the pool.
    text = set_value(text, ("launch", "run_as"), "owner")[0]
    if wishes.launch is not None:
        text = set_value(text, ("launch", "kind"), wishes.launch)[0]
    told = [f"administrators {', '.join(wanted['administrators']) or 'none'}"] if "administrators" in wanted else []
    told += [f"launch.kind {wishes.launch}"] if wishes.launch else []
    what = f"name the pool in the site file {SITE}" + (f", with {' and '.join(told)}" if told else "")
    return Step(what, text == former and _is_readable(SITE), lambda back: _write(text, back))


def _write(text: str, back: WayBack) -> None:
    put(SITE, text, _MODE, back)
    settings()


def removing() -> Step:
    """Return the step that takes the pool out of the site file; a file that then says nothing goes, too."""
    former = _text()
    text = former
    for path in _OWN:
        if without := remove(text, path):
            text = without[0]
    says = {line for line in text.splitlines() if line.strip() and f"{line}\n" != _COMMENT}
    gone = says <= {"[pool]", "[launch]"}
    what = f"remove the site file {SITE}" if gone else f"take the pool out of the site file {SITE}; its rules stay"

    def do(back: WayBack) -> None:
        if gone:
            take_away(SITE, back)
            with suppress(OSError):  # it has other files
                SITE.parent.rmdir()
                back.add(str(SITE.parent), SITE.parent.mkdir)
        else:
            put(SITE, text, _MODE, back)

    return Step(what, text == former, do)


def _text() -> str:
    try:
        return read_text(SITE)
    except FileNotFoundError:
        return ""


def _is_readable(file: Path) -> bool:
    from fairq.host.setup.owners import weakness

    return weakness(file) is None


def _raise(error: FairqError) -> None:
    raise error
