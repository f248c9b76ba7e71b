"""Share correctors: the interface of plugins, and all active correctors, applied in order.

A plugin is a `CorrectorMaker`, found by name (entry points; ShareCorrectorsToStart). DIRAC SharesCorrector,
BaseCorrector; docs/dirac.md 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct, field

from fairq.engine.shares.options import Note, NoteKind, names, note
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError, ShareCorrectionError, ShareSetting

TO_START = "ShareCorrectorsToStart"

Bound = Literal["upper", "lower"]


class UsageRequest(Struct, frozen=True):
    """A request for history: the average number of jobs over the last *span* seconds.

    Attributes:
        span: seconds.
        group: the group whose users are requested; "": all groups are requested.
        running_only: count only running jobs.
    """

    span: float
    group: str = ""
    running_only: bool = True


Reports = Callable[[UsageRequest], Mapping[str, float] | None]
"""Returns the use by group or user, for those with any use; None: the report failed."""


class SliceCorrection(NamedTuple):
    """The result of one time slice for one group or user.

    Attributes:
        name, span, maximum: the slice, its seconds, its MaxCorrection.
        weight: normalised over the slices with a result.
        use: average number of jobs; None: none.
        use_fraction: fraction of the use of all groups or users compared.
        raw: expected over used, before the bounds; None if there was no use.
        clamped: after the bounds; None: the slice was skipped.
        bound: the bound that applied, if any.
        term: its part of the factor.
    """

    name: str
    span: float
    weight: float
    use: float | None
    use_fraction: float | None
    raw: float | None
    clamped: float | None
    bound: Bound | None
    maximum: float
    term: float


class EntityCorrection(NamedTuple):
    """How one corrector changed the share of one group or user.

    Attributes:
        corrector, instance: the corrector and its instance.
        entity: the group's or user's name.
        expected: the share before.
        fraction: fraction of the shares of all groups or users compared; None: no shares to compare.
        slices: the result of each time slice.
        raw: the sum of the terms; None: no slice has a result.
        maximum: MaxGlobalCorrection.
        factor: after the bounds.
        bound: the bound that applied, if any.
        share: the share after.
    """

    corrector: str
    instance: str
    entity: str
    expected: float
    fraction: float | None
    slices: tuple[SliceCorrection, ...]
    raw: float | None
    maximum: float | None
    factor: float
    bound: Bound | None
    share: float


class Correction(Struct, frozen=True):
    """The shares after one instance of a corrector, and their calculation."""

    shares: Mapping[str, float]
    entities: Mapping[str, EntityCorrection] = field(default_factory=dict)


class ShareCorrector(Protocol):
    """One instance of a corrector: between groups, or inside one group."""

    @property
    def group(self) -> str:
        """The group whose users it corrects; "": it corrects groups."""

    @property
    def notes(self) -> Sequence[Note | str]:
        """Notes about its settings."""

    def update(self, reports: Reports, now: float) -> None:
        """Request the history if the last one is too old at *now* (seconds since 1970)."""

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares for the *expected* ones."""


class CorrectorMaker(Protocol):
    """Makes an instance from its name and its block of settings."""

    def __call__(self, corrector: str, instance: str, options: Mapping[str, Any], rules: Rules) -> ShareCorrector:
        """Return the *instance* of *corrector*; raises ShareCorrectionError for invalid *options*."""


class Corrected(Struct, frozen=True):
    """Shares after all correctors, and the result of each corrector in order, by group or user."""

    shares: Mapping[str, float]
    steps: Mapping[str, tuple[EntityCorrection, ...]]


class Corrections:
    """The correctors that were started.

    Attributes:
        notes: notes about the settings and the reports.
    """

    def __init__(self, rules: Rules, makers: Mapping[str, CorrectorMaker]) -> None:
        """No share is corrected before the first `update`; *makers* are the known correctors."""
        self._rules, self._makers = rules, makers
        self._started: dict[str, dict[str, ShareCorrector]] = {}
        self._notes: list[Note | str] = []

    @property
    def notes(self) -> list[Note | str]:
        """Notes about the settings and the reports."""
        return [*self._notes, *(text for _, instance in self.instances() for text in instance.notes)]

    def instances(self) -> list[tuple[str, ShareCorrector]]:
        """Return every corrector's instances, each under DIRAC's name for it (``WMSHistory/global``)."""
        return [
            (f"{corrector}/{f'gr:{group}' if group else 'global'}", instance)
            for corrector, started in self._started.items()
            for group, instance in started.items()
        ]

    def idle(self, groups: Container[str], owning: Container[str]) -> list[Note]:
        """Return a note for each instance whose group has no task queue.

        *groups* are the groups with a share, *owning* the groups with a task queue.
        """
        return [
            note(
                NoteKind.GROUP_WITHOUT_QUEUE if instance.group in groups else NoteKind.GROUP_WITHOUT_SHARE,
                name.partition("/")[0],
                group=instance.group,
            )
            for name, instance in self.instances()
            if instance.group and instance.group not in owning
        ]

    def update(self, block: Mapping[str, Any], reports: Reports, now: float = 0.0) -> None:
        """Start the correctors in *block* (ShareCorrections), and request missing history.

        Running instances keep their first settings, as in DIRAC; a new object reads the settings again. Raises
        ShareCorrectionError for invalid settings, and under the rules dirac DiracStopsError where DIRAC fails.
        """
        self._notes = []
        configured = names(block.get(TO_START))
        stopped = [name for name in self._started if name not in configured]
        for name in stopped:
            del self._started[name]
        if stopped and not self._rules.checked_settings:
            raise DiracStopsError(DiracFailure.CORRECTOR_REMOVED, corrector=stopped[0])
        for name in configured:
            if name not in self._started:
                self._start(name, block)
        for _, instance in self.instances():
            instance.update(reports, now)

    def _start(self, name: str, block: Mapping[str, Any]) -> None:
        make = self._makers.get(name)
        options = block.get(name)
        if make is None:
            known_names = ", ".join(self._makers)
            if self._rules.checked_settings:
                raise ShareCorrectionError(ShareSetting.UNKNOWN_CORRECTOR, where=name, known=known_names)
            self._notes.append(note(NoteKind.UNKNOWN_CORRECTOR, name, known=known_names))
            if isinstance(options, Mapping):
                # DIRAC counts it as started, so its later removal fails like any other.
                self._started[name] = {}
            return
        if not isinstance(options, Mapping):
            self._notes.append(note(NoteKind.CORRECTOR_WITHOUT_SETTINGS, name))
            return
        started = self._started.setdefault(name, {})
        for instance, block_of_instance in options.items():
            if not isinstance(block_of_instance, Mapping):
                continue
            if (
                not self._rules.checked_settings
                and (group := str(block_of_instance.get("Group") or "").strip()) in started
            ):
                self._report_repeated(f"{name} {instance}", group)
                continue
            made = make(name, instance, block_of_instance, self._rules)
            if made.group in started:
                self._report_repeated(f"{name} {instance}", made.group)
            started[made.group] = made

    def _report_repeated(self, where: str, group: str) -> None:
        if self._rules.checked_settings:
            error_kind = ShareSetting.GROUP_TWICE if group else ShareSetting.GROUPS_TWICE
            raise ShareCorrectionError(error_kind, where=where, group=group)
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
                for entity, step in correction.entities.items():
                    steps[entity] = (*steps.get(entity, ()), step)
        return Corrected(shares, steps)
