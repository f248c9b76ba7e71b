"""The notes of an import of settings: by default, only those that concern negotiation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.cli.invocation import Invocation

if TYPE_CHECKING:
    from fairq.steps.config import ImportedConfig

_SCREENFUL = 20
"""Number of lines that are shown for any subject."""


def import_notes(invocation: Invocation, imported: ImportedConfig) -> None:
    """Print the rules of an imported DIRAC, and the lines that were not imported, or have no effect.

    If there are many, lines that do not concern negotiation, accounting or quotas are only counted, unless ``-v``.
    """
    from fairq.settings.htcondor.reasons import concerns_negotiation

    if imported.of_dirac:
        invocation.note("shares.rules becomes dirac: task queues follow the program; set it to documented for its page")
    lines = [
        (f"{entry.where}: {entry.name} is not imported: {entry.why}", concerns_negotiation(entry.name, entry.why))
        for entry in imported.not_taken
    ]
    lines += [
        (f"{entry.where}: {entry.name} has no effect in this version: {entry.why}", True)
        for entry in imported.without_effect
    ]
    tells_all = invocation.verbose or len(lines) <= _SCREENFUL
    for text, concerns in lines:
        if concerns or tells_all:
            invocation.note(text)
    left = 0 if tells_all else sum(not concerns for _, concerns in lines)
    if left:
        lines_do = "1 line that does" if left == 1 else f"{left} lines that do"
        are = "is" if left == 1 else "are"
        invocation.note(f"{lines_do} not concern negotiation or accounting {are} not imported; -v tells more")
