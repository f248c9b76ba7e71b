"""200 jobs of three users through a real engine, while fairq is killed, the controller stops, and a node goes away.

    python -m tests.engines.experiment slurm|htcondor [JOBS [KILLS [OUTAGE]]]

OUTAGE is how long, in seconds, the controller is stopped, and then a node; 0: neither is. The figures are printed, and
the program fails if a job ended more or less than once, or if a charge is not what the engine recorded.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tests.engines import htcondor_pool, slurm_cluster
from tests.engines.held import Held

USERS = {"alice": 1, "bob": 2, "carol": 4}
"""Priority factors: the shares are 4 : 2 : 1 of 14 cores."""


class Cluster(Protocol):
    """A real engine with the nodes n1 and n2, of 7 cores each, and what the experiment does to it."""

    NAME: str
    account: int
    """The number of the user who runs fairq."""
    python: str
    """The interpreter that this user can run."""
    environment: Mapping[str, str]

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def start_controller(self) -> None: ...

    def stop_controller(self) -> None: ...

    def start_node(self, node: str) -> None: ...

    def kill_node(self, node: str) -> None: ...

    def until_up(self) -> None: ...

    def records(self) -> dict[str, Held]: ...


CLUSTERS: Mapping[str, type[Cluster]] = {found.NAME: found for found in (slurm_cluster.Cluster, htcondor_pool.Pool)}


class Experiment:
    """One pool over one cluster."""

    def __init__(self, work: Path, cluster: Cluster, jobs: int, seconds: int = 8) -> None:
        """Describe it; each of the *jobs* takes *seconds* to twice as long."""
        self.work = work
        self.cluster = cluster
        self.jobs = jobs
        self.seconds = seconds
        self.node_gone = 0.0
        """When the node was gone; a job whose end was not recorded before is lost with it, though it may have ended."""
        self.samples: list[tuple[float, tuple[int, ...]]] = []
        self.environment = {
            **cluster.environment, "FAIRQ_STATE": str(work / "pool.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x",
            "FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": "1e12", "FAIRQ_LAUNCH_MAX_LOST": "100", "FAIRQ_LAUNCH_POLL": "2",
        }  # fmt: skip
        account = cluster.account
        self.given: dict[str, Any] = {
            "env": self.environment, "cwd": work, "user": account, "group": account, "extra_groups": [],
        }  # fmt: skip

    def fairq(self, *words: str) -> str:
        """Run fairq and return its output."""
        line = [self.cluster.python, "-m", "fairq", *words]
        done = subprocess.run(line, **self.given, check=True, capture_output=True, text=True)
        return str(done.stdout)

    def submit(self) -> None:
        """Make the slots, and queue the jobs: more of whoever has the larger share."""
        self.fairq("slots", "sync", self.cluster.NAME)
        for name in ("begun", "ended"):
            (self.work / name).mkdir()
            os.chown(self.work / name, self.cluster.account, self.cluster.account)
        whole = sum(4 / factor for factor in USERS.values())
        left = self.jobs
        for user, factor in USERS.items():
            count = min(left, round(self.jobs * 4 / factor / whole))
            left -= count
            script = (
                f": > {self.work}/begun/$FAIRQ_RUN; sleep $(({self.seconds} + FAIRQ_PROCESS % {self.seconds})).5; "
                f"echo $FAIRQ_RUN $(date +%s.%N) >> {self.work}/ended/$FAIRQ_JOB; exit 3"
            )
            self.fairq("submit", "--accounting-group-user", user, "--count", str(count), "--", "/bin/sh", "-c", script)
            self.fairq("userprio", "-setfactor", f"{user}@x", str(factor))

    def negotiator(self) -> subprocess.Popen[bytes]:
        """Start what negotiates."""
        with (self.work / "notes").open("ab") as notes:
            line = [self.cluster.python, "-m", "fairq", "run", "--until-idle"]
            return subprocess.Popen(line, **self.given, stdout=subprocess.DEVNULL, stderr=notes)

    def sample(self) -> None:
        """Note who has how many cores, as long as all have idle jobs."""
        rows = json.loads(self.fairq("queue", "--json"))
        idle = Counter(row["AccountingGroup"] for row in rows if row["JobStatus"] == 1)
        used = Counter(row["AccountingGroup"] for row in rows if row["JobStatus"] == 2)
        if all(idle[user] for user in USERS):
            self.samples.append((time.time(), tuple(used[user] for user in USERS)))

    def disturb(self, kills: int, outage: float) -> None:
        """Kill what negotiates at random instants, stop the controller, and take a node away."""
        chance = random.Random(7)
        running = self.negotiator()
        for number in range(kills):
            time.sleep(chance.uniform(0.2, 4))
            running.kill()
            running.wait()
            running = self.negotiator()
            self.sample()
            if outage and number == kills // 3:
                self.cluster.stop_controller()
                print(f"the controller is stopped for {outage:g} s")
                time.sleep(outage)
                self.cluster.start_controller()
                self.cluster.until_up()
            if outage and number == 2 * kills // 3:
                self.cluster.kill_node("n2")
                self.node_gone = time.time()
                print(f"the node n2 is gone for {outage:g} s")
                time.sleep(outage)
                self.fairq("slots", "sync", self.cluster.NAME)
                self.cluster.start_node("n2")
                self.cluster.until_up()
                self.fairq("slots", "sync", self.cluster.NAME)
        try:
            while running.poll() is None:
                self.sample()
                with suppress(subprocess.TimeoutExpired):
                    running.wait(2)
        finally:
            running.kill()
            running.wait()

    def report(self) -> list[str]:
        """Print what came of it; return what is wrong."""
        document: dict[str, Any] = json.loads(self.fairq("export"))
        records = self.cluster.records()
        launches = {one["name"]: one for one in document["launches"]}
        ended = {
            file.name: [line.split() for line in file.read_text().splitlines()]
            for file in (self.work / "ended").iterdir()
        }
        finished = Counter(
            (run["cluster"], run["proc"])
            for run in document["runs"]
            if run["how"] == "finished" and run["exit_code"] == 3
        )
        lost = [one for one in launches.values() if (one["ended"] or {}).get("reason") != "exit"]
        faults = []
        if len(finished) != self.jobs or set(finished.values()) != {1}:
            twice = [job for job, count in finished.items() if count > 1]
            faults.append(f"{len(finished)} jobs finished, of {self.jobs}; more than once: {twice}")
        gone = {one["name"] for one in lost}
        cut_off = [run for runs in ended.values() for run, at in runs if run in gone and float(at) < self.node_gone]
        twice = [job for job, runs in ended.items() if len([run for run, _ in runs if run not in cut_off]) != 1]
        if len(ended) != self.jobs or twice:
            faults.append(f"{len(ended)} jobs wrote an end; not once: {twice}")
        begun = {file.name for file in (self.work / "begun").iterdir()}
        unknown = begun - set(launches)
        if unknown:
            faults.append(f"runs that the state does not know: {unknown}")
        differences = []
        for one in launches.values():
            record = records.get(one["engine_id"] or "")
            if record is None:
                if one["engine_id"] is not None:
                    faults.append(f"the engine has no record of the run {one['name']}: {one}")
                continue
            charged = one["end_time"] - (one["charged_from"] or one["intended"])
            differences.append(abs(charged - (record.end - record.start)))
        if max(differences, default=0) > 1:
            faults.append(f"charges differ from the engine's records: {Counter(differences)}")
        print(f"jobs: {self.jobs}, finished once: {sum(count == 1 for count in finished.values())}")
        print(
            f"runs: {len(launches)}, begun {len(begun)}, of which lost {len(lost)}, {len(cut_off)} of them at their end"
        )
        states = Counter(one.state for one in records.values())
        print(f"jobs of {self.cluster.NAME}: {len(records)}, by state: {dict(states)}")
        print(f"seconds by which a charge differs from the engine's record: {dict(Counter(differences))}")
        for user in USERS:
            record = next(one for one in document["submitters"] if one["name"] == f"{user}@x")
            mine = [one for one in document["runs"] if one["submitter"] == f"{user}@x"]
            held = sum(one["end_time"] - one["start_time"] for one in mine)
            print(f"{user}: charged {record['accumulated_usage']:g} s, the engine held {held} s for it")
            if abs(record["accumulated_usage"] - held) > 1:
                faults.append(f"{user} is charged {record['accumulated_usage']:g} s, not {held} s")
        if self.samples:
            print(f"cores of {', '.join(USERS)} while all had idle jobs, at {len(self.samples)} moments:")
            for used, count in Counter(used for _, used in self.samples).most_common():
                print(f"  {' : '.join(map(str, used))}  {count} times")
        check = self.fairq("state", "check").strip()
        print(f"state check: {check or 'no faults'}")
        return faults


def main(engine: str, jobs: int = 200, kills: int = 30, outage: float = 60) -> None:
    """Hold the experiment in a scratch directory."""
    with tempfile.TemporaryDirectory(prefix=f"fairq-{engine}", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        work = Path(scratch)
        work.chmod(0o755)
        cluster = CLUSTERS[engine](work / "cluster")
        os.chown(work, cluster.account, cluster.account)
        try:
            cluster.start()
            experiment = Experiment(work, cluster, jobs)
            begin = time.time()
            experiment.submit()
            experiment.disturb(kills, outage)
            print(f"{time.time() - begin:.0f} s, fairq killed {kills} times")
            faults = experiment.report()
            notes = Counter((work / "notes").read_text().splitlines())
            print("notes:", *(f"  {count}x {note}" for note, count in notes.items()), sep="\n")
        finally:
            cluster.stop()
        if faults:
            sys.exit("\n".join(faults))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main(sys.argv[1], *map(int, sys.argv[2:]))
