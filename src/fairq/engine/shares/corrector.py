"""The interface of share correctors: their input and their result.

A plugin is a `CorrectorMaker`, found by name (entry points; ShareCorrectorsToStart). DIRAC SharesCorrector,
BaseCorrector; docs/dirac.md 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct, field

from fairq.engine.shares.notes import Note
from fairq.engine.shares.rules import Rules

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
"""Returns the use of every group or user with any use; None: the report failed."""


class SliceCorrection(NamedTuple):
    """The result of one time slice for one group or user.

    Attributes:
        name, span, maximum: the slice, its seconds, its MaxCorrection.
        weight: normalised over the slices that count.
        use: average number of jobs; None: none.
        use_fraction: fraction of the use of all groups or users compared.
        raw: expected over used, before the bounds; None if there was no use.
        clamped: after the bounds; None: the slice was skipped.
        bound: which bound cut it, if one did.
        term: its part of the factor.
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
        corrector, instance: the corrector and its instance.
        entity: the group's or user's name.
        expected: the share before.
        fraction: fraction of the shares of all groups or users compared; None: no shares to compare.
        slices: the result of each time slice.
        raw: the sum of the terms; None: no slice has a result.
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
        """What its settings say that is worth telling."""

    def update(self, reports: Reports, now: float) -> None:
        """Request the history if the known one is too old at *now* (seconds since 1970)."""

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares for the *expected* ones."""


class CorrectorMaker(Protocol):
    """Makes an instance from its name and its block of settings."""

    def __call__(self, corrector: str, instance: str, options: Mapping[str, Any], rules: Rules) -> ShareCorrector:
        """Return the *instance* of *corrector*; raises ShareCorrectionError for invalid *options*."""
