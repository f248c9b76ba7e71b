"""Runs a golden case by its kind."""

from __future__ import annotations

from collections.abc import Callable

from tests.golden.cases import DIRAC, HTCONDOR, LIVE, PANDA, Case
from tests.golden.dirac import run_dirac
from tests.golden.htcondor import run_htcondor
from tests.golden.live import run_live
from tests.golden.panda import run_panda


def run_case(case: Case) -> list[str]:
    """Run *case* and return what differs from what the real system did; nothing: it passed."""
    runner = _RUNNERS.get(case.kind)
    return ["not supported yet"] if runner is None else runner(case)


_RUNNERS: dict[str, Callable[[Case], list[str]]] = {
    HTCONDOR: run_htcondor,
    LIVE: run_live,
    PANDA: run_panda,
    DIRAC: run_dirac,
}
