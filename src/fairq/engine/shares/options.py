"""Numbers, lists and booleans in options, read as in DIRAC or strictly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from fairq.engine.shares.notes import Note, NoteKind, note
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import ShareCorrectionError, ShareSetting


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
    tell: Callable[[Note], None],
) -> float:
    """Return the number that *options* give for *name*, or *default*.

    Under the rules dirac, a value that is not an integer selects the default, and *tell* gets a note. Otherwise
    decimals count, and a value that is not a finite number raises ShareCorrectionError.
    """
    if name not in options:
        return default
    text = str(options[name]).strip()
    try:
        return int(text)
    except ValueError:
        pass
    if rules.whole_numbers:
        tell(note(NoteKind.NOT_AN_INTEGER, where, name=name, value=text, default=default))
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ShareCorrectionError(ShareSetting.NUMBER, where=where, name=name, text=text, default=default)
    return value
