"""What PanDA's broker and cleaner did, against fairq's engine; each family of cases has a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden.cases import Case
from tests.golden.panda_analysis import RUNNERS as ANALYSIS
from tests.golden.panda_estimates import RUNNERS as ESTIMATES
from tests.golden.panda_policies import RUNNERS as POLICIES
from tests.golden.panda_production import RUNNERS as PRODUCTION
from tests.golden.panda_queues import RUNNERS as QUEUES
from tests.golden.panda_software import RUNNERS as SOFTWARE
from tests.golden.panda_software_world import software_world
from tests.golden.panda_storage import RUNNERS as STORAGE
from tests.golden.panda_timeouts import run_timeouts

DATA = Path(__file__).parent / "data" / "panda.json.xz"

Runner = Callable[[str, Any, Any], list[str]]
"""Takes a case's name, its input and what PanDA made of it; returns what differs."""

RUNNERS: dict[str, Runner] = {
    "timeouts": run_timeouts,
    "timeouts_configured": run_timeouts,
    "user_rebrokerage": run_timeouts,
    "fast_rebrokerage": run_timeouts,
    **ANALYSIS,
    **ESTIMATES,
    **POLICIES,
    **PRODUCTION,
    **QUEUES,
    **STORAGE,
}
"""By family: a case's name up to the first slash."""


FAMILIES = {*RUNNERS, *SOFTWARE}
"""The families that can be run."""


def family_of(name: str) -> str:
    """Return the family that a case called *name* belongs to."""
    return name.partition("/")[0]


def run_panda(case: Case) -> list[str]:
    """Run one entry of ``panda.json`` and return what differs from what PanDA did."""
    family = family_of(case.name)
    if family in SOFTWARE:
        return SOFTWARE[family](software_world(case.path), case.record["input"], case.record["output"])
    runner = RUNNERS.get(family)
    if runner is None:
        return ["not supported yet"]
    return runner(case.name, case.record["input"], case.record["output"])
