"""Share correctors of fairq and of plugins, found through their entry points.

Every failure of a plugin becomes an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from numbers import Real
from typing import Any, TypeVar

from fairq.engine.shares.corrector import (
    TO_START,
    Correction,
    Corrections,
    CorrectorMaker,
    EntityCorrection,
    Reports,
    ShareCorrector,
)
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.options import names
from fairq.engine.shares.rules import Rules
from fairq.errors.base import FairqError
from fairq.errors.shares import ShareCorrectorError

Result = TypeVar("Result")

GROUP = "fairq.share_correctors"
"""The group of the entry points; each leads to a `CorrectorMaker`."""


def known_correctors() -> dict[str, CorrectorMaker]:
    """Return every corrector by name; a plugin is loaded at first use."""
    # An uninstalled source tree has no entry points.
    return {**built_in(), **{entry.name: partial(_make, entry) for entry in entry_points(group=GROUP)}}


def _make(entry: EntryPoint, corrector: str, instance: str, options: Mapping[str, Any], rules: Rules) -> ShareCorrector:
    try:
        make: CorrectorMaker = entry.load()
        made = make(corrector, instance, options, rules)
    except FairqError:
        raise
    except Exception as error:
        problem = f"cannot be started: {entry.value}: {type(error).__name__}: {error}"
        cure = f"fix or remove the plugin, or remove it from {TO_START}"
        raise ShareCorrectorError(name=corrector, problem=problem, cure=cure) from error
    return made if entry.value.startswith("fairq.") else WatchedCorrector(corrector, entry.value, made)


def start_corrections(
    rules: Rules,
    block: Mapping[str, Any],
    reports: Reports,
    now: float,
) -> Corrections | None:
    """Start the correctors of the *block* ShareCorrections with their history and return them; None if there are none.

    Raises:
        ShareCorrectionError: the settings are invalid.
        ShareCorrectorError: a plugin fails.
        DiracStopsError: where DIRAC fails, only under the rules dirac.
    """
    if not names(block.get(TO_START)):
        return None
    corrections = Corrections(rules, known_correctors())
    corrections.update(block, reports, now)
    return corrections


class WatchedCorrector:
    """The corrector *one* with its *name*, provided by the plugin *value* (``module:object``).

    All methods raise ShareCorrectorError if the plugin fails or returns an invalid result.
    """

    def __init__(self, name: str, value: str, one: ShareCorrector) -> None:
        """Read the group immediately: it must be text."""
        self._name, self._value, self._one = name, value, one
        self._group = self._tried("group", lambda: one.group)
        if not isinstance(self._group, str):
            raise self._odd(f"its group is {_shown(self._group)}, not a text")

    @property
    def group(self) -> str:
        """The group whose users it corrects; "": it corrects groups."""
        return self._group

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on its settings."""
        notes = self._tried("notes", lambda: self._one.notes)
        if not isinstance(notes, (list, tuple)):
            raise self._odd(f"its notes are {_shown(notes)}, not a list of texts")
        return [str(note) for note in notes]

    def update(self, reports: Reports, now: float) -> None:
        """Ask for the history."""
        self._tried("update", lambda: self._one.update(reports, now))

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares: for each of the *expected* ones, a finite number of at least 0."""
        found = self._tried("correct", lambda: self._one.correct(dict(expected)))
        if not isinstance(found, Correction):
            raise self._odd(f"its method correct returned {_shown(found)}, not a Correction")
        if not isinstance(found.shares, Mapping):
            raise self._odd(f"its shares are {_shown(found.shares)}, not a mapping of names to numbers")
        shares = {name: self._share(name, found.shares) for name in expected}
        entities = found.entities
        if not isinstance(entities, Mapping) or not all(isinstance(one, EntityCorrection) for one in entities.values()):
            raise self._odd(f"its entities are {_shown(entities)}, not a mapping of names to EntityCorrections")
        return Correction(shares, entities)

    def _share(self, name: str, shares: Mapping[str, Any]) -> float:
        if name not in shares:
            raise self._odd(f"it returned no share for {name!r}")
        share = shares[name]
        if isinstance(share, bool) or not isinstance(share, Real):
            raise self._odd(f"its share for {name!r} is {_shown(share)}, not a number")
        if not math.isfinite(share) or share < 0:
            raise self._odd(f"its share for {name!r} is {float(share)}, not a finite number of 0 or more")
        return float(share)

    def _tried(self, what: str, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except FairqError:
            raise
        except Exception as error:  # a plugin may raise anything
            raise self._odd(f"its {what} raised {type(error).__name__}: {error}") from error

    def _odd(self, problem: str) -> ShareCorrectorError:
        cure = f"fix the plugin {self._value}, or remove {self._name} from {TO_START}"
        return ShareCorrectorError(name=self._name, problem=f"cannot be used: {problem}", cure=cure)


def _shown(value: object) -> str:
    """Return *value* for a message; its own ``repr`` may fail as well."""
    try:
        return repr(value)
    except Exception:
        return f"an object of the class {type(value).__name__}"
