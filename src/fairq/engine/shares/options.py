"""Numbers, lists and booleans in options, read as in DIRAC or strictly; notes about options and reports, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from fairq.engine.shares.rules import Rules
from fairq.errors.shares import ShareCorrectionError, ShareSetting


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
        facts: the values for its text.
    """

    kind: NoteKind
    where: str
    facts: Mapping[str, Any]


def note(kind: NoteKind, where: str, /, **facts: Any) -> Note:
    """Return a note."""
    return Note(kind, where, facts)


def names(value: Any) -> tuple[str, ...]:
    """Return the items of a comma list or of a list, without blanks."""
    items: Any = [] if value is None else [value]
    if isinstance(value, str):
        items = value.split(",")
    elif isinstance(value, list | tuple):
        items = value
    return tuple(item for item in (str(item).strip() for item in items) if item)


def is_yes(value: Any) -> bool:
    """Return whether DIRAC reads *value* as true: y, yes, true or 1, in any letter case."""
    return str(value).strip().lower() in ("y", "yes", "true", "1")


def number(
    options: Mapping[str, Any],
    name: str,
    default: int,
    rules: Rules,
    where: str,
    report: Callable[[Note], None],
) -> float:
    """Return the number that *options* give for *name*, or *default*.

    Under the rules dirac, a value that is not an integer selects the default, and *report* is called with a note.
    Otherwise decimals count, and a value that is not a finite number raises ShareCorrectionError.
    """
    if name not in options:
        return default
    text = str(options[name]).strip()
    try:
        return int(text)
    except ValueError:
        pass
    if rules.whole_numbers:
        report(note(NoteKind.NOT_AN_INTEGER, where, name=name, value=text, default=default))
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ShareCorrectionError(ShareSetting.NUMBER, where=where, name=name, text=text, default=default)
    return value
