"""Times a command as a whole process, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

program = sys.executable
"""The interpreter that has the fairq to be measured; `against` changes it to compare two of them."""


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds by the clock, seconds of CPU, peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def fairq(folder: Path, *words: object, output: Path | None = None) -> Cost:
    """Run fairq with a home of its own in *folder* and return the cost; its stdout goes to *output*.

    Raises RuntimeError if it fails.
    """
    return python(folder, "-m", "fairq", *words, output=output)


def python(folder: Path, *words: object, output: Path | None = None) -> Cost:
    """Run Python as `fairq` runs it, with any words."""
    command = [program, *map(str, words)]
    target = Path(os.devnull) if output is None else output
    with target.open("wb") as stdout, (folder / "stderr").open("w+b") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment(folder)
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            stderr.seek(0)
            message = stderr.read().decode(errors="replace").strip()
            raise RuntimeError(f"python {' '.join(map(str, words))} ended with {process.returncode}: {message}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with a home in *folder* and without settings of fairq."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("FAIRQ_")}
    found["HOME"] = str(folder)
    for kind in ("STATE_HOME", "CONFIG_HOME", "CONFIG_DIRS", "DATA_HOME", "CACHE_HOME"):
        found[f"XDG_{kind}"] = str(folder / kind.lower())
    return found


def middle(costs: list[Cost]) -> Cost:
    """Return the medians of *costs*."""
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        max(cost.memory for cost in costs),
    )
