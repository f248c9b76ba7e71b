"""The history corrector: more use than expected lowers a share, less use raises it.

DIRAC BaseHistoryCorrector.applyCorrection, WMSHistoryCorrector; docs/dirac.md 4. The order of
floating-point operations is DIRAC's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from fairq.engine.shares.corrector import (
    Bound,
    Correction,
    CorrectorMaker,
    EntityCorrection,
    Reports,
    SliceCorrection,
    UsageRequest,
)
from fairq.engine.shares.options import Note, NoteKind, note, number
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError, ShareCorrectionError, ShareSetting

BOUND = "MaxGlobalCorrection"
SCHEMA_BOUND = "MaxGlobalCorrectionFactor"
"""The option's name in the schema of 2009; DIRAC does not read it."""

INSTANCE_OPTIONS = frozenset({"Group", "UpdateHistoryPeriod", BOUND, SCHEMA_BOUND})
SLICE_OPTIONS = frozenset({"TimeSpan", "Weight", "MaxCorrection"})
"""The options that are read."""

DEFAULT_BOUND = 5
DEFAULT_SPAN, DEFAULT_WEIGHT, DEFAULT_MAXIMUM = 604800, 1, 3
DEFAULT_PERIOD = 900


class Slice(Struct, frozen=True):
    """A time slice: name, span in seconds, weight (the weights of an instance add up to 1), and MaxCorrection."""

    name: str
    span: float
    weight: float
    maximum: float


class HistorySettings(Struct, frozen=True):
    """One instance.

    Attributes:
        group: the group whose users are corrected; "": groups are corrected.
        maximum: MaxGlobalCorrection.
        period: seconds for which a history is valid.
        slices: the slices, in order of the settings.
        notes: notes about the settings.
    """

    group: str
    maximum: float
    period: float
    slices: tuple[Slice, ...]
    notes: tuple[Note, ...] = ()


class HistoryCorrector:
    """One instance: between groups, or between the users of one group.

    Attributes:
        settings: its slices and bounds at its creation.
        history: the report of each slice, by name of the slice.
    """

    def __init__(
        self,
        corrector: str,
        instance: str,
        options: Mapping[str, Any],
        rules: Rules,
        user_dns: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Read the settings; *user_dns* are the users' distinguished names, for the rules dirac inside a group."""
        self._where = f"{corrector} {instance}"
        self.settings = read_history_settings(self._where, options, rules)
        self.history: dict[str, Mapping[str, float]] = {}
        self._corrector, self._instance = corrector, instance
        self._rules = rules
        self._user_dns = user_dns or {}
        self._updated: float | None = None
        self._failures: list[Note] = []

    @property
    def group(self) -> str:
        """The group whose users are corrected; "": groups are corrected."""
        return self.settings.group

    @property
    def notes(self) -> Sequence[Note]:
        """Notes about the settings and the last reports."""
        return (*self.settings.notes, *self._failures)

    def update(self, reports: Reports, now: float) -> None:
        """Request the history of each slice, unless the last one is younger than UpdateHistoryPeriod."""
        if self._updated is not None and self._updated + self.settings.period > now:
            return
        self._updated = now
        self.history, self._failures = {}, []
        group = self.settings.group
        running_only = not group or self._rules.in_group_statuses == "running"
        for time_slice in self.settings.slices:
            usage = reports(UsageRequest(time_slice.span, group, running_only))
            if usage:
                self.history[time_slice.name] = self._by_entity(usage)
                continue
            if self._rules.failed_report == "instance":
                self.history = {}
                kind = NoteKind.INSTANCE_REPORT_FAILED if usage is None else NoteKind.INSTANCE_REPORT_EMPTY
                self._failures.append(note(kind, self._where, slice=time_slice.name))
                return
            kind = NoteKind.SLICE_REPORT_FAILED if usage is None else NoteKind.SLICE_REPORT_EMPTY
            self._failures.append(note(kind, self._where, slice=time_slice.name))

    def _by_entity(self, usage: Mapping[str, float]) -> Mapping[str, float]:
        if not self.settings.group or self._rules.in_group_key == "name":
            return usage
        return {dn: use for user, use in usage.items() for dn in self._user_dns.get(user, ())}

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares.

        Raises DiracStopsError, only under the rules dirac, where DIRAC divides by zero.
        """
        total = 0.0
        for share in expected.values():
            total += share
        if expected and not self._is_usable(total):
            self._stop_if_dirac(DiracFailure.NO_SHARES)
            return Correction(expected)
        if not self.history:
            return Correction(expected)
        slice_uses = [(time_slice, *self._compared_use(time_slice, expected)) for time_slice in self._usable_slices()]
        total_weight = 0.0
        for time_slice, _, sum_of_use in slice_uses:
            total_weight += time_slice.weight if sum_of_use else 0.0
        shared = self._rules.weight_of_skipped == "shared"
        if shared and not total_weight:
            return Correction(expected)
        maximum = self.settings.maximum
        if maximum == 0:
            self._stop_if_dirac(DiracFailure.NO_GLOBAL_BOUND)
            return Correction(expected)
        entities = {}
        for entity, share in expected.items():
            fraction = share / total
            slices = tuple(
                self._slice(
                    time_slice,
                    time_slice.weight / total_weight if shared else time_slice.weight,
                    fraction,
                    uses.get(entity),
                    total_use,
                )
                for time_slice, uses, total_use in slice_uses
            )
            entities[entity] = self._correct_entity(entity, share, fraction, slices)
        return Correction({name: correction.share for name, correction in entities.items()}, entities)

    def _usable_slices(self) -> list[Slice]:
        """Return the slices with a history and a valid bound."""
        reported = [part for part in self.settings.slices if part.name in self.history]
        return [part for part in reported if part.maximum != 0 or self._rules.zero_use == "error"]

    def _compared_use(self, time_slice: Slice, expected: Mapping[str, float]) -> tuple[Mapping[str, float], float]:
        """Return the use of the groups or users compared, and its sum; 0: the slice has no result."""
        history = self.history[time_slice.name]
        zero_is_absent = self._rules.zero_use == "absent"
        uses, total = {}, 0.0
        for entity in expected:
            use = history.get(entity)
            if use is not None and not (zero_is_absent and not self._is_usable(use)):
                uses[entity] = use
                total += use
        if zero_is_absent and not math.isfinite(total):
            return {}, 0.0
        return uses, total

    def _slice(
        self, time_slice: Slice, weight: float, fraction: float, use: float | None, total_use: float
    ) -> SliceCorrection:
        name, maximum = time_slice.name, time_slice.maximum
        unused = SliceCorrection(name, time_slice.span, weight, use, None, None, maximum, "upper", maximum, maximum)
        if total_use == 0:
            return unused._replace(weight=0.0, clamped=None, bound=None, term=0.0)
        if maximum == 0:
            self._stop_if_dirac(DiracFailure.NO_BOUND, slice=name)
        use_fraction = None if use is None else use / total_use
        if use_fraction == 0:
            self._stop_if_dirac(DiracFailure.NO_USE, slice=name)
        if not use_fraction:
            return unused._replace(term=maximum * weight) if self._rules.absent_weighted else unused
        raw = fraction / use_fraction
        clamped, bound = _clamp(raw, maximum)
        return unused._replace(use_fraction=use_fraction, raw=raw, clamped=clamped, bound=bound, term=clamped * weight)

    def _correct_entity(
        self, entity: str, share: float, fraction: float, slices: tuple[SliceCorrection, ...]
    ) -> EntityCorrection:
        maximum = self.settings.maximum
        raw, factor, bound = None, 1.0, None
        corrected = share
        if any(part.clamped is not None for part in slices):
            raw = 0.0
            for part in slices:
                raw += part.term
            factor, bound = _clamp(raw, maximum)
            corrected = share * factor
        return EntityCorrection(
            self._corrector, self._instance, entity, share, fraction, slices, raw, maximum, factor, bound, corrected
        )

    def _is_usable(self, amount: float) -> bool:
        return (amount > 0 and math.isfinite(amount)) if self._rules.zero_use == "absent" else amount != 0

    def _stop_if_dirac(self, failure: DiracFailure, **facts: str) -> None:
        if self._rules.zero_use == "error":
            raise DiracStopsError(failure, where=self._where, **facts)


def _clamp(value: float, maximum: float) -> tuple[float, Bound | None]:
    """Return *value* bounded by 1/maximum and maximum, and the bound that applied."""
    low = 1.0 / maximum
    clamped = max(min(value, maximum), low)
    if clamped == value:
        return clamped, None
    return clamped, "upper" if clamped < value else "lower"


def read_history_settings(where: str, options: Mapping[str, Any], rules: Rules) -> HistorySettings:
    """Return the settings in *options*, where every block is a slice; *where* names them in messages.

    Raises ShareCorrectionError for invalid settings, and under the rules dirac DiracStopsError where DIRAC cannot
    start.
    """
    notes = _unread_notes(where, options, INSTANCE_OPTIONS)
    maximum = _bound(where, options, rules, notes)
    slices = [
        _slice(name, f"{where}, slice {name}", block, rules, notes)
        for name, block in options.items()
        if isinstance(block, Mapping)
    ]
    return HistorySettings(
        group=str(options.get("Group") or "").strip(),
        maximum=maximum,
        period=number(options, "UpdateHistoryPeriod", DEFAULT_PERIOD, rules, where, notes.append),
        slices=_normalised(where, slices, rules, notes),
        notes=tuple(notes),
    )


def _bound(where: str, options: Mapping[str, Any], rules: Rules, notes: list[Note]) -> float:
    given_options = [name for name in (BOUND, SCHEMA_BOUND) if name in options]
    if not rules.both_bound_names:
        if SCHEMA_BOUND in given_options:
            notes.append(
                note(NoteKind.UNREAD_SCHEMA_BOUND, where, name=SCHEMA_BOUND, bound=BOUND, default=DEFAULT_BOUND)
            )
            given_options.remove(SCHEMA_BOUND)
    elif len(given_options) > 1:
        raise ShareCorrectionError(ShareSetting.BOUND_TWICE, where=where, first=BOUND, second=SCHEMA_BOUND)
    if not given_options:
        return DEFAULT_BOUND
    return _maximum(where, options, given_options[0], DEFAULT_BOUND, rules, notes)


def _unread_notes(where: str, options: Mapping[str, Any], known_options: frozenset[str]) -> list[Note]:
    return [
        note(NoteKind.UNREAD_OPTION, where, name=name, known=", ".join(sorted(known_options)))
        for name, value in options.items()
        if name not in known_options and not isinstance(value, Mapping)
    ]


def _slice(name: str, where: str, options: Mapping[str, Any], rules: Rules, notes: list[Note]) -> Slice:
    if rules.checked_settings and "TimeSpan" not in options:
        raise ShareCorrectionError(ShareSetting.NO_TIME_SPAN, where=where)
    notes += _unread_notes(where, options, SLICE_OPTIONS)
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


def _normalised(where: str, slices: list[Slice], rules: Rules, notes: list[Note]) -> tuple[Slice, ...]:
    if not slices:
        notes.append(note(NoteKind.NO_SLICE, where))
        return ()
    total = 0.0
    for part in slices:
        total += part.weight
    if total == 0:
        if rules.checked_settings:
            raise ShareCorrectionError(ShareSetting.NO_WEIGHT, where=where)
        raise DiracStopsError(DiracFailure.NO_WEIGHT, where=where)
    if len(slices) > 1 and total not in (1, 100):
        notes.append(note(NoteKind.SCALED_WEIGHTS, where, total=total))
    return tuple(Slice(part.name, part.span, part.weight / total, part.maximum) for part in slices)


def built_in(user_dns: Mapping[str, Sequence[str]] | None = None) -> dict[str, CorrectorMaker]:
    """Return DIRAC's own correctors; they differ only in the source of the history."""
    make = partial(HistoryCorrector, user_dns=user_dns)
    return {"WMSHistory": make, "MonitoringHistory": make}
