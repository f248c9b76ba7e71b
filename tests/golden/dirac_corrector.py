"""Share corrections: the corrected shares, the instances as they were read, and the reports asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.golden.dirac_comparison import refused, unequal
from tests.golden.dirac_history import History, corrections_of

from fairq.engine.shares.corrector import Corrections
from fairq.engine.shares.history_corrector import HistoryCorrector
from fairq.errors.base import FairqError

Record = Mapping[str, Any]


def run_corrector(given: Record, expected: Record) -> list[str]:
    """Run one case of kind ``corrector``."""
    if "share_corrections_after" in given:
        return _run_twice(given, expected)
    corrections, reports = corrections_of(given), History(given.get("history"))
    corrections.update(given["share_corrections"], reports)
    found = dict(corrections.correct(given["expected_shares"], given["group"]).shares)
    differences = unequal("corrected_shares", found, expected["corrected_shares"])
    if "instances" in expected:
        differences += unequal("instances", _instances(corrections), expected["instances"])
    if "accounting_requests" in expected:
        differences += unequal("accounting_requests", reports.requests, expected["accounting_requests"])
    return differences


def _run_twice(given: Record, expected: Record) -> list[str]:
    """The settings change while the process runs."""
    corrections, reports = corrections_of(given), History(given.get("history"))
    corrections.update(given["share_corrections"], reports)
    before = dict(corrections.correct(given["expected_shares"], given["group"]).shares)
    reports.history = given.get("history_after", reports.history)
    second = "ok"
    try:
        corrections.update(given["share_corrections_after"], reports)
    except FairqError as failure:
        if refused(expected):
            raise
        second = str(failure)
    after = dict(corrections.correct(given["expected_shares"], given["group"]).shares)
    differences = unequal("before", before, expected["before"])
    if (second == "ok") != (expected["second_update"] == "ok"):
        differences.append(f"the second update is {second}, expected {expected['second_update']}")
    return differences + (unequal("after", after, expected["after"]) if "after" in expected else [])


def _instances(corrections: Corrections) -> dict[str, Any]:
    found = {}
    for name, one in corrections.instances():
        assert isinstance(one, HistoryCorrector)
        found[name] = {
            "slices": {
                piece.name: {"TimeSpan": piece.span, "Weight": piece.weight, "MaxCorrection": piece.maximum}
                for piece in one.settings.slices
            },
            "max_global_correction_used": one.settings.maximum,
            "history_kept": dict(one.history),
        }
    return found
