"""A real HTCondor and fairq side by side: one cycle of each on the same pools, as a table in Markdown.

    FAIRQ_TEST_HTCONDOR=TREE python -m benchmarks.beside_htcondor [POOL...]

POOL is a name as in `pools`. HTCondor is installed, or in the tree that the variable names (see CONTRIBUTING.md); it
needs root. fairq reads the dumps of the live pool, imports its configuration, and decides by the rules htcondor.
The seconds are the clock's and, after the slash, of CPU. HTCondor's are those of the cycle and of the negotiator's
process, fairq's those of the whole process from its start to the committed state, the median of three.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engines.htcondor_pool import missing

from benchmarks import pools
from benchmarks.htcondor_cycle import Cycle, Match, hold_cycle
from benchmarks.measure import Cost, fairq, middle

POOLS = ("a1000-1000-10", "b1000-1000-10", "a10000-10000-10", "a10000-10000-100", "b10000-10000-10")
REPEAT = 3
HEADING = """\
| pool | slots | jobs | submitters | HTCondor s | fairq s | times as fast | MB | matches |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""

Ad = Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """How far the matches of two cycles agree: how many there are, whose they are, and on which slots."""

    ours: int
    theirs: int
    same_counts: bool
    same_slots: int
    same_order: bool

    def __str__(self) -> str:
        if self.ours != self.theirs or not self.same_counts:
            return f"DIFFER: {self.ours} and {self.theirs}, {self.same_slots} alike"
        if self.same_slots < self.ours:
            return f"{self.ours}, same for each submitter; {self.same_slots} on the same slot"
        return f"{self.ours}, all the same{'' if self.same_order else ' but for their order'}"


def agreement(ours: Sequence[Match], theirs: Sequence[Match], asked: Mapping[str, Any]) -> Agreement:
    """Compare two cycles; *asked* is what each job asks for, by its id.

    HTCondor's log names one job of an autocluster for all of them. So a match is the same if a job of the same submitter
    that asks for the same got the same slot.
    """

    def compared(matches: Sequence[Match]) -> list[tuple[str, Any, str]]:
        return [(match.submitter, asked[match.job], match.slot) for match in matches]

    own, real = compared(ours), compared(theirs)
    return Agreement(
        len(own),
        len(real),
        Counter(submitter for submitter, *_ in own) == Counter(submitter for submitter, *_ in real),
        (Counter(own) & Counter(real)).total(),
        own == real,
    )


def requests(jobs: Sequence[Ad]) -> dict[str, tuple[Any, ...]]:
    """Return what each job asks for, by its id."""
    return {f"{ad['ClusterId']}.{ad['ProcId']}": (ad["RequestMemory"], ad["RequestDisk"]) for ad in jobs}


def decided(folder: Path, began: float) -> tuple[Cost, list[Match]]:
    """Take the dumps in *folder* over into fairq, and hold a cycle at *began*; return its cost and its matches."""
    fresh, state, at = folder / "imported.db", folder / "state.db", ("--now", int(began))
    dumps = ("--slots", folder / "slots.json", "--jobs", folder / "jobs.json", "--accounting", folder / "accounting.long")
    fairq(folder, "--state", fresh, "config", "import", folder / "pool.conf")
    fairq(folder, "--state", fresh, "config", "set", "negotiator.rules", "htcondor")
    fairq(folder, "--state", fresh, "import", *dumps, *at)
    shutil.copy(f"{fresh}.toml", f"{state}.toml")
    costs = []
    for _ in range(REPEAT):
        shutil.copy(fresh, state)
        costs.append(fairq(folder, "--state", state, "negotiate", *at, "--json", output=folder / "cycle.json"))
    found = json.loads((folder / "cycle.json").read_text(encoding="utf-8"))["matches"]
    return middle(costs), [Match(one["submitter"], one["job"], one["slot"]) for one in found]


def row(drawn: pools.Pool, cycle: Cycle, cost: Cost, found: Agreement) -> str:
    """Return the line of the table for a pool."""
    jobs = sum(len(submitter.jobs) for submitter in drawn.submitters)
    cells = (
        drawn.name,
        f"{len(drawn.slots):,}",
        f"{jobs:,}",
        f"{len(drawn.submitters):,}",
        f"{cycle.wall:.2f} / {cycle.cpu:.2f}",
        f"{cost.wall:.2f} / {cost.cpu:.2f}",
        f"{cycle.wall / cost.wall:.1f} / {cycle.cpu / cost.cpu:.1f}",
        f"{cycle.memory:.0f}; {cost.memory:.0f}",
        found,
    )
    return f"| {' | '.join(map(str, cells))} |"


def machine() -> str:
    """Return what the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(models)} cores {models[0]}, Python {platform.python_version()}"


def beside(name: str) -> str:
    """Hold both cycles on the pool *name*; return the line of the table and HTCondor's version."""
    drawn = pools.make(name)
    with tempfile.TemporaryDirectory(prefix="fairq-beside-", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        cycle = hold_cycle(drawn, folder)
        cost, matches = decided(folder, cycle.began)
        asked = requests(json.loads((folder / "jobs.json").read_text(encoding="utf-8")))
        return row(drawn, cycle, cost, agreement(matches, cycle.matches, asked))


def main(names: Sequence[str]) -> int:
    """Print the table; return the exit code."""
    reason = missing()
    if reason:
        print(f"beside_htcondor: {reason}", file=sys.stderr)
        return 1
    for name in names:
        pools.make(name)
    print(HEADING, flush=True)
    for name in names:
        print(beside(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or POOLS))
