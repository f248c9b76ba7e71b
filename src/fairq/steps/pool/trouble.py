"""Mail an administrator once about each fault, and once when it is over."""

from __future__ import annotations

import json
import os
import platform
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict

from fairq.common import files
from fairq.state.location import resolve
from fairq.steps.mail import Mailer
from fairq.steps.pool.finding import FAULT, Finding

if TYPE_CHECKING:
    from fairq.settings import Settings


_BLOCK = 4096
"""The size of the file is a multiple of this: a full disk still has the place for a fault more."""


_MODE = 0o644
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class _Kept(Struct):
    """What the file ``STATE.troubles`` keeps: reported faults with their details, and the last known way to mail."""

    told: dict[str, str] = field(default_factory=dict)
    command: str = ""
    administrator: str = ""


def tell_trouble(path: Path, settings: Settings | None, findings: Sequence[Finding]) -> list[str] | None:
    """Mail new faults among *findings* and faults that are over; return error messages.

    Without *settings*, because they are the fault, the command and the address of the last check are used; return None
    if there was none. The file ``STATE.troubles`` beside the state keeps both and lists the reported faults, because
    the state itself may be faulty. It is updated only after the mail was sent, so that the next check tries again.
    """
    file = Path(f"{resolve(path)}.troubles")
    kept = _load(file)
    reported = dict(kept.told)
    if settings is not None:
        mailer = Mailer.of(settings)
        administrator = settings["mail.administrator"]
    elif kept.command:
        mailer, administrator = Mailer(kept.command), kept.administrator
    else:
        return None
    faults = {finding.name: finding for finding in findings if finding.status == FAULT}
    new = [fault for fault in faults.values() if fault.name not in reported]
    # A missing check, e.g. because of a damaged state, does not end a fault.
    over = [finding for finding in findings if finding.name in reported and finding.status != FAULT]
    if new or over:
        host = platform.node()
        lines = [f"{finding.name}: {finding.detail}\n  cure: {finding.cure}" for finding in new]
        lines += [f"{finding.name}: over; {finding.detail}" for finding in over]
        words = [f"{len(new)} new" if new else "", f"{len(over)} over" if over else ""]
        subject = f"fairq on {host}: trouble, {', '.join(filter(None, words))}"
        text = f"Pool {resolve(path)}\n\n" + "\n".join(lines) + "\n"
        problem = mailer.send(administrator, subject, text)
        if problem is not None:
            return [problem]
    for finding in over:
        del reported[finding.name]
    reported |= {finding.name: finding.detail for finding in new}
    now = _Kept(reported, mailer.command, administrator)
    if now == kept:
        return []
    try:
        _store(file, json.dumps(asdict(now)).encode())
    except OSError as error:
        return [f"{file} cannot be written, so this message will come again: {error.strerror}"] if new or over else []
    return []


def _store(file: Path, content: bytes) -> None:
    """Replace the file; if there is no space for another one, write into the one that exists."""
    whole = content.ljust(-(-len(content) // _BLOCK) * _BLOCK)
    try:
        with suppress(FileNotFoundError):
            # As a former version made it under a wide umask: `_load` would not trust it.
            if file.lstat().st_mode & _OTHERS_WRITE:
                file.unlink()
        with files.replacing(file, _MODE) as stream:
            stream.write(whole)
    except OSError:
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_size < len(whole):
                raise
            os.pwrite(descriptor, whole, 0)
            os.ftruncate(descriptor, len(whole))
        finally:
            os.close(descriptor)


def _load(file: Path) -> _Kept:
    """Return the content of the file; without the command if another user could have written it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            info = os.fstat(descriptor)
            kept = json.loads(stream.read())
    except (OSError, ValueError):
        return _Kept()
    if not isinstance(kept, dict):
        return _Kept()
    reported, command, administrator = (kept.get(name) for name in ("told", "command", "administrator"))
    if not isinstance(reported, dict) or not isinstance(command, str) or not isinstance(administrator, str):
        return _Kept()
    is_own = info.st_uid in {os.geteuid(), 0} and not info.st_mode & _OTHERS_WRITE
    return _Kept(reported, command, administrator) if is_own else _Kept(reported)
