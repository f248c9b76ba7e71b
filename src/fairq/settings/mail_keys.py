"""The settings of mail: to users about their jobs, and to administrators about problems."""

from __future__ import annotations

from fairq.settings.key import own

MAIL = (
    own(
        "mail",
        "command",
        "string",
        None,
        "Command that sends a mail, such as mail -s {subject} {to}; the text is its input. No shell reads it. If unset,"
        " nothing is mailed.",
        spaces=True,
    ),
    own("mail", "administrator", "string", "root", "Address to which fairq pool check --mail sends faults."),
)
