"""Measure the delays of ``fairq run``, from submit to start and from an end to the next start, and its CPU while idle.

python -m benchmarks.launching.latency [TIMES]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUIET = 10.0
"""Seconds without events in which the CPU time of a waiting ``fairq run`` is measured."""


def main(times: int) -> None:
    """Measure with one slot, in a scratch directory."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        environment = {**os.environ, "FAIRQ_STATE": str(work / "state.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"}

        def fairq(*words: str) -> None:
            subprocess.run([sys.executable, "-m", "fairq", "-q", *words], env=environment, cwd=work, check=True)

        fairq("slots", "add", "here", "--attribute", 'Launch="local"')
        runner = subprocess.Popen([sys.executable, "-m", "fairq", "-q", "run", "--every", "60"], env=environment)
        try:
            time.sleep(3)
            starts = []
            for number in range(times):
                fairq("submit", "--", "/bin/sh", "-c", f"date +%s.%N > submitted.{number}")
                submitted = time.time()
                starts.append(when(work / f"submitted.{number}") - submitted)
                time.sleep(0.5)
            fairq("submit", "--count", str(times + 1), "--", "/bin/sh", "-c",
                  "date +%s.%N > start.$FAIRQ_PROCESS; sleep 0.3; date +%s.%N > end.$FAIRQ_PROCESS")  # fmt: skip
            gaps = [when(work / f"start.{n + 1}") - when(work / f"end.{n}") for n in range(times)]
            when(work / f"end.{times}")
            time.sleep(2)
            before = cpu(runner.pid)
            time.sleep(QUIET)
            spent = cpu(runner.pid) - before
        finally:
            runner.terminate()
            runner.wait()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    for label, seconds in (("end of submit to start", starts), ("end to next start", gaps)):
        print(f"{label}: median {1000 * statistics.median(seconds):.0f} ms, longest {1000 * max(seconds):.0f} ms")
    print(f"CPU of fairq run while nothing happens: {1000 * spent / QUIET:.1f} ms a second")


def when(file: Path) -> float:
    """Wait until a job has written a time to *file*, and return it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if file.exists() and (text := file.read_text().strip()):
            return float(text)
        time.sleep(0.01)
    raise TimeoutError(f"{file} was not written")


def cpu(process: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
