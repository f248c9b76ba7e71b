"""The settings of one instance of the history corrector: its time slices and bounds (docs/dirac.md 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fairq.engine.shares.notes import Note, NoteKind, note
from fairq.engine.shares.options import number
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError, ShareCorrectionError, ShareSetting

BOUND = "MaxGlobalCorrection"
SCHEMA_BOUND = "MaxGlobalCorrectionFactor"
"""The name that the schema of 2009 uses, which DIRAC does not read."""

OF_INSTANCE = frozenset({"Group", "UpdateHistoryPeriod", BOUND, SCHEMA_BOUND})
OF_SLICE = frozenset({"TimeSpan", "Weight", "MaxCorrection"})
"""The options that are read."""

DEFAULT_BOUND = 5
DEFAULT_SPAN, DEFAULT_WEIGHT, DEFAULT_MAXIMUM = 604800, 1, 3
DEFAULT_PERIOD = 900


class Slice(Struct, frozen=True):
    """A time slice: its name, its seconds, its weight (all of an instance add up to 1), and its MaxCorrection."""

    name: str
    span: float
    weight: float
    maximum: float


class HistorySettings(Struct, frozen=True):
    """One instance.

    Attributes:
        group: the group whose users are corrected; "": groups are corrected.
        maximum: MaxGlobalCorrection.
        bound_option: the option that sets it; None: the default.
        period: seconds for which a history is valid.
        slices: in their order.
        notes: notes about the settings.
    """

    group: str
    maximum: float
    bound_option: str | None
    period: float
    slices: tuple[Slice, ...]
    notes: tuple[Note, ...] = ()


def read_history_settings(where: str, options: Mapping[str, Any], rules: Rules) -> HistorySettings:
    """Return the settings in *options*, where every block is a slice; *where* names them in messages.

    Raises ShareCorrectionError for invalid settings, and under the rules dirac DiracStopsError where DIRAC cannot
    start.
    """
    notes = _unread(where, options, OF_INSTANCE)
    maximum, bound_option = _bound(where, options, rules, notes)
    slices = [
        _slice(name, f"{where}, slice {name}", block, rules, notes)
        for name, block in options.items()
        if isinstance(block, Mapping)
    ]
    return HistorySettings(
        group=str(options.get("Group") or "").strip(),
        maximum=maximum,
        bound_option=bound_option,
        period=number(options, "UpdateHistoryPeriod", DEFAULT_PERIOD, rules, where, notes.append),
        slices=_weighted(where, slices, rules, notes),
        notes=tuple(notes),
    )


def _bound(where: str, options: Mapping[str, Any], rules: Rules, notes: list[Note]) -> tuple[float, str | None]:
    given = [name for name in (BOUND, SCHEMA_BOUND) if name in options]
    if not rules.both_bound_names:
        if SCHEMA_BOUND in given:
            notes.append(
                note(NoteKind.UNREAD_SCHEMA_BOUND, where, name=SCHEMA_BOUND, bound=BOUND, default=DEFAULT_BOUND)
            )
            given.remove(SCHEMA_BOUND)
    elif len(given) > 1:
        raise ShareCorrectionError(ShareSetting.BOUND_TWICE, where=where, first=BOUND, second=SCHEMA_BOUND)
    if not given:
        return DEFAULT_BOUND, None
    return _maximum(where, options, given[0], DEFAULT_BOUND, rules, notes), given[0]


def _unread(where: str, options: Mapping[str, Any], known: frozenset[str]) -> list[Note]:
    return [
        note(NoteKind.UNREAD_OPTION, where, name=name, known=", ".join(sorted(known)))
        for name, value in options.items()
        if name not in known and not isinstance(value, Mapping)
    ]


def _slice(name: str, where: str, options: Mapping[str, Any], rules: Rules, notes: list[Note]) -> Slice:
    if rules.checked_settings and "TimeSpan" not in options:
        raise ShareCorrectionError(ShareSetting.NO_TIME_SPAN, where=where)
    notes += _unread(where, options, OF_SLICE)
    span = number(options, "TimeSpan", DEFAULT_SPAN, rules, where, notes.append)
    weight = number(options, "Weight", DEFAULT_WEIGHT, rules, where, notes.append)
    if rules.checked_settings and not span > 0:
        raise ShareCorrectionError(ShareSetting.TIME_SPAN, where=where, value=span)
    if rules.checked_settings and not weight >= 0:
        raise ShareCorrectionError(ShareSetting.WEIGHT, where=where, value=weight)
    return Slice(name, span, weight, _maximum(where, options, "MaxCorrection", DEFAULT_MAXIMUM, rules, notes))


def _maximum(where: str, options: Mapping[str, Any], name: str, default: int, rules: Rules, notes: list[Note]) -> float:
    value = number(options, name, default, rules, where, notes.append)
    if rules.checked_settings and value < 1:
        raise ShareCorrectionError(ShareSetting.BOUND_BELOW_ONE, where=where, option=name, value=value)
    return value


def _weighted(where: str, slices: list[Slice], rules: Rules, notes: list[Note]) -> tuple[Slice, ...]:
    if not slices:
        notes.append(note(NoteKind.NO_SLICE, where))
        return ()
    total = 0.0
    for one in slices:
        total += one.weight
    if total == 0:
        if rules.checked_settings:
            raise ShareCorrectionError(ShareSetting.NO_WEIGHT, where=where)
        raise DiracStopsError(DiracFailure.NO_WEIGHT, where=where)
    if len(slices) > 1 and total not in (1, 100):
        notes.append(note(NoteKind.SCALED_WEIGHTS, where, total=total))
    return tuple(Slice(one.name, one.span, one.weight / total, one.maximum) for one in slices)
