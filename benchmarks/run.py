"""Time fairq's commands as whole processes: ``python -m benchmarks.run NAME...`` (names: see README.md).

With ``--check`` instead of names, check that fairq is not slower than before (see `check`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import check, pools
from benchmarks.measure import Cost, fairq, median_cost

REAL = json.loads((Path(__file__).parent / "real_negotiator.json").read_text(encoding="utf-8"))
HEADING = f"{'':24}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}   remark"

Row = tuple[str, Cost, str]


def pool(name: str, folder: Path, repeat: int) -> Iterator[Row]:
    """Import the pool *name*, negotiate, and list the priorities."""
    drawn = pools.make(name)
    drawn.write(folder)
    state, fresh = folder / "state.db", folder / "imported.db"
    at = ("--now", pools.NOW)
    dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]

    def imported() -> Cost:
        fresh.unlink(missing_ok=True)
        return fairq(folder, "--state", fresh, "import", *dumps, *at)

    def negotiated() -> Cost:
        shutil.copy(fresh, state)
        return fairq(folder, "--state", state, "negotiate", *at, "--json", output=folder / "cycle.json")

    fairq(folder, "--state", fresh, "config", "import", folder / "pool.conf")
    yield "import", _median(imported, repeat), f"{len(drawn.slots)} slots, {_count(drawn)} jobs"
    shutil.copy(f"{fresh}.toml", f"{state}.toml")
    yield "negotiate", _median(negotiated, repeat), _compared(name, folder / "cycle.json")
    userprio = _median(lambda: fairq(folder, "--state", state, "userprio", "--allusers"), repeat)
    yield "userprio --allusers", userprio, ""


def start(_: str, folder: Path, repeat: int) -> Iterator[Row]:
    """Start and end."""
    yield "--version", _median(lambda: fairq(folder, "--version"), repeat), ""
    yield "--help", _median(lambda: fairq(folder, "--help"), repeat), ""


def userprio(name: str, folder: Path, repeat: int) -> Iterator[Row]:
    """List the priorities of many submitters."""
    count = int(name.removeprefix("userprio-"))
    state = folder / "state.db"
    ads = (
        {
            "Name": f"user{number:06d}@example.org",
            "Priority": 1 + number % 997,
            "WeightedAccumulatedUsage": 3600.0 * number,
            "BeginUsageTime": pools.NOW - 86400,
            "LastUsageTime": pools.NOW - number % 80000,
        }
        for number in range(count)
    )
    pools.write_ads(folder / "accounting.json", ads)
    at = ("--now", pools.NOW)
    fairq(folder, "--state", state, "import", "--accounting", folder / "accounting.json", *at)
    for words in (("userprio",), ("userprio", "--all", "--allusers", "--json")):
        cost = _median(lambda words=words: fairq(folder, "--state", state, *words, *at), repeat)
        yield " ".join(words), cost, f"{count} submitters"


def why(name: str, folder: Path, repeat: int) -> Iterator[Row]:
    """Ask why jobs wait in a pool with half of its slots in use."""
    count = int(name.removeprefix("why-"))
    drawn = pools.make(f"b{count}-100-10n")
    used = {"State": "Claimed", "Activity": "Busy", "RemoteUser": "busy@test", "Rack": "busy"}
    pools.write_ads(
        folder / "slots.json", ({**ad, **(used if row % 2 else {})} for row, ad in enumerate(drawn.slot_ads()))
    )
    job = {**pools.JOB, "ProcId": 0, "RequestMemory": 0, "RequestDisk": 0, "Owner": "ann", "User": "ann@test"}
    waiting = [
        {**job, "ClusterId": 1_000_001, "RequestMemory": 10**9},
        {**job, "ClusterId": 1_000_002, "Requirements": '/Expr(TARGET.Rack == "busy")/'},
    ]
    pools.write_ads(folder / "jobs.json", (*drawn.job_ads(), *waiting))
    drawn_settings = folder / "pool.conf"
    drawn_settings.write_text("".join(f"{macro} = {value}\n" for macro, value in drawn.config.items()))
    state, at = folder / "state.db", ("--now", pools.NOW)
    fairq(folder, "--state", state, "config", "import", drawn_settings)
    fairq(folder, "--state", state, "import", "--slots", folder / "slots.json", "--jobs", folder / "jobs.json", *at)
    for cluster, remark in ((1_000_001, "fits nowhere"), (1_000_002, "suitable slots in use"), (1, "would be matched")):
        cost = _median(lambda cluster=cluster: fairq(folder, "--state", state, "why", f"{cluster}.0", *at), repeat)
        yield f"why {cluster}.0", cost, f"{count} slots; {remark}"


def preempt(name: str, folder: Path, repeat: int) -> Iterator[Row]:
    """Negotiate with slots half of which are used by users of worse priority, without and with preemption."""
    count = int(name.removeprefix("preempt-"))
    drawn = pools.make(f"b{count}-{2 * count}-100")
    drawn.write(folder)
    by_priority = sorted(drawn.submitters, key=lambda submitter: submitter.priority)
    users = [f"{submitter.accounting_group}@test" for submitter in by_priority[len(by_priority) // 2 :]]
    since = {"State": "Claimed", "Activity": "Busy", "EnteredCurrentState": pools.NOW - 7200}
    used = [{**since, "RemoteUser": user, "RemoteOwner": user} for user in users]
    pools.write_ads(
        folder / "slots.json",
        ({**ad, **(used[row // 2 % len(used)] if row % 2 else {})} for row, ad in enumerate(drawn.slot_ads())),
    )
    fresh, state, at = folder / "imported.db", folder / "state.db", ("--now", pools.NOW)
    dumps = [word for kind in ("slots", "jobs", "accounting") for word in (f"--{kind}", folder / f"{kind}.json")]
    fairq(folder, "--state", fresh, "import", *dumps, *at)
    policy = "RemoteUserPrio > SubmitterUserPrio * 1.2"
    stable = "preemption_requirements_stable = true"
    cases = {
        "no preemption": "negotiator_consider_preemption = false",
        "no policy": "negotiator_consider_preemption = true",
        "20 % better priority": f"preemption_requirements = {policy!r}\n{stable}",
        "20 %, one hour": f"preemption_requirements = '({policy}) && (time() - EnteredCurrentState > 3600)'\n{stable}",
    }
    for rules in ("documented", "htcondor"):
        for label, lines in cases.items():
            config = folder / "config.toml"
            config.write_text(f'[negotiator]\nrules = "{rules}"\n{lines}\n[accounting]\npriority_halflife = 1e30\n')

            def negotiated(config: Path = config) -> Cost:
                shutil.copy(fresh, state)
                words = ("--state", state, "--config", config, "negotiate", *at, "--json")
                return fairq(folder, *words, output=folder / "cycle.json")

            cost = _median(negotiated, repeat)
            cycle = json.loads((folder / "cycle.json").read_text(encoding="utf-8"))
            preempted = sum(match["preempted"] is not None for match in cycle["matches"])
            yield f"{label}", cost, f"{rules}: {len(cycle['matches'])} matches, {preempted} preempt somebody"


def submit(_: str, folder: Path, repeat: int) -> Iterator[Row]:
    """Submit one job, and a million of them, in one cluster."""
    description = folder / "job.sub"

    def submitted(procs: int) -> Cost:
        state = folder / "state.db"
        state.unlink(missing_ok=True)
        description.write_text(f"executable = /bin/sleep\narguments = $(Process)\nrequest_memory = 1G\nqueue {procs}\n")
        return fairq(folder, "--state", state, "submit", description)

    for procs in (1, 1_000_000):
        yield f"queue {procs}", _median(lambda procs=procs: submitted(procs), repeat), ""


def _median(once: Callable[[], Cost], repeat: int) -> Cost:
    return median_cost([once() for _ in range(repeat)])


def _count(drawn: pools.Pool) -> int:
    return sum(len(submitter.jobs) for submitter in drawn.submitters)


def _compared(name: str, output: Path) -> str:
    cycle = json.loads(output.read_text(encoding="utf-8"))
    matched = Counter(match["submitter"] for match in cycle["matches"])
    spread = f"{min(matched.values())} to {max(matched.values())}" if matched else "none"
    summary = f"{matched.total()} matches, {spread} a submitter, {cycle['spins']} spins"
    real = REAL.get(name)
    if real is None:
        return summary
    # Every submitter of the recorded pools got the same number.
    equal = len(matched) == real["submitters"] and set(matched.values()) == {real["matched_by_each"]}
    verdict = "same counts" if equal else f"NOT the real counts: {real['matched_by_each']} each"
    return f"{summary}: {verdict}; real negotiator {real['wall']} s, CPU {real['cpu']} s, {real['memory']} MB"


def _benchmark(name: str) -> Callable[[str, Path, int], Iterator[Row]] | None:
    if name in ("start", "submit"):
        return {"start": start, "submit": submit}[name]
    for kind, benchmark in (("userprio-", userprio), ("why-", why), ("preempt-", preempt)):
        if name.startswith(kind) and name.removeprefix(kind).isdecimal():
            return benchmark
    return pool if pools.NAME.fullmatch(name) else None


def main() -> int:
    """Run the benchmarks named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--repeat", type=int, default=3, help="time each command so often (3); medians are shown")
    parser.add_argument("--check", action="store_true", help="compare ratios with the committed table")
    parser.add_argument("--record", action="store_true", help="write that table anew")
    options = parser.parse_args()
    if options.check or options.record:
        return check.check() if options.check else check.record()
    if not options.names:
        parser.error("name a benchmark, or use --check")
    for name in options.names:
        if _benchmark(name) is None:
            others = "start, submit, userprio-10000, why-100000 or preempt-10000"
            parser.error(f"{name} is neither a pool (a1000-1000-10) nor {others}")
    for name in options.names:
        benchmark = _benchmark(name)
        assert benchmark is not None
        print(f"{name}\n{HEADING}")
        with tempfile.TemporaryDirectory(prefix="fairq-benchmark-") as folder:
            for label, cost, remark in benchmark(name, Path(folder), options.repeat):
                print(f"  {label:22}{cost.wall:10.3f}{cost.cpu:10.3f}{cost.memory:10.0f}   {remark}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
