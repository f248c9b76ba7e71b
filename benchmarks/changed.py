"""Time a cycle on a large pool in use after few changes: ``python -m benchmarks.changed [FOLDER]``.

The pool has 100,000 different slots and 1,000,000 jobs of 1,000 submitters in 200 autoclusters. Every tenth slot is
unusable (Start is false), the others are in use after the first cycle. Then 100 jobs end, 100 submitters submit one
each, and a cycle follows; the next one has nothing new. The state is created in FOLDER (2 GB) unless it exists.

There are two queues. In ``many``, every submitter has jobs of each kind (`pools`), in about 180,000 idle ranges; in
``few``, every submitter has jobs of one kind.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, run

from benchmarks import pools
from benchmarks.measure import Cost, fairq

POOL = "b100000-1000000-1000"
CHANGES = 100
TIMES = 3


def make(folder: Path, queue: str) -> Path:
    """Return a state of the pool with its slots in use; print the cost of the first cycles."""
    state = folder / f"{queue}.db"
    if state.exists():
        return state
    drawn = pools.make(POOL)
    if queue == "few":
        shapes = sorted({shape for submitter in drawn.submitters for shape in submitter.jobs})
        alike = [
            replace(submitter, jobs=[shapes[index % 200]] * len(submitter.jobs))
            for index, submitter in enumerate(drawn.submitters)
        ]
        drawn = replace(drawn, submitters=alike)
    drawn.write(folder)
    slots = ({**ad, "Start": row % 10 != 9} for row, ad in enumerate(drawn.slot_ads()))
    pools.write_ads(folder / "slots.json", slots)
    fresh = folder / "fresh.db"
    fresh.unlink(missing_ok=True)
    fairq(folder, "--state", fresh, "config", "import", folder / "pool.conf")
    dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]
    fairq(folder, "--state", fresh, "import", *dumps, "--now", pools.NOW)
    shutil.copy(f"{fresh}.toml", f"{state}.toml")
    show(f"{queue}: first cycle, dry", fairq(folder, "--state", fresh, "negotiate", "--dry-run", "--now", pools.NOW))
    show(f"{queue}: first cycle", fairq(folder, "--state", fresh, "negotiate", "--quiet", "--now", pools.NOW))
    show(f"{queue}: second cycle", fairq(folder, "--state", fresh, "negotiate", "--quiet", "--now", pools.NOW + 60))
    fresh.rename(state)
    return state


def change(state: Path, folder: Path, now: int) -> None:
    """Let 100 running jobs end, and 100 submitters submit one job each."""
    names = [sys.executable, "-m", "fairq", "--state", state, "queue", "--running", "--json", "--limit", str(CHANGES)]
    jobs = json.loads(run(names, stdout=PIPE, check=True).stdout)
    running = [f"{job['ClusterId']}.{job['ProcId']}" for job in jobs]
    fairq(folder, "--state", state, "finish", "--yes", "--now", now, *running)
    for number in range(CHANGES):
        options = (
            "--accounting-group-user",
            f"u{number:03d}",
            "--request-memory",
            1024 + number % 5,
            "--request-disk",
            1,
        )
        fairq(folder, "--state", state, "submit", "--now", now, *options, "--", "/bin/true")


def changed(folder: Path, queue: str) -> None:
    """Time the cycle after a change, each time on a copy of the state, and one more."""
    original, state, before = make(folder, queue), folder / "copy.db", folder / "changed.db"
    now = pools.NOW + 120
    shutil.copy(original, before)
    for target in (before, state):
        shutil.copy(f"{original}.toml", f"{target}.toml")
    change(before, folder, now)
    for _ in range(TIMES):
        shutil.copy(before, state)
        cost = fairq(folder, "--state", state, "negotiate", "--quiet", "--now", now)
        show(f"{queue}: {CHANGES} jobs, {CHANGES} ends", cost)
    imported = Path(f"{state}.toml").read_text(encoding="utf-8")
    Path(f"{state}.toml").write_text('[accounting]\nuid_domain = "test"\n', encoding="utf-8")
    for _ in range(TIMES):
        shutil.copy(before, state)
        cost = fairq(folder, "--state", state, "negotiate", "--quiet", "--now", now)
        show(f"{queue}: the same, default settings", cost)
    Path(f"{state}.toml").write_text(imported, encoding="utf-8")
    shutil.copy(before, state)
    fairq(folder, "--state", state, "negotiate", "--quiet", "--now", now)
    show(f"{queue}: nothing new", fairq(folder, "--state", state, "negotiate", "--quiet", "--now", now + 60))
    show(f"{queue}: nothing new, dry", fairq(folder, "--state", state, "negotiate", "--dry-run", "--now", now + 60))


def show(label: str, cost: Cost) -> None:
    """Print one line."""
    print(f"{label:36}{cost.cpu:8.2f} s of CPU {cost.memory:8.0f} MB", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder_path = Path(sys.argv[1])
        folder_path.mkdir(parents=True, exist_ok=True)
        for kind in ("many", "few"):
            changed(folder_path, kind)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            for kind in ("many", "few"):
                changed(Path(scratch), kind)
