#!/usr/bin/env python3
"""Two weeks of a made-up lab, simulated: what everybody waits, under which settings.

It has 40 machines of 16 cores, 12 users in 3 groups, classes on two mornings, and one maintenance. Run it as
`python3 docs/lab.py [OPTIONS OF fairq simulate]`; it writes lab.csv, lab.toml and large.toml where it is run.
"""

import csv
import random
import subprocess
import sys
from pathlib import Path

DAY, HOUR, MINUTE = 86400, 3600, 60

GROUPS = {
    "physics": ["anna", "ben", "cara", "dan", "eva"],
    "biology": ["finn", "gina", "hugo", "ida"],
    "teach": ["jan", "kim", "lea"],
}
SETTINGS = """[groups.physics]
quota_dynamic = 0.6
[groups.biology]
quota_dynamic = 0.3
[groups.teach]
quota_dynamic = 0.1
[negotiator]
group_accept_surplus = true
"""
LARGE = 'large_job_patience = "2h"\nlarge_job_machines = 2\n'

CLASSES = ["teach=10@1d9h..1d12h", "teach=10@8d9h..8d12h"]
MAINTENANCE = "nobody=all@10d6h..10d14h"


def jobs():
    """Yield the jobs: batches of one core by day, and now and then jobs of a whole machine."""
    draw = random.Random(7)
    for day in range(14):
        weekend = day % 7 >= 5
        for group, users in GROUPS.items():
            for user in users:
                for _ in range(draw.randint(0, 1 if weekend else 3)):
                    begin = day * DAY + draw.randint(8, 20) * HOUR + draw.randint(0, 59) * MINUTE
                    run = draw.choice([60, 180, 480]) * MINUTE
                    if group == "physics" and draw.random() < 0.15:
                        count, cpus = draw.randint(1, 4), 16
                    else:
                        count, cpus = draw.randint(20, 120), draw.choice([1, 1, 2, 4])
                    for _ in range(count):
                        took = int(run * draw.uniform(0.6, 1.0))
                        yield begin, took, user, group, cpus, run
    for day in (1, 8):
        for _ in range(240):
            begin = day * DAY + 9 * HOUR + draw.randint(0, 150) * MINUTE
            yield begin, draw.randint(1, 10) * MINUTE, draw.choice(GROUPS["teach"]), "teach", 1, 15 * MINUTE


def main():
    """Write the files, and simulate them."""
    with Path("lab.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["submit", "run", "user", "group", "cpus", "limit"])
        out.writerows(sorted(jobs()))
    Path("lab.toml").write_text(SETTINGS)
    Path("large.toml").write_text(SETTINGS + LARGE)
    reserve = [word for one in [*CLASSES, MAINTENANCE] for word in ("--reserve", one)]
    policies = ["--policy", "now=lab.toml", "--policy", "large=large.toml"]
    line = [
        "fairq",
        "simulate",
        "lab.csv",
        "--slots",
        "40x16c64g",
        "--every",
        "10m",
        "--users",
        "12",
        *policies,
        *reserve,
    ]
    return subprocess.run([*line, *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
