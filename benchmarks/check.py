"""Check that fairq is not slower: ``python -m benchmarks.run --check`` compares with the committed `ratios.json`.

Seconds differ between machines, and with their load. So CPU seconds are divided by those of a fixed program in pure
Python, the `unit`, measured just before and after each case, and by those of the same pool under the other rules. Each
round runs every case once, and the median of the rounds counts, because a processor's speed varies for seconds.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks.check_cases import POOLS, RULES, cases
from benchmarks.measure import python

UNIT = Path(__file__).parent / "unit.py"
TABLE = Path(__file__).parent / "ratios.json"
WORSE = 1.3
"""A ratio fails if it is at least this many times that of the table."""

ROUNDS = 5
RECORDED = 3

Ratios = dict[str, float]


def check() -> int:
    """Measure and compare; if a ratio seems worse, measure all again. Return 1 if it still is."""
    former = json.loads(TABLE.read_text(encoding="utf-8"))
    ratios = measured()
    failed = worse(ratios, former)
    if failed:
        print(f"measured again, since it seems worse: {', '.join(failed)}", flush=True)
        again = measured()
        ratios = {name: min(ratio, again[name]) for name, ratio in ratios.items()}
        failed = worse(ratios, former)
    width = max(map(len, ratios)) + 1
    print(f"{'ratio':{width}}{'table':>10}{'now':>10}")
    for name, ratio in ratios.items():
        in_table = f"{former[name]:10.2f}" if name in former else f"{'new':>10}"
        print(f"{name:{width}}{in_table}{ratio:10.2f}{'   WORSE' if name in failed else ''}")
    return 1 if failed else 0


def record() -> int:
    """Write the table with the largest of several measurements: a single one may be lucky."""
    measurements = [measured() for _ in range(RECORDED)]
    table = {name: round(max(ratios[name] for ratios in measurements), 2) for name in measurements[0]}
    TABLE.write_text(json.dumps(table, indent=2) + "\n")
    return 0


def worse(ratios: Mapping[str, float], former: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that are at least `WORSE` times those of the table."""
    return [name for name, ratio in ratios.items() if name in former and ratio >= WORSE * former[name]]


def measured() -> Ratios:
    """Measure and return all ratios."""
    with tempfile.TemporaryDirectory(prefix="fairq-check-") as scratch:
        folder = Path(scratch)
        # Modules are compiled once, whatever the caller's environment says; else each start would compile them.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        named_cases = cases(folder)
        rounds: dict[str, list[float]] = {f"{name} : unit": [] for name in named_cases}
        before = python(folder, UNIT).cpu
        for _ in range(ROUNDS):
            for name, case in named_cases.items():
                cpu = case().cpu
                after = python(folder, UNIT).cpu
                rounds[f"{name} : unit"].append(2 * cpu / (before + after))
                before = after
    for pool in POOLS:
        documented, htcondor = (rounds[f"negotiate {pool} {rules} : unit"] for rules in RULES)
        rounds[f"negotiate {pool} htcondor : documented"] = [
            htcondor_ratio / documented_ratio
            for htcondor_ratio, documented_ratio in zip(htcondor, documented, strict=True)
        ]
    return {name: median(ratios) for name, ratios in rounds.items()}
