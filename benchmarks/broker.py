"""Time one ``fairq broker run`` of many tasks over many queues: ``python -m benchmarks.broker [TASKS [QUEUES]]``.

PanDA's own broker took 0.14 to 0.3 s a task over 1,000 queues on two shared cores. The run is timed as a whole
process, from its start to the committed state; the pool is synthetic, and the same every time.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import fairq

NOW = 1_795_000_000
SHARES = ("MC Default", "MC Express", "Data Derivations", "MC Derivations", "Reprocessing", "Heavy Ion", "Upgrade")
PLATFORMS = ("x86_64-centos7-gcc8-opt", "x86_64-el9-gcc13-opt", "x86_64-centos7-gcc11-opt")
RELEASES = [f"Athena-{major}.0.{minor}" for major in (22, 23, 24) for minor in range(8)]
PANDA = (0.14, 0.3)
"""Seconds per task of PanDA's broker, least and most."""

Records = list[dict[str, Any]]


def queues(draw: random.Random, number: int) -> Records:
    """Draw queues: five for each site, one in three unified, a few not online."""
    return [
        {
            "name": f"Q{n:04d}",
            "atlas_site": f"SITE{n // 5:03d}",
            "status": draw.choice(["online"] * 18 + ["test", "brokeroff"]),
            "type": draw.choice(["unified", "unified", "production"]),
            "cloud": draw.choice(["CERN", "DE", "US", "UK"]),
            "capability": "ucore" if n % 3 == 0 else "score" if n % 3 == 1 else "mcore",
            "workflow": "pull_ups",
            "corecount": 1 if n % 3 == 1 else 8,
            "maxrss": draw.choice([2000, 4000]) if n % 3 == 1 else draw.choice([16000, 32000, 64000]),
            "maxwdir": draw.choice([20000, 80000, 160000]),
            "maxtime": draw.choice([172800, 345600]),
            "corepower": draw.choice([8, 10, 12.5]),
            "releases": ["AUTO"] if n % 4 else ["ANY"],
            "fairsharepolicy": draw.choice(["", "", "", "type=simul:100%,type=evgen:100%,type=any:0%"]),
            "transferringlimit": draw.choice([0, 500]),
            "pledgedcpu": draw.choice([0, 1000, -1]),
            "direct_access_lan": draw.random() < 0.5,
        }
        for n in range(number)
    ]


def pool(draw: random.Random, number: int) -> dict[str, Records]:
    """Draw queues with their load, links and storage."""
    names = [f"Q{n:04d}" for n in range(number)]
    sites = [f"SITE{n:03d}" for n in range((number + 4) // 5)]
    states = ("defined", "assigned", "activated", "starting", "running", "transferring")
    return {
        "queues": queues(draw, number),
        "sites": [{"name": site, "role": "nucleus" if n % 20 == 0 else "satellite"} for n, site in enumerate(sites)],
        "storages": [{"rse": f"{site}_DATADISK", "site": site, "space_free": draw.choice([100, 5000, 90000])}
                     for site in sites],
        "relations": [{"queue": name, "rse": f"SITE{n // 5:03d}_DATADISK"} for n, name in enumerate(names)],
        "links": [{"source": site, "nucleus": nucleus, "key": key, "value": draw.choice([1, 5, 30, 120]), "time": NOW}
                  for nucleus in sites[::20] for site in sites
                  for key in ("AGIS_closeness", "Production Output_queued", "dashb_mbps_1d")],
        "statistics": [{"queue": name, "gshare": share, "resource_type": kind, "state": state, "n": draw.randrange(60)}
                       for name in names for share in SHARES for kind in ("SCORE", "MCORE") for state in states
                       if draw.random() < 0.6],
        "pilots": [{"queue": name, "getJob": draw.randrange(100), "lastStart": NOW - draw.randrange(20000)}
                   for name in names],
        "software": [{"queue": name, "cmtconfigs": draw.sample(PLATFORMS, 2), "containers": draw.choice([["any"], []]),
                      "cvmfs": ["atlas"], "architectures": [{"type": "cpu", "arch": ["x86_64"]}]} for name in names],
    }  # fmt: skip


def work(draw: random.Random, number: int, sites: int) -> dict[str, Records]:
    """Draw tasks, each with an input dataset of ten files at three endpoints."""
    tasks, inputs, replicas = [], [], []
    for task in range(1, number + 1):
        cores = draw.choice([1, 8])
        tasks.append(
            {
                "jediTaskID": task,
                "gshare": draw.choice(SHARES),
                "processingType": draw.choice(["simul", "evgen", "deriv", "reprocessing"]),
                "taskPriority": draw.choice([100, 500, 700, 900]),
                "nucleus": f"SITE{20 * draw.randrange(max(1, sites // 20)):03d}",
                "coreCount": cores,
                "ramCount": draw.choice([1500, 2000, 3000]),
                "ramUnit": draw.choice(["MB", "MBPerCore"]),
                "cpuTime": draw.choice([100, 1000, 5000]),
                "cpuTimeUnit": "HS06sPerEvent",
                "cpuEfficiency": 90,
                "outDiskCount": draw.choice([50, 500]),
                "outDiskUnit": "kBPerEvent",
                "workDiskCount": 1000,
                "workDiskUnit": "MB",
                "ioIntensity": draw.choice([None, 100, 600]),
                "transHome": draw.choice(RELEASES),
                "architecture": draw.choice(PLATFORMS),
                "splitRule": draw.choice(["NF=1", "NF=5", "NE=500"]),
            }
        )
        name = f"mc.{task}"
        files = [{"lfn": f"{name}.{n}", "fsize": draw.randrange(10**9), "nEvents": 1000} for n in range(10)]
        inputs.append({"task": task, "dataset": name, "files": files})
        site_numbers = draw.sample(range(sites), min(3, sites))
        replicas += [{"dataset": name, "rse": f"SITE{n:03d}_DATADISK"} for n in site_numbers]
    return {"tasks": tasks, "inputs": inputs, "replicas": replicas}


def main(tasks: int = 10_000, number: int = 1_000) -> None:
    """Import the pool, broker all tasks, and print what each took."""
    draw = random.Random(20_261_120)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state = folder / "state.db"
        for kind, records in (pool(draw, number) | work(draw, tasks, (number + 4) // 5)).items():
            file = folder / f"{kind}.json"
            file.write_text(json.dumps(records))
            cost = fairq(folder, "--state", state, "broker", kind, "import", file)
            print(f"import {kind:<12} {len(records):>8} records {cost.wall:7.2f} s {cost.memory:6.0f} MB")
        for rules in ("documented", "panda"):
            cost = fairq(folder, "--state", state, "broker", "run", "--all", "--rules", rules, "--now", NOW,
                         output=folder / "out")  # fmt: skip
            each = cost.wall / tasks
            print((folder / "out").read_text().partition("\n")[0])
            print(
                f"broker run: {tasks} tasks over {number} queues in {cost.wall:.2f} s ({cost.cpu:.2f} s of CPU, "
                f"{cost.memory:.0f} MB): {1000 * each:.2f} ms a task; PanDA's takes "
                f"{PANDA[0] / each:.0f} to {PANDA[1] / each:.0f} times as long"
            )
        print(f"the state file has {state.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
