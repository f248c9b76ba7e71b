"""200 jobs of three users through a real Slurm, while fairq is killed, the controller stops, and a node goes away.

    python -m tests.engines.slurm_experiment [JOBS [KILLS [OUTAGE]]]

OUTAGE is how long, in seconds, the controller is stopped, and then a node; 0: neither is. The figures are printed, and
the program fails if a job ended more or less than once, or if a charge is not what Slurm recorded.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.engines.slurm_cluster import Cluster

USERS = {"alice": 1, "bob": 2, "carol": 4}
"""Priority factors: the shares are 4 : 2 : 1 of 14 cores."""


class Experiment:
    """One pool over one cluster."""

    def __init__(self, work: Path, cluster: Cluster, jobs: int) -> None:
        self.work = work
        self.cluster = cluster
        self.jobs = jobs
        self.samples: list[tuple[float, tuple[int, ...]]] = []
        self.environment = {
            **cluster.environment, "FAIRQ_STATE": str(work / "pool.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x",
            "FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": "1e12", "FAIRQ_LAUNCH_MAX_LOST": "100", "FAIRQ_LAUNCH_POLL": "2",
        }  # fmt: skip

    def fairq(self, *words: str) -> str:
        """Run fairq and return its output."""
        line = [sys.executable, "-m", "fairq", *words]
        return subprocess.run(line, env=self.environment, check=True, capture_output=True, text=True).stdout

    def submit(self) -> None:
        """Make the slots, and queue the jobs: more of whoever has the larger share."""
        self.fairq("slots", "sync", "slurm")
        (self.work / "begun").mkdir()
        (self.work / "ended").mkdir()
        whole = sum(4 / factor for factor in USERS.values())
        left = self.jobs
        for user, factor in USERS.items():
            count = min(left, round(self.jobs * 4 / factor / whole))
            left -= count
            script = (
                f": > {self.work}/begun/$FAIRQ_RUN; sleep $((8 + FAIRQ_PROCESS % 8)).5; "
                f"echo $FAIRQ_RUN >> {self.work}/ended/$FAIRQ_JOB; exit 3"
            )
            self.fairq("submit", "--accounting-group-user", user, "--count", str(count), "--", "/bin/sh", "-c", script)
            self.fairq("userprio", "-setfactor", f"{user}@x", str(factor))

    def negotiator(self) -> subprocess.Popen[bytes]:
        """Start what negotiates."""
        with (self.work / "notes").open("ab") as notes:
            line = [sys.executable, "-m", "fairq", "run", "--until-idle"]
            return subprocess.Popen(line, env=self.environment, stdout=subprocess.DEVNULL, stderr=notes)

    def sample(self) -> None:
        """Note who has how many cores, as long as all have idle jobs."""
        rows = json.loads(self.fairq("queue", "--json"))
        idle, used = (Counter(row["ClusterId"] for row in rows if row["JobStatus"] == status) for status in (1, 2))
        clusters = range(1, 1 + len(USERS))
        if all(idle[cluster] for cluster in clusters):
            self.samples.append((time.time(), tuple(used[cluster] for cluster in clusters)))

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
                self.cluster.until(self.cluster.states, "the controller does not answer")
            if outage and number == 2 * kills // 3:
                self.cluster.kill_node("n2")
                print(f"the node n2 is gone for {outage:g} s")
                time.sleep(outage)
                self.fairq("slots", "sync", "slurm")
                self.cluster.start_node("n2")
                self.cluster.until(lambda: "down" not in self.cluster.states()["n2"], "the node does not come back")
                self.fairq("slots", "sync", "slurm")
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
        ended = {file.name: file.read_text().split() for file in (self.work / "ended").iterdir()}
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
        if len(ended) != self.jobs or any(len(runs) != 1 for runs in ended.values()):
            twice = [job for job, runs in ended.items() if len(runs) > 1]
            faults.append(f"{len(ended)} jobs wrote an end; twice: {twice}")
        begun = {file.name for file in (self.work / "begun").iterdir()}
        unknown = begun - set(launches)
        if unknown:
            faults.append(f"runs that the state does not know: {unknown}")
        differences = []
        for one in launches.values():
            record = records.get(one["engine_id"] or "")
            if record is None:
                faults.append(f"Slurm has no record of the run {one['name']}: {one}")
                continue
            charged = one["end_time"] - (one["charged_from"] or one["intended"])
            differences.append(abs(charged - (record.end - record.start)))
        if max(differences, default=0) > 1:
            faults.append(f"charges differ from Slurm's records: {Counter(differences)}")
        print(f"jobs: {self.jobs}, finished once: {sum(count == 1 for count in finished.values())}")
        print(f"runs: {len(launches)}, begun {len(begun)}, of which lost {len(lost)}")
        print(f"batch jobs of Slurm: {len(records)}, by state: {dict(Counter(one.state for one in records.values()))}")
        print(f"seconds by which a charge differs from Slurm's record: {dict(Counter(differences))}")
        for user in USERS:
            record = next(one for one in document["submitters"] if one["name"] == f"{user}@x")
            mine = [one for one in document["runs"] if one["submitter"] == f"{user}@x"]
            held = sum(one["end_time"] - one["start_time"] for one in mine)
            print(f"{user}: charged {record['accumulated_usage']:g} s, Slurm held {held} s for it")
            if abs(record["accumulated_usage"] - held) > 1:
                faults.append(f"{user} is charged {record['accumulated_usage']:g} s, not {held} s")
        if self.samples:
            print(f"cores of {', '.join(USERS)} while all had idle jobs, at {len(self.samples)} moments:")
            for used, count in Counter(used for _, used in self.samples).most_common():
                print(f"  {' : '.join(map(str, used))}  {count} times")
        check = self.fairq("state", "check").strip()
        print(f"state check: {check or 'no faults'}")
        return faults


def main(jobs: int = 200, kills: int = 30, outage: float = 60) -> None:
    """Hold the experiment in a scratch directory."""
    with tempfile.TemporaryDirectory(prefix="fairq-slurm") as scratch:
        work = Path(scratch)
        work.chmod(0o755)
        cluster = Cluster(work / "cluster")
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
    main(*(int(word) for word in sys.argv[1:]))
