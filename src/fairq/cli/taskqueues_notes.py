"""The texts of notes about shares, corrections and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.engine.shares.options import Note
    from fairq.steps.taskqueues.world import HasNotes

WORDS = {
    "unknown_corrector": "{where}: ShareCorrectorsToStart names {where}; known are: {known}; DIRAC ignores it",
    "corrector_without_settings": "the corrector {where} has no settings and corrects nothing",
    "repeated_instance": "{where}: another instance is for {group} already; this one is not used",
    "repeated_global_instance": "{where}: another instance is for all groups already; this one is not used",
    "slice_report_failed": "{where}: the report for slice {slice} failed; the slice is left out",
    "slice_report_empty": "{where}: the report for slice {slice} is empty; the slice is left out",
    "instance_report_failed": "{where}: the report for slice {slice} failed; nothing is corrected",
    "instance_report_empty": "{where}: the report for slice {slice} is empty; nothing is corrected",
    "unread_option": "{where}: {name} is not read; known are {known}",
    "unread_schema_bound": "{where}: DIRAC reads {bound} (default {default}), not {name}",
    "no_slice": "{where}: it has no time slice and corrects nothing",
    "scaled_weights": "{where}: the weights add up to {total:g} and are scaled to 1",
    "not_an_integer": "{where}: {name} = {value} is not an integer; DIRAC uses the default {default}",
    "limit_not_an_integer": "{where}: the limit of {name} is not an integer; DIRAC applies none of the limits there",
    "unknown_attribute": "{where}: jobs have no attribute {name}; the limit is not applied",
    "not_of_queues": "{where}: {name} is no property of a task queue; it is not applied",
    "group_without_share": "{where}: the group {group} has no share and no task queue; nothing is corrected",
    "group_without_queue": "{where}: the group {group} has no task queue at the moment; nothing is corrected",
}
"""By the kind of a note; names in braces are placeholders for its facts."""


def in_words(note: Note | str) -> str:
    """Return a note as text; notes of plugins and of steps are text already."""
    return note if isinstance(note, str) else WORDS[note.kind].format(where=note.where, **note.facts)


def tell(invocation: Invocation, source: HasNotes) -> None:
    """Print the notes; the remarks of the correctors only with ``-v``."""
    for note in source.notes:
        invocation.note(in_words(note))
    for detail in source.details:
        invocation.detail(in_words(detail))
