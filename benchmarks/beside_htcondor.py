"""Compare a cycle of a real HTCondor and of fairq on the same pools; print a table in Markdown.

    FAIRQ_TEST_HTCONDOR=TREE python -m benchmarks.beside_htcondor [POOL...]

POOL is a name as in `pools`. HTCondor is installed, or in the tree that the variable names (see CONTRIBUTING.md); it
needs root. fairq imports the running pool and its configuration, and decides by the rules htcondor.
The seconds are of wall time and, after the slash, of CPU. HTCondor's are those of the cycle and of the negotiator's
process; after the plus sign are those of the schedd and the collector during the cycle, which no ratio contains.
fairq's are those of the whole process from its start to the committed state, the median of three.
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

from benchmarks import pools
from benchmarks.htcondor_cycle import Cycle, Match, hold_cycle
from benchmarks.measure import Cost, fairq, median_cost
from tests.engines.htcondor_pool import missing

from fairq import __version__

POOLS = ("a1000-1000-10", "b1000-1000-10", "a10000-10000-10", "a10000-10000-100", "b10000-10000-10")
REPEAT = 3
HEADING = """\
| pool | slots | jobs | submitters | HTCondor s | fairq s | times as fast | MB | matches |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""

Ad = Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """The agreement of the matches of two cycles: numbers, submitters and slots."""

    ours: int
    theirs: int
    same_counts: bool
    same_slots: int
    same_order: bool

    @property
    def same(self) -> bool:
        """Whether all matches are the same, in the same order."""
        return self.same_counts and self.same_order

    def __str__(self) -> str:
        if not self.same_counts:
            return f"DIFFER: {self.ours:,} of fairq, {self.theirs:,} of HTCondor, {self.same_slots:,} are the same"
        if self.same_slots < self.ours:
            return f"DIFFER: {self.ours:,}, the same number for each submitter, {self.same_slots:,} the same slot"
        return f"{self.ours:,}, all the same" if self.same_order else f"DIFFER: {self.ours:,}, in another order"


def agreement(ours: Sequence[Match], theirs: Sequence[Match], requests_by_job: Mapping[str, Any]) -> Agreement:
    """Compare two cycles; *requests_by_job* has the requests of each job, by its id.

    HTCondor's log names one job of an autocluster for all of them. So matches are the same if one slot went to jobs
    of the same submitter with equal requests.
    """

    def compared(matches: Sequence[Match]) -> list[tuple[str, Any, str]]:
        return [(match.submitter, requests_by_job[match.job], match.slot) for match in matches]

    fairq_matches, htcondor_matches = compared(ours), compared(theirs)
    return Agreement(
        len(fairq_matches),
        len(htcondor_matches),
        Counter(submitter for submitter, *_ in fairq_matches)
        == Counter(submitter for submitter, *_ in htcondor_matches),
        (Counter(fairq_matches) & Counter(htcondor_matches)).total(),
        fairq_matches == htcondor_matches,
    )


def requests(jobs: Sequence[Ad]) -> dict[str, tuple[Any, ...]]:
    """Return the requests of each job, by its id."""
    return {f"{ad['ClusterId']}.{ad['ProcId']}": (ad["RequestMemory"], ad["RequestDisk"]) for ad in jobs}


def import_live(folder: Path, collector: str) -> None:
    """Import the running pool into a state in *folder*."""
    state = folder / "imported.db"
    fairq(folder, "--state", state, "import", "--live", "--pool", collector)
    fairq(folder, "--state", state, "config", "set", "negotiator.rules", "htcondor")
    fairq(folder, "--state", state, "queue", "--json", output=folder / "jobs.json")


def decided(folder: Path, began: float) -> tuple[Cost, list[Match]]:
    """Hold a cycle at *began* on the imported pool; return its cost and its matches."""
    state, costs = folder / "state.db", []
    shutil.copy(folder / "imported.db.toml", f"{state}.toml")
    for _ in range(REPEAT):
        shutil.copy(folder / "imported.db", state)
        words = ("--state", state, "negotiate", "--now", int(began), "--json")
        costs.append(fairq(folder, *words, output=folder / "cycle.json"))
    documents = json.loads((folder / "cycle.json").read_text(encoding="utf-8"))["matches"]
    return median_cost(costs), [
        Match(document["submitter"], document["job"], document["slot"]) for document in documents
    ]


def row(drawn: pools.Pool, cycle: Cycle, cost: Cost, result: Agreement) -> str:
    """Return the line of the table for a pool."""
    jobs = sum(len(submitter.jobs) for submitter in drawn.submitters)
    cells = (
        drawn.name,
        f"{len(drawn.slots):,}",
        f"{jobs:,}",
        f"{len(drawn.submitters):,}",
        f"{cycle.wall:.2f} / {cycle.cpu:.2f} + {cycle.others:.2f}",
        f"{cost.wall:.2f} / {cost.cpu:.2f}",
        f"{cycle.wall / cost.wall:.1f} / {cycle.cpu / cost.cpu:.1f}",
        f"{cycle.memory:.0f}; {cost.memory:.0f}",
        result,
    )
    return f"| {' | '.join(map(str, cells))} |"


def machine() -> str:
    """Return the description of the measuring machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(models)} cores {models[0]}"


def beside(name: str) -> tuple[Cycle, Cost, Agreement]:
    """Hold both cycles on the pool *name*."""
    with tempfile.TemporaryDirectory(prefix="fairq-beside-", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        cycle = hold_cycle(pools.make(name), folder, lambda collector: import_live(folder, collector))
        cost, matches = decided(folder, cycle.began)
        requests_by_job = requests(json.loads((folder / "jobs.json").read_text(encoding="utf-8")))
        return cycle, cost, agreement(matches, cycle.matches, requests_by_job)


def main(names: Sequence[str]) -> int:
    """Print the table; return 1 if matches differ. Raises ValueError for an unknown pool name."""
    drawn = [pools.make(name) for name in names]
    print(HEADING, flush=True)
    versions, differ = set(), False
    for pool in drawn:
        cycle, cost, result = beside(pool.name)
        versions.add(cycle.version)
        differ |= not result.same
        print(row(pool, cycle, cost, result), flush=True)
    print(f"\nHTCondor {', '.join(versions)}; fairq {__version__}, Python {platform.python_version()}; {machine()}")
    return int(differ)


if __name__ == "__main__":
    if reason := missing():
        sys.exit(f"beside_htcondor: {reason}")
    try:
        sys.exit(main(sys.argv[1:] or POOLS))
    except (ValueError, RuntimeError) as error:
        sys.exit(f"beside_htcondor: {error}")
