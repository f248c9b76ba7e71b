"""Time a command as a whole process, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

program = sys.executable
"""The interpreter with the fairq to measure; `against` changes it to compare two of them."""


@dataclass(frozen=True)
class Cost:
    """The cost of a process: seconds of wall time, seconds of CPU, peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def fairq(folder: Path, *words: object, output: Path | None = None) -> Cost:
    """Run fairq with its own home in *folder* and return the cost; its stdout goes to *output*.

    Raises RuntimeError if it fails.
    """
    return python(folder, "-m", "fairq", *words, output=output)


def python(folder: Path, *words: object, output: Path | None = None) -> Cost:
    """Run Python like `fairq`, with any words."""
    command = [program, *map(str, words)]
    target = Path(os.devnull) if output is None else output
    with target.open("wb") as stdout, (folder / "stderr").open("w+b") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment(folder)
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            stderr.seek(0)
            message = stderr.read().decode(errors="replace").strip()
            raise RuntimeError(f"python {' '.join(map(str, words))} ended with {process.returncode}: {message}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with a home in *folder* and without settings of fairq."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("FAIRQ_")}
    variables["HOME"] = str(folder)
    for kind in ("STATE_HOME", "CONFIG_HOME", "CONFIG_DIRS", "DATA_HOME", "CACHE_HOME"):
        variables[f"XDG_{kind}"] = str(folder / kind.lower())
    return variables


def median_cost(costs: list[Cost]) -> Cost:
    """Return the median times and the largest memory of *costs*."""
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        max(cost.memory for cost in costs),
    )
