"""All active correctors, applied in order (DIRAC SharesCorrector; docs/dirac.md 4.1)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from fairq.engine.shares.corrector import CorrectorMaker, EntityCorrection, Reports, ShareCorrector
from fairq.engine.shares.history_corrector import HistoryCorrector
from fairq.engine.shares.notes import Note, NoteKind, note
from fairq.engine.shares.options import names
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError, ShareCorrectionError, ShareSetting

TO_START = "ShareCorrectorsToStart"


def built_in(user_dns: Mapping[str, Sequence[str]] | None = None) -> dict[str, CorrectorMaker]:
    """Return DIRAC's own correctors; they differ only in the source of the history."""
    make = partial(HistoryCorrector, user_dns=user_dns)
    return {"WMSHistory": make, "MonitoringHistory": make}


class Corrected(Struct, frozen=True):
    """Shares after all correctors, and the result of each corrector in order, by group or user."""

    shares: Mapping[str, float]
    steps: Mapping[str, tuple[EntityCorrection, ...]]


class Corrections:
    """The correctors that were started.

    Attributes:
        notes: notes about the settings and the reports.
    """

    def __init__(self, rules: Rules, makers: Mapping[str, CorrectorMaker] | None = None) -> None:
        """No share is corrected before the first `update`; *makers* are the known correctors (`built_in`)."""
        self._rules = rules
        self._makers = built_in() if makers is None else makers
        self._started: dict[str, dict[str, ShareCorrector]] = {}
        self._notes: list[Note | str] = []

    @property
    def notes(self) -> list[Note | str]:
        """What is worth telling about the settings and the reports."""
        return [*self._notes, *(one for _, instance in self.instances() for one in instance.notes)]

    def instances(self) -> list[tuple[str, ShareCorrector]]:
        """Return every corrector's instances, each under DIRAC's name for it (``WMSHistory/global``)."""
        return [
            (f"{corrector}/{f'gr:{group}' if group else 'global'}", one)
            for corrector, started in self._started.items()
            for group, one in started.items()
        ]

    def idle(self, groups: Container[str], owning: Container[str]) -> list[Note]:
        """Return a note for each instance whose group has no task queue: *owning* do, *groups* have a share."""
        return [
            note(
                NoteKind.GROUP_WITHOUT_QUEUE if one.group in groups else NoteKind.GROUP_WITHOUT_SHARE,
                name.partition("/")[0],
                group=one.group,
            )
            for name, one in self.instances()
            if one.group and one.group not in owning
        ]

    def update(self, block: Mapping[str, Any], reports: Reports, now: float = 0.0) -> None:
        """Start the correctors in *block* (ShareCorrections), and request missing history.

        Running instances keep their first settings, as in DIRAC; a new object reads the settings again. Raises
        ShareCorrectionError for invalid settings, and under the rules dirac DiracStopsError where DIRAC fails.
        """
        self._notes = []
        wanted = names(block.get(TO_START))
        stopped = [name for name in self._started if name not in wanted]
        for name in stopped:
            del self._started[name]
        if stopped and not self._rules.checked_settings:
            raise DiracStopsError(DiracFailure.CORRECTOR_REMOVED, corrector=stopped[0])
        for name in wanted:
            if name not in self._started:
                self._start(name, block)
        for _, one in self.instances():
            one.update(reports, now)

    def _start(self, name: str, block: Mapping[str, Any]) -> None:
        make = self._makers.get(name)
        options = block.get(name)
        if make is None:
            known = ", ".join(self._makers)
            if self._rules.checked_settings:
                raise ShareCorrectionError(ShareSetting.UNKNOWN_CORRECTOR, where=name, known=known)
            self._notes.append(note(NoteKind.UNKNOWN_CORRECTOR, name, known=known))
            if isinstance(options, Mapping):
                # DIRAC counts it as started, so that taking it out fails as with any other.
                self._started[name] = {}
            return
        if not isinstance(options, Mapping):
            self._notes.append(note(NoteKind.CORRECTOR_WITHOUT_SETTINGS, name))
            return
        started = self._started.setdefault(name, {})
        for instance, inner in options.items():
            if not isinstance(inner, Mapping):
                continue
            if not self._rules.checked_settings and (group := str(inner.get("Group") or "").strip()) in started:
                self._repeated(f"{name} {instance}", group)
                continue
            one = make(name, instance, inner, self._rules)
            if one.group in started:
                self._repeated(f"{name} {instance}", one.group)
            started[one.group] = one

    def _repeated(self, where: str, group: str) -> None:
        if self._rules.checked_settings:
            twice = ShareSetting.GROUP_TWICE if group else ShareSetting.GROUPS_TWICE
            raise ShareCorrectionError(twice, where=where, group=group)
        kind = NoteKind.REPEATED_INSTANCE if group else NoteKind.REPEATED_GLOBAL_INSTANCE
        self._notes.append(note(kind, where, group=group))

    def correct(self, expected: Mapping[str, float], group: str = "") -> Corrected:
        """Return the shares after all correctors: of groups, or of the users of *group*."""
        shares: Mapping[str, float] = expected
        steps: dict[str, tuple[EntityCorrection, ...]] = {}
        for started in self._started.values():
            if group in started:
                correction = started[group].correct(shares)
                shares = correction.shares
                for entity, one in correction.entities.items():
                    steps[entity] = (*steps.get(entity, ()), one)
        return Corrected(shares, steps)
