"""Measure the largest pools: ``python -m benchmarks.farthest FOLDER [PART...]``.

The whole pool has 1,000,000 different slots, 10,000,000 idle jobs in 100,000 clusters, 5,000 submitters, 1,000
autoclusters and 200 groups with quotas. A PART (such as 0.1) has that fraction of the slots, jobs, clusters and
submitters; the default is 0.01, 0.1 and 1 in turn. Import, a dry cycle, two cycles and listings are timed as whole
processes. The whole pool needs 12 GB of disk in FOLDER, and the memory shown in the table.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from benchmarks import pools
from benchmarks.measure import Cost, fairq

SLOTS, JOBS, CLUSTERS, SUBMITTERS = 1_000_000, 10_000_000, 100_000, 5_000
AUTOCLUSTERS, GROUPS = 1_000, 200
PARTS = (0.01, 0.1, 1.0)


def make(part: float) -> pools.Pool:
    """Draw the pool: every slot has its own Memory; a submitter's clusters have equal sizes and random shapes."""
    draw = random.Random(pools.SEED)
    count, clusters, submitters = (round(part * total) for total in (SLOTS, CLUSTERS, SUBMITTERS))
    slots = [(1024 + number, 1_000_000) for number in range(count)]
    draw.shuffle(slots)
    shapes = [(64 + number * count // AUTOCLUSTERS, 1000) for number in range(AUTOCLUSTERS)]
    people = []
    for number in range(submitters):
        jobs: list[pools.Shape] = []
        for shape in draw.sample(shapes, clusters // submitters):
            jobs += [shape] * (JOBS // CLUSTERS)
        people.append(pools.Submitter(f"u{number:05d}", f"g{number % GROUPS}", round(100 ** draw.random(), 3), jobs))
    names = [f"g{number}" for number in range(GROUPS)]
    quotas = {f"GROUP_QUOTA_{name}": str(count / GROUPS) for name in names}
    # No time limit may cut a cycle short on a busy machine.
    unlimited = {f"NEGOTIATOR_MAX_TIME_PER_{scope}": "100000" for scope in ("CYCLE", "PIESPIN", "SCHEDD", "SUBMITTER")}
    config = {"UID_DOMAIN": "test", "GROUP_NAMES": ", ".join(names), "GROUP_ACCEPT_SURPLUS": "True"}
    config |= quotas | unlimited
    return pools.Pool("farthest", slots, people, config)


def measured(folder: Path, part: float) -> None:
    """Create the pool and its state in *folder*, and print the cost of each command."""
    state = folder / "farthest.db"
    make(part).write(folder)
    fairq(folder, "--state", state, "config", "import", folder / "pool.conf")
    dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]
    print(f"{part:g} of the pool", flush=True)
    later = [("--now", pools.NOW + 60 * minutes) for minutes in range(5)]
    steps: dict[str, tuple[object, ...]] = {
        "import": ("import", *dumps, *later[0]),
        "negotiate --dry-run": ("-q", "negotiate", "--dry-run", *later[1]),
        "negotiate": ("-q", "negotiate", *later[1]),
        "negotiate, nothing new": ("-q", "negotiate", *later[2]),
        "queue --idle --limit 40": ("queue", "--idle", "--limit", 40, *later[3]),
        "slots --limit 40": ("slots", "--limit", 40, *later[3]),
        "userprio": ("userprio", *later[3]),
        "quotas": ("quotas", *later[3]),
        "status": ("status", *later[3]),
        "why g0.u00000@test": ("why", "g0.u00000@test", *later[3]),
    }
    for label, words in steps.items():
        show(label, fairq(folder, "--state", state, *words))
    print(f"{'the state':28}{state.stat().st_size / 1e6:.0f} MB", flush=True)
    state.unlink()


def show(label: str, cost: Cost) -> None:
    """Print one line."""
    print(f"{label:28}{cost.cpu:8.2f} s of CPU {cost.wall:8.2f} s {cost.memory:8.0f} MB", flush=True)


def main(folder: Path, parts: tuple[float, ...]) -> None:
    """Measure the *parts*, each in a fresh state."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        measured(folder, part)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("farthest: name a folder with 12 GB of room")
    main(Path(sys.argv[1]), tuple(map(float, sys.argv[2:])) or PARTS)
