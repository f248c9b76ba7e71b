"""Notes about settings and reports, as data: the command line has the words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class NoteKind(StrEnum):
    """What a note is about."""

    UNKNOWN_CORRECTOR = "unknown_corrector"
    CORRECTOR_WITHOUT_SETTINGS = "corrector_without_settings"
    REPEATED_INSTANCE = "repeated_instance"
    REPEATED_GLOBAL_INSTANCE = "repeated_global_instance"
    SLICE_REPORT_FAILED = "slice_report_failed"
    SLICE_REPORT_EMPTY = "slice_report_empty"
    INSTANCE_REPORT_FAILED = "instance_report_failed"
    INSTANCE_REPORT_EMPTY = "instance_report_empty"
    UNREAD_OPTION = "unread_option"
    UNREAD_SCHEMA_BOUND = "unread_schema_bound"
    NO_SLICE = "no_slice"
    SCALED_WEIGHTS = "scaled_weights"
    NOT_AN_INTEGER = "not_an_integer"
    LIMIT_NOT_AN_INTEGER = "limit_not_an_integer"
    UNKNOWN_ATTRIBUTE = "unknown_attribute"
    NOT_OF_QUEUES = "not_of_queues"
    GROUP_WITHOUT_SHARE = "group_without_share"
    GROUP_WITHOUT_QUEUE = "group_without_queue"


class Note(NamedTuple):
    """One note.

    Attributes:
        kind: the kind of the note.
        where: the block of settings.
        facts: the values in its words.
    """

    kind: NoteKind
    where: str
    facts: Mapping[str, Any]


def note(kind: NoteKind, where: str, /, **facts: Any) -> Note:
    """Return a note."""
    return Note(kind, where, facts)
