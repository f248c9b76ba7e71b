"""The door for share correctors: what one gets, and what it gives back.

A plugin is a `CorrectorMaker`, found by name (entry points; ShareCorrectorsToStart). DIRAC SharesCorrector,
BaseCorrector; docs/dirac.md 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from fairq.engine.shares.notes import Note
from fairq.engine.shares.rules import Rules

Bound = Literal["upper", "lower"]


@dataclass(frozen=True)
class UsageRequest:
    """Which history is asked for: the average number of jobs over the last *span* seconds.

    Attributes:
        span: seconds.
        group: whose users are asked for; "": all groups are.
        running_only: count running jobs alone.
    """

    span: float
    group: str = ""
    running_only: bool = True


Reports = Callable[[UsageRequest], Mapping[str, float] | None]
"""Answers a request with the use of every group or user that used anything; None: the report failed."""


class SliceCorrection(NamedTuple):
    """What one time slice says of one group or user.

    Attributes:
        name, span, maximum: the slice, its seconds, its MaxCorrection.
        weight: normalised; of the slices that count.
        use: average number of jobs; None: none.
        use_fraction: of the use of all that are compared.
        raw: expected over used, before the bounds; None where there was no use to compare with.
        clamped: after the bounds; None: the slice was skipped.
        bound: which bound cut it, if one did.
        term: what it adds to the factor.
    """

    name: str
    span: float
    weight: float
    maximum: float
    use: float | None
    use_fraction: float | None
    raw: float | None
    clamped: float | None
    bound: Bound | None
    term: float


class EntityCorrection(NamedTuple):
    """How one corrector changed the share of one group or user.

    Attributes:
        corrector, instance: whose work it is.
        entity: the group's or user's name.
        expected: the share before.
        fraction: of the shares of all that are compared; None: there was nothing to compare.
        slices: what each time slice said.
        raw: the sum of the terms; None: no slice said anything.
        maximum: MaxGlobalCorrection.
        factor: after the bounds.
        bound: which bound cut it, if one did.
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


@dataclass(frozen=True)
class Correction:
    """The shares after one instance of a corrector, and how each came about."""

    shares: Mapping[str, float]
    entities: Mapping[str, EntityCorrection] = field(default_factory=dict)


class ShareCorrector(Protocol):
    """One instance of a corrector: between groups, or inside one group."""

    @property
    def group(self) -> str:
        """Whose users it corrects; "": it corrects groups."""

    @property
    def notes(self) -> Sequence[Note | str]:
        """What its settings say that is worth telling."""

    def update(self, reports: Reports, now: float) -> None:
        """Ask for the history, if what is known is too old at the time *now* (epoch seconds)."""

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares of those whose *expected* shares are given."""


class CorrectorMaker(Protocol):
    """Makes an instance from its name and its block of settings."""

    def __call__(self, corrector: str, instance: str, options: Mapping[str, Any], rules: Rules) -> ShareCorrector:
        """Return the *instance* of *corrector*; raises ShareCorrectionError for *options* that cannot be meant."""
