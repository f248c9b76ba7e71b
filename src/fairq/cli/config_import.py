"""The notes of an import of settings: by default, only those that concern negotiation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.cli.invocation import Invocation

if TYPE_CHECKING:
    from fairq.steps.config import ImportedConfig

_SCREENFUL = 20
"""Maximum number of lines that are all shown, whatever their subject."""


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
    is_complete = invocation.verbose or len(lines) <= _SCREENFUL
    for text, is_concerned in lines:
        if is_concerned or is_complete:
            invocation.note(text)
    hidden_count = 0 if is_complete else sum(not is_concerned for _, is_concerned in lines)
    if hidden_count:
        lines_do = "1 line that does" if hidden_count == 1 else f"{hidden_count} lines that do"
        verb = "is" if hidden_count == 1 else "are"
        invocation.note(f"{lines_do} not concern negotiation or accounting {verb} not imported; -v tells more")
