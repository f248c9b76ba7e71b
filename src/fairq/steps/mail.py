"""Send a mail by the command of the settings."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from fairq.settings import Settings

_ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._%+-]*(@[A-Za-z0-9.-]+)?", re.ASCII)
ALWAYS, COMPLETE, ERROR, START = WANTED = (1, 2, 3, 4)
"""HTCondor's values of the attribute JobNotification that request mail; 0 means never."""

_TIMEOUT = 30.0
"""Seconds that the command may take."""


def is_address(text: str) -> bool:
    """Return whether *text* is one address of mail; two words, or an option of the command, are none."""
    return _ADDRESS.fullmatch(text) is not None


class Mailer(Struct, frozen=True):
    """Sends mails by a *command*, whose words ``{to}`` and ``{subject}`` are replaced; nothing if it is empty."""

    command: str

    @classmethod
    def of(cls, settings: Settings) -> Mailer:
        """Return the mailer of the settings."""
        return cls(settings["mail.command"] or "")

    def send(self, to: str, subject: str, text: str) -> str | None:
        """Send *text* to the address *to*; return the error message, or None if it was sent or there is no command."""
        if not self.command:
            return None
        if not is_address(to):
            return f"no mail was sent to {to!r}: it is no address"
        one_line = " ".join(subject.split())
        try:
            # No shell interprets it: a subject is always one word of the command.
            words = [word.replace("{to}", to).replace("{subject}", one_line) for word in shlex.split(self.command)]
            process = subprocess.run(
                words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, timeout=_TIMEOUT, check=False
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return f"no mail was sent to {to}: {error}; correct mail.command"
        if process.returncode:
            reason = (
                process.stderr.decode(errors="replace").strip().split("\n")[-1] or f"exit code {process.returncode}"
            )
            return f"no mail was sent to {to}: {reason}; correct mail.command"
        return None
