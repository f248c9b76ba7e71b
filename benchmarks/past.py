"""Measure reports on the past: three simulated months, 1,000,000 ended jobs of 200 users in 30 groups.

``python -m benchmarks.past make STATE`` writes such a state, with a change of the clocks in it (2026-08 to 2026-10);
``python -m benchmarks.past measure STATE`` runs the commands on it and prints CPU seconds and memory of each, and
compares the sums of the report with userprio. The settings are beside the state, in ``STATE.toml``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import fairq

from fairq.common.past import EndedJob, UsageRow
from fairq.common.records import AccountingRecord, Run, SlotRecord
from fairq.state import ended_jobs, job_ads, meta, runs, slots, submitters, usage
from fairq.state.connection import writing

SEED = 20260801
JOBS, USERS, GROUPS = 1_000_000, 200, 30
BEGIN = 1_785_535_200
"""2026-08-01 00:00 in Berlin."""
DAYS = 92
SLOT = {"Cpus": 64, "Memory": 10**6, "Disk": 10**9, "Arch": "X86_64", "OpSys": "LINUX", "Requirements": True,
        "PartitionableSlot": True, "SlotType": "Partitionable", "State": "Unclaimed", "Activity": "Idle"}  # fmt: skip
HOUR = 3600

COMMANDS = (
    ("history",),
    ("history", "--limit", "20"),
    ("history", "--user", "user007@example.org", "--limit", "100"),
    ("history", "--group", "group07", "--since", "2026-10-30"),
    ("history", "--exit", "failed", "--since", "2026-10-31", "--csv"),
    ("history", "--constraint", "RemoteWallClockTime > 20 * 3600", "--since", "2026-10-25", "--af", "ClusterId"),
    ("history", "--csv"),
    ("history", "--json"),
    ("report", "--since", "2026-08-01"),
    ("report", "--since", "2026-08-01", "--by", "month"),
    ("report", "--since", "2026-08-01", "--by", "group,month"),
    ("report", "--since", "2026-08-01", "--by", "day"),
    ("report", "--month", "2026-10", "--by", "group"),
    ("report", "--since", "2026-10-01", "--by", "machine"),
    ("status",),
    ("metrics",),
    ("userprio", "--all", "--allusers"),
    ("plot", "usage"),
    ("plot", "usage", "--since", "2026-08-01"),
    ("plot", "shares", "--by", "group", "--since", "2026-08-01"),
    ("plot", "priority", "--since", "2026-08-01"),
    ("plot", "queue", "--by", "pool", "--since", "2026-08-01"),
    ("state", "check"),
)


def make(path: Path) -> None:
    """Write the state."""
    _use_zone()
    random = np.random.default_rng(SEED)
    end = BEGIN + DAYS * 24 * HOUR
    owner = np.minimum((random.pareto(0.8, JOBS) * 3).astype(int), USERS - 1)
    queued = np.sort(random.integers(BEGIN, end - 48 * HOUR, JOBS))
    start = queued + random.exponential(1800, JOBS).astype(int)
    seconds = np.minimum(random.lognormal(7.5, 1.2, JOBS).astype(int) + 1, 24 * HOUR)
    weight = random.choice([1, 1, 1, 2, 4, 8], JOBS)
    order = np.argsort(start + seconds, kind="stable")
    names = [f"group{user % GROUPS:02}.user{user:03}@example.org" if user % 4 else f"user{user:03}@example.org"
             for user in range(USERS)]  # fmt: skip
    Path(f"{path}.toml").write_text(
        "".join(f"[groups.group{group_number:02}]\nquota = {10 + group_number}\n" for group_number in range(GROUPS))
    )
    with writing(path) as state:
        ads = job_ads.ad_ids(
            state,
            [{"Cmd": f"/bin/work{program}", "Arguments": "-n 1", "RequestCpus": int(cpus), "RequestMemory": 1024,
              "Requirements": "/Expr(TARGET.Memory > 1)/"} for program in range(20) for cpus in (1, 2, 4, 8)],
        )  # fmt: skip
        index = {cpus: number for number, cpus in enumerate((1, 2, 4, 8))}
        code = random.choice([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], JOBS)
        ended, ran = [], []
        for cluster, job in enumerate(order.tolist(), 1):
            name, begin, length, cpus = names[owner[job]], int(start[job]), int(seconds[job]), int(weight[job])
            slot = f"slot1_{job % 40}@node{job % 97}"
            ended.append(EndedJob(
                cluster, 0, 0, ads[(job % 20) * 4 + index[cpus]], name, name.rpartition("@")[0].rpartition(".")[2], 4,
                int(queued[job]), begin + length, runs=1, first_start=begin, start_time=begin, wall_seconds=length,
                slot_seconds=float(cpus * length), slot=slot, exit_code=int(code[job]),
                user_seconds=0.8 * cpus * length, system_seconds=0.01 * length, measured_seconds=float(length),
                memory=job % 1200, request_cpus=float(cpus), request_memory=1024.0,
            ))  # fmt: skip
            ran.append(Run(cluster, 0, name, slot, float(cpus), begin, begin + length, "finished", int(code[job])))
        ended_jobs.add(state, ended)
        runs.add(state, ran)
        del ended, ran
        _charge(state, names, owner, start, seconds, weight, end)
        slots.add(
            state, [SlotRecord(0, f"slot1@node{node}", {**SLOT, "Name": f"slot1@node{node}"}) for node in range(97)]
        )
        meta.set(state, "next_cluster", str(JOBS + 1))
        meta.set(state, "last_update", str(end))
    with tempfile.TemporaryDirectory() as folder:
        for words in (("submit", "--count", 9000, "--now", end, "--", "/bin/true"), ("negotiate", "--now", end + 300)):
            fairq(Path(folder), "--state", path.resolve(), *words)


def _charge(state, names, owner, start, seconds, weight, end) -> None:  # type: ignore[no-untyped-def]
    """Write the ledger, and accounting records with its sums."""
    hours = DAYS * 24
    used, weighted = np.zeros((USERS, hours)), np.zeros((USERS, hours))
    moment, remaining, user_of, factor = start.copy(), seconds.copy(), owner, weight
    while len(moment):
        hour = (moment - BEGIN) // HOUR
        part = np.minimum(remaining, BEGIN + (hour + 1) * HOUR - moment)
        np.add.at(used, (user_of, hour), part)
        np.add.at(weighted, (user_of, hour), part * factor)
        moment, remaining = moment + part, remaining - part
        on = remaining > 0
        moment, remaining, user_of, factor = moment[on], remaining[on], user_of[on], factor[on]
    rows, records = [], {}
    for user, name in enumerate(names):
        group = name.partition(".")[0] if name.startswith("group") else "<none>"
        for charged in (name, group):
            record = records.setdefault(charged, AccountingRecord(charged, is_group="@" not in charged, priority=20.0,
                                                                  priority_factor=1000.0))  # fmt: skip
            record.accumulated_usage += used[user].sum()
            record.weighted_accumulated_usage += weighted[user].sum()
            for hour in np.nonzero(used[user])[0].tolist():
                row = UsageRow(BEGIN + hour * HOUR, charged, used[user, hour], weighted[user, hour])
                if charged == name:
                    row.entitled, row.delivered, row.wanting = weighted[user, hour] / 0.9, weighted[user, hour], 3600.0
                    row.idle, row.running, row.priority, row.known = 36000.0, used[user, hour], 7.2e7, 3600.0
                rows.append(row)
    total = weighted.sum(axis=0)
    for hour in range(hours):
        delivered, running = float(total[hour]), float(used[:, hour].sum())
        row = UsageRow(BEGIN + hour * HOUR, "", 0.0, 0.0, 6208.0 * HOUR, delivered, HOUR, 720000.0, running, 0.0, HOUR)
        rows.append(row)
    usage.add(state, rows)
    submitters.put(state, records.values())


def measure(path: Path) -> None:
    """Run the commands and print the cost of each."""
    _use_zone()
    print(f"{path.stat().st_size / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            try:
                cost = fairq(Path(folder), "--state", path.resolve(), *words, *_now(words))
            except RuntimeError as error:
                print(error)
                continue
            print(f"{cost.cpu:7.2f} s CPU {cost.wall:7.2f} s {cost.memory:6.0f} MB  {' '.join(words)}", flush=True)
        _compare(path.resolve(), Path(folder))


def _use_zone() -> None:
    """Set the time zone for the days and months of the data and of the commands."""
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()


def _now(words: tuple[str, ...]) -> tuple[str, ...]:
    return () if words[0] == "state" else ("--now", str(BEGIN + DAYS * 24 * HOUR + 600))


def _compare(path: Path, folder: Path) -> None:
    """Compare the sums of the months with the usage in userprio."""

    def ask(*words: str) -> Any:
        fairq(folder, "--state", path, *words, *_now(words), "--json", output=folder / "out")
        return json.loads((folder / "out").read_text())

    sums: dict[str, float] = {}
    for row in ask("report", "--by", "submitter,month", "--since", "2026-08-01")["rows"]:
        sums[row["submitter"]] = sums.get(row["submitter"], 0.0) + row["charged_seconds"]
    of_all = ask("userprio", "--all", "--allusers")
    members = [ad for ad in of_all if not ad["IsAccountingGroup"]]
    worst = max(abs(ad["WeightedAccumulatedUsage"] - sums.get(ad["Name"], 0.0)) for ad in members)
    print(f"months against userprio: at most {worst:g} s apart, of {sum(sums.values()):.0f} s of {len(members)} users")


if __name__ == "__main__":
    {"make": make, "measure": measure}[sys.argv[1]](Path(sys.argv[2]))
