"""Measure growth, with each dimension of a pool doubled twice: ``python -m benchmarks.growth [DIMENSION...]``.

The dimensions are slots, jobs, submitters, autoclusters and groups. For import and a first cycle by the rules htcondor,
it prints CPU seconds and peak memory of the base, and of pools with the dimension twice and four times as large, as a
table in Markdown. The factor is the increase of the second doubling divided by that of the first: 2 is linear, 4 is
quadratic. It is a dash if four times the dimension costs less than a tenth more. Each command is a whole process; the
fastest of three runs counts.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks import pools
from benchmarks.measure import Cost, fairq

REPEAT = 3
LEAST = 0.1
"""Least growth, as a fraction of the base's seconds, that counts as growth."""

STEPS = (1, 2, 4)
AT = ("--now", pools.NOW)
HEADING = """\
| dimension | command | base | twice | four times | factor |
| --- | --- | --- | --- | --- | --- |"""


@dataclass(frozen=True)
class Size:
    """The dimensions of a pool."""

    slots: int = 5_000
    jobs: int = 20_000
    submitters: int = 50
    autoclusters: int = 50
    groups: int = 10


DIMENSIONS = tuple(asdict(Size()))


def make(size: Size) -> pools.Pool:
    """Draw a pool: every slot has its own Memory, the shapes of the jobs are drawn at random.

    A submitter's jobs are queued shape by shape. Each group has an equal quota and accepts surplus.
    """
    draw = random.Random(pools.SEED)
    slots = [(1024 + number, 1_000_000) for number in range(size.slots)]
    draw.shuffle(slots)
    shapes = [(64 + number, 1000) for number in draw.sample(range(size.slots), size.autoclusters)]
    people = []
    for number in range(size.submitters):
        job_count = size.jobs // size.submitters + (number < size.jobs % size.submitters)
        drawn = sorted(draw.choices(shapes, k=job_count))
        group = f"g{number % size.groups}"
        people.append(pools.Submitter(f"u{number:05d}", group, round(100 ** draw.random(), 3), drawn))
    names = [f"g{number}" for number in range(size.groups)]
    quotas = {f"GROUP_QUOTA_{name}": str(size.slots / size.groups) for name in names}
    config = {"PRIORITY_HALFLIFE": "1e30", "GROUP_NAMES": ", ".join(names), "GROUP_ACCEPT_SURPLUS": "True", **quotas}
    return pools.Pool("growth", slots, people, config)


def measured(size: Size) -> dict[str, Cost]:
    """Return the costs of the commands on a pool of that size."""
    with tempfile.TemporaryDirectory(prefix="fairq-growth-") as scratch:
        folder = Path(scratch)
        fresh, state = folder / "imported.db", folder / "state.db"
        make(size).write(folder)
        fairq(folder, "--state", fresh, "config", "import", folder / "pool.conf")
        fairq(folder, "--state", fresh, "config", "set", "negotiator.rules", "htcondor")
        shutil.copy(f"{fresh}.toml", f"{state}.toml")
        dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]
        imports, cycles = [], []
        for _ in range(REPEAT):
            fresh.unlink(missing_ok=True)
            imports.append(fairq(folder, "--state", fresh, "import", *dumps, *AT))
            shutil.copy(fresh, state)
            cycles.append(fairq(folder, "--state", state, "negotiate", *AT))
    return {"import": min(imports, key=_cpu), "negotiate": min(cycles, key=_cpu)}


def _cpu(cost: Cost) -> float:
    return cost.cpu


def row(dimension: str, values: Sequence[int], command: str, costs: Sequence[Cost]) -> str:
    """Return a line of the table."""
    first, second, third = (cost.cpu for cost in costs)
    is_growing = third - first > LEAST * first and second > first
    factor = f"{(third - second) / (second - first):.1f}" if is_growing else "-"
    cells = (f"{cost.cpu:.2f} s, {cost.memory:.0f} MB" for cost in costs)
    return f"| {' | '.join((f'{dimension} {values[0]:,} to {values[-1]:,}', command, *cells, factor))} |"


def main(names: Sequence[str]) -> None:
    """Print the table for the dimensions *names*."""
    base = Size()
    first = measured(base)
    print(HEADING, flush=True)
    for name in names:
        values = [step * asdict(base)[name] for step in STEPS]
        costs = [first, *(measured(replace(base, **{name: value})) for value in values[1:])]
        for command in first:
            print(row(name, values, command, [cost[command] for cost in costs]), flush=True)


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(DIMENSIONS):
        sys.exit(f"growth: {', '.join(sorted(unknown))} is no dimension; name some of {', '.join(DIMENSIONS)}")
    main(sys.argv[1:] or DIMENSIONS)
