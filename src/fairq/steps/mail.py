"""Send a mail by the command of the settings."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.settings import Settings

_ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._%+-]*(@[A-Za-z0-9.-]+)?", re.ASCII)
_LONGEST = 30.0
"""Seconds that the command may take."""


def send(settings: Settings, to: str, subject: str, text: str) -> str | None:
    """Send *text* to the address *to*; return what went wrong, None if nothing did or no command is set."""
    command = settings["mail.command"]
    if not command:
        return None
    if not _ADDRESS.fullmatch(to):
        return f"no mail was sent to {to!r}: it is no address"
    one_line = " ".join(subject.split())
    try:
        # No shell reads it: a subject is one word of the command, whatever it holds.
        words = [word.replace("{to}", to).replace("{subject}", one_line) for word in shlex.split(command)]
        done = subprocess.run(
            words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, timeout=_LONGEST, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"no mail was sent to {to}: {error}; correct mail.command"
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().split("\n")[-1] or f"exit code {done.returncode}"
        return f"no mail was sent to {to}: {reason}; correct mail.command"
    return None
