"""Time listings of a large state: ``python -m benchmarks.screens STATE [--make] [--why] [WORD...]``.

``--make`` first makes STATE: the pool `POOL` of `pools.py`, imported, one cycle held, and a job queued that fits
nowhere. WORD... is one command line to time instead of all.

Each listing is timed until its first 40 lines have been read from a pipe, which is then closed, as by ``| head -40``;
until they have been shown on a terminal; and to its end. The CPU seconds are those of the process until it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import check, pools
from benchmarks.measure import Cost, environment, fairq, median_cost, python

POOL = "b100000-1000000-1000"
LINES = 40

LISTINGS = (("queue",), ("queue", "--idle"), ("queue", "--limit", "40"), ("slots",), ("slots", "--limit", "40"))
LISTINGS += (("userprio",), ("userprio", "--allusers"), ("quotas",), ("status",))
NOWHERE = 9_999_999
"""The cluster of the job that fits nowhere."""


def make(state: Path, folder: Path) -> None:
    """Create the large state."""
    drawn = pools.make(POOL)
    drawn.write(folder)
    at = ("--now", pools.NOW)
    dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]
    job = {**pools.JOB, "ClusterId": NOWHERE, "ProcId": 0, "RequestMemory": 10**9, "RequestDisk": 0}
    pools.write_ads(folder / "jobs.json", (*drawn.job_ads(), {**job, "Owner": "ann", "User": "ann@test"}))
    fairq(folder, "--state", state, "config", "import", folder / "pool.conf")
    fairq(folder, "--state", state, "import", *dumps, *at)
    fairq(folder, "--state", state, "negotiate", *at)


def first_lines(folder: Path, words: Sequence[object], terminal: bool) -> tuple[float, Cost]:
    """Run fairq until its first lines were read; return the time until then, and the cost of the process."""
    reader, writer = pty.openpty() if terminal else os.pipe()
    command = [sys.executable, "-m", "fairq", *map(str, words)]
    start = time.perf_counter()
    process = os.posix_spawn(
        sys.executable,
        command,
        {**environment(folder), "TERM": "xterm"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    os.close(writer)
    line_count = 0
    try:
        while line_count < LINES and (chunk := os.read(reader, 65536)):
            line_count += chunk.count(b"\n")
    except OSError:  # the terminal is closed by the process
        pass
    shown = time.perf_counter() - start
    os.close(reader)
    _, _, usage = os.wait4(process, 0)
    return shown, Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def complete(folder: Path, words: Sequence[object], repeat: int) -> Cost:
    """Return the cost of a command from start to end."""
    return median_cost([fairq(folder, *words) for _ in range(repeat)])


def listing(folder: Path, state: Path, words: Sequence[str], repeat: int) -> str:
    """Time one listing; return its line."""
    line = ("--state", state, *words)
    piped = min((first_lines(folder, line, terminal=False) for _ in range(repeat)), key=lambda result: result[1].cpu)
    shown = min(first_lines(folder, line, terminal=True)[0] for _ in range(repeat))
    full = complete(folder, line, 1)
    figures = f"{piped[1].cpu:9.2f}{piped[0]:9.2f}{shown:9.2f}{piped[1].memory:9.0f}{full.cpu:9.2f}{full.memory:9.0f}"
    return f"{' '.join(words):26}{figures}"


def explained(folder: Path, state: Path, repeat: int) -> list[str]:
    """Time the answers of ``why``; return their lines, with the ratio to a dry cycle."""
    at = ("--now", pools.NOW + 120)
    queued = folder / "queue.ndjson"
    fairq(folder, "--state", state, "queue", "--idle", "--limit", "1", "--ndjson", output=queued)
    first = json.loads(queued.read_text(encoding="utf-8").splitlines()[0])
    waiting = f"{first['ClusterId']}.{first['ProcId']}"
    cycle = complete(folder, ("--state", state, "negotiate", "--dry-run", *at), repeat)
    lines = [f"{'negotiate --dry-run':26}{cycle.cpu:9.2f}{cycle.memory:9.0f}{1:9.2f}"]
    for label, subject in (("a submitter", first["User"]), ("waits", waiting), ("fits nowhere", f"{NOWHERE}.0")):
        cost = complete(folder, ("--state", state, "why", subject, *at), repeat)
        lines.append(f"{f'why ({label})':26}{cost.cpu:9.2f}{cost.memory:9.0f}{cost.cpu / cycle.cpu:9.2f}")
    return lines


def main() -> None:
    """Time the screens."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=Path)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--make", action="store_true", help="make the state first")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--why", action="store_true", help="time why, too (minutes)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fairq-screens-"))
    try:
        if options.make:
            make(options.state, folder)
        unit = min(python(folder, check.UNIT).cpu for _ in range(3))
        print(f"unit {unit:.2f} s")
        print(f"{'':26}{'CPU s':>9}{'pipe s':>9}{'tty s':>9}{'MB':>9}{'all CPU':>9}{'all MB':>9}")
        for words in [tuple(options.words)] if options.words else LISTINGS:
            print(listing(folder, options.state, words, options.repeat), flush=True)
        if options.why:
            print(f"{'':26}{'CPU s':>9}{'MB':>9}{'ratio':>9}")
            print("\n".join(explained(folder, options.state, options.repeat)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
