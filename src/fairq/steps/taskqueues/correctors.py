"""Share correctors of fairq and of plugins, found through their entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fairq.engine.shares.corrector import TO_START, Corrections, CorrectorMaker, Reports, ShareCorrector
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.options import names
from fairq.engine.shares.rules import Rules
from fairq.errors.base import FairqError
from fairq.errors.shares import ShareCorrectorError
from fairq.steps.taskqueues.watched_corrector import WatchedCorrector

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
