"""A checked share corrector of a plugin: every failure becomes an error that names the plugin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

from fairq.engine.shares.corrector import TO_START, Correction, EntityCorrection, Reports, ShareCorrector
from fairq.errors.base import FairqError
from fairq.errors.shares import ShareCorrectorError

Result = TypeVar("Result")


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
