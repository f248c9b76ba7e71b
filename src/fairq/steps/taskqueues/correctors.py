"""The correctors of shares that the settings start, and the recent usage that they request.

Usage is the average number of jobs of groups and users, from fairq's own records and imported reports. A job counts
from its start to its end, for any number of cores, as DIRAC counts running jobs (docs/dirac.md 4.2). A report covers
exactly its time span, and is added to fairq's own records.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from fairq.common.records import UsageReport
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.shares.corrector import (
    TO_START,
    Correction,
    Corrections,
    CorrectorMaker,
    EntityCorrection,
    Reports,
    ShareCorrector,
    UsageRequest,
)
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.options import names
from fairq.engine.shares.rules import Rules
from fairq.errors.base import FairqError
from fairq.errors.shares import ShareCorrectorError
from fairq.state import claims, jobs, runs, share_groups
from fairq.state.connection import State

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Identity = tuple[str, str]
"""A user's name and group."""


class ShareHistory:
    """Answers the correctors' requests for one point in time; requires the open state."""

    def __init__(self, state: State, groups: Collection[str], now: int) -> None:
        """Store the arguments; *groups* are all known groups, used to find the group in a submitter's name."""
        self._state = state
        self._groups = frozenset(groups)
        self._now = now
        self._reports: dict[tuple[str, int], list[UsageReport]] = defaultdict(list)
        for report in share_groups.load_reports(state):
            self._reports[report.owner_group, report.time_span].append(report)
        self._spans: dict[tuple[float, bool], dict[Identity, float]] = {}
        self._identities: dict[str, Identity] = {}

    def __call__(self, request: UsageRequest) -> Mapping[str, float] | None:
        """Return the usage of every group, or of every user of the requested group; None if its report failed."""
        reported = self._reports.get((request.group, int(request.span)), [])
        if any(report.average_jobs is None for report in reported):
            return None
        usage: dict[str, float] = defaultdict(float)
        for report in reported:
            usage[report.entity] += report.average_jobs or 0.0
        for (owner, group), average in self._own_usage(request.span, request.running_only).items():
            if not request.group:
                usage[group] += average
            elif group == request.group:
                usage[owner] += average
        return usage

    def _own_usage(self, span: float, running_only: bool) -> dict[Identity, float]:
        stored = self._spans.get((span, running_only))
        if stored is not None or span <= 0:
            return stored or {}
        since = self._now - span
        seconds: dict[str, float] = defaultdict(float)
        for submitter, run_time in runs.seconds_between(self._state, since, self._now):
            seconds[submitter] += run_time
        for claim in claims.load_all(self._state):
            seconds[claim.submitter] += max(0.0, self._now - max(claim.start_time, since))
        if not running_only:
            for job in jobs.idle(self._state):
                seconds[job.submitter] += len(job) * max(0.0, self._now - max(job.queue_date, since))
        averages: dict[Identity, float] = defaultdict(float)
        for submitter, sum_of_seconds in seconds.items():
            if sum_of_seconds > 0:
                averages[self.identity(submitter)] += sum_of_seconds / span
        self._spans[span, running_only] = averages
        return averages

    def identity(self, submitter: str) -> Identity:
        """Return user and group of ``group.user@domain``: the group is the longest known one before a dot."""
        if submitter not in self._identities:
            local = submitter.rpartition("@")[0] or submitter
            parts = local.split(".")
            identity = (local, ROOT_GROUP)
            for length in range(len(parts) - 1, 0, -1):
                group = ".".join(parts[:length])
                if group in self._groups:
                    identity = (".".join(parts[length:]), group)
                    break
            self._identities[submitter] = identity
        return self._identities[submitter]


Result = TypeVar("Result")

GROUP = "fairq.share_correctors"
"""The group of the entry points; each leads to a `CorrectorMaker`."""


def known_correctors() -> dict[str, CorrectorMaker]:
    """Return every corrector by name; a plugin is loaded at first use."""
    from importlib.metadata import entry_points

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
    return made if entry.value.startswith("fairq.") else CheckedCorrector(corrector, entry.value, made)


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


class CheckedCorrector:
    """A *corrector* with its *name*, provided by the plugin *value* (``module:object``).

    All methods raise ShareCorrectorError if the plugin fails or returns an invalid result.
    """

    def __init__(self, name: str, value: str, corrector: ShareCorrector) -> None:
        """Read the group immediately: it must be text."""
        self._name, self._value, self._corrector = name, value, corrector
        self._group = self._call("group", lambda: corrector.group)
        if not isinstance(self._group, str):
            raise self._error(f"its group is {_shown(self._group)}, not a text")

    @property
    def group(self) -> str:
        """The group whose users it corrects; "": it corrects groups."""
        return self._group

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on its settings."""
        notes = self._call("notes", lambda: self._corrector.notes)
        if not isinstance(notes, (list, tuple)):
            raise self._error(f"its notes are {_shown(notes)}, not a list of texts")
        return [str(note) for note in notes]

    def update(self, reports: Reports, now: float) -> None:
        """Ask for the history."""
        self._call("update", lambda: self._corrector.update(reports, now))

    def correct(self, expected: Mapping[str, float]) -> Correction:
        """Return the corrected shares: for each of the *expected* ones, a finite number of at least 0."""
        correction = self._call("correct", lambda: self._corrector.correct(dict(expected)))
        if not isinstance(correction, Correction):
            raise self._error(f"its method correct returned {_shown(correction)}, not a Correction")
        if not isinstance(correction.shares, Mapping):
            raise self._error(f"its shares are {_shown(correction.shares)}, not a mapping of names to numbers")
        shares = {name: self._share(name, correction.shares) for name in expected}
        entities = correction.entities
        if not isinstance(entities, Mapping) or not all(
            isinstance(entry, EntityCorrection) for entry in entities.values()
        ):
            raise self._error(f"its entities are {_shown(entities)}, not a mapping of names to EntityCorrections")
        return Correction(shares, entities)

    def _share(self, name: str, shares: Mapping[str, Any]) -> float:
        if name not in shares:
            raise self._error(f"it returned no share for {name!r}")
        share = shares[name]
        if isinstance(share, bool) or not isinstance(share, Real):
            raise self._error(f"its share for {name!r} is {_shown(share)}, not a number")
        if not math.isfinite(share) or share < 0:
            raise self._error(f"its share for {name!r} is {float(share)}, not a finite number of 0 or more")
        return float(share)

    def _call(self, member: str, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except FairqError:
            raise
        except Exception as error:  # a plugin may raise anything
            raise self._error(f"its {member} raised {type(error).__name__}: {error}") from error

    def _error(self, problem: str) -> ShareCorrectorError:
        cure = f"fix the plugin {self._value}, or remove {self._name} from {TO_START}"
        return ShareCorrectorError(name=self._name, problem=f"cannot be used: {problem}", cure=cure)


def _shown(value: object) -> str:
    """Return *value* for a message; its own ``repr`` may fail as well."""
    try:
        return repr(value)
    except Exception:
        return f"an object of the class {type(value).__name__}"
