"""Time the recalculation of 100,000 task queues of 5,000 users: ``python -m benchmarks.task_queues [REPEAT]``.

First the engine alone: from queues in memory, by column, to their priorities. One line is for comparison: DIRAC's
published design sets the priorities with SQL, by one statement per queue (or per set of queues with equal priority).
That many statements are timed here on SQLite in memory, without network, server or calculation: this design cannot take
less. Then whole commands, from the start of the process to its end, on a state with a job in each of these queues, each
with its own ad.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from fairq.engine.shares.corrector import Corrections, UsageRequest
from fairq.engine.shares.division import Recalculation, recalculate
from fairq.engine.shares.explanation import explain
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.match import Matcher
from fairq.engine.shares.needs import SEGMENTS
from fairq.engine.shares.queues import QueueTable, Requirements, TaskQueue
from fairq.engine.shares.rules import Rules
from fairq.state.connection import writing
from fairq.steps.taskqueues.policy import preset

QUEUES, USERS, GROUPS = 100_000, 5_000, 50
PILOT = ("--site", "LCG.Site000.org", "--cputime", "1000000", "--tag", "GPU", "--seed", "1")
SITES = [f"LCG.Site{number:03d}.org" for number in range(200)]


def groups() -> dict[str, OwnerGroup]:
    """Return the groups: every fifth shares its jobs, every third allows background queues."""
    return {
        f"g{number:02d}": OwnerGroup(
            f"g{number:02d}", 100.0 * (number + 1), job_sharing=number % 5 == 0, background=number % 3 == 0
        )
        for number in range(GROUPS)
    }


def queues(count: int = QUEUES) -> list[TaskQueue]:
    """Draw the queues from a fixed seed."""
    draw = random.Random(20_090_213)
    drawn = []
    for number in range(count):
        user = number % USERS
        jobs = draw.randrange(1, 5000)
        drawn.append(
            TaskQueue(
                number + 1,
                Requirements(
                    f"user{user:05d}",
                    f"g{user % GROUPS:02d}",
                    draw.choice(SEGMENTS),
                    tags=("GPU",) if draw.random() < 0.2 else ("MultiProcessor", "8Processors"),
                    sites=tuple(sorted(draw.sample(SITES, draw.randrange(0, 4)))),
                ),
                jobs,
                jobs * draw.choice((1e-5, 1.0, 1.0, 1.0, 5.0, 9.0)),
            )
        )
    return drawn


def settings() -> dict[str, Any]:
    """Return settings with the schema's two slices, between groups and inside each of them."""
    slices = {
        "MaxGlobalCorrection": 3,
        "WeekSlice": {"TimeSpan": 604800, "Weight": 80, "MaxCorrection": 2},
        "HourSlice": {"TimeSpan": 3600, "Weight": 20, "MaxCorrection": 5},
    }
    instances = {f"{name}Instance": {"Group": name, **slices} for name in groups()}
    return {"ShareCorrectorsToStart": "WMSHistory", "WMSHistory": {"GroupsInstance": slices, **instances}}


def reports(request: UsageRequest) -> Mapping[str, float]:
    """Return usage of every group and of every second user."""
    if not request.group:
        return {name: 1.0 + index for index, name in enumerate(groups())}
    index = int(request.group[1:])
    return {f"user{user:05d}": 1.0 + user % 7 for user in range(index, USERS, 2 * GROUPS)}


def calculated(rules: Rules, table: QueueTable, owner_groups: dict[str, OwnerGroup]) -> Recalculation:
    """Recalculate once, settings and history included."""
    corrections = Corrections(rules, built_in())
    corrections.update(settings(), reports)
    return recalculate(table, owner_groups, rules, corrections)


def statements(result: Recalculation) -> Callable[[], None]:
    """Return a function that sets every priority by its own statement."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE tq (id INTEGER PRIMARY KEY, priority REAL)")
    table.executemany("INSERT INTO tq VALUES (?, 1)", ((queue,) for queue in result.queues.ids.tolist()))
    texts = [
        f"UPDATE tq SET priority = {priority:.4f} WHERE id IN ({queue})"
        for queue, priority in zip(result.queues.ids.tolist(), result.priorities.tolist(), strict=True)
    ]

    def run() -> None:
        for text in texts:
            table.execute(text)
        table.commit()

    return run


def dump(drawn: list[TaskQueue]) -> dict[str, Any]:
    """Return a document for ``taskqueues import``, with one job in each queue."""
    queues = [
        {
            "TQId": queue.id,
            "Owner": queue.requirements.owner,
            "OwnerGroup": queue.requirements.group,
            "CPUTime": queue.requirements.cpu_time,
            "Tags": queue.requirements.tags,
            "Sites": queue.requirements.sites,
            "Jobs": 1,
            "AveragePriority": queue.real_priorities / queue.jobs,
        }
        for queue in drawn
    ]
    properties = {
        group.name: {"JobShare": group.share, "Properties": "JobSharing" if group.job_sharing else ""}
        for group in groups().values()
    }
    return {"groups": properties, "task_queues": queues}


def commands(folder: Path, drawn: list[TaskQueue]) -> dict[str, Callable[[], object]]:
    """Write the queues into *folder*, and return functions that run each command on a state there."""
    file, imported, state = folder / "dump.json", folder / "imported.db", folder / "grid.db"
    fairq = [sys.executable, "-m", "fairq", "--quiet", "--state", str(state)]
    file.write_text(json.dumps(dump(drawn)))

    def running(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([*fairq, "taskqueues", *arguments], check=True, stdout=subprocess.DEVNULL)

    def first(*arguments: str) -> Callable[[], object]:
        """Return a function that runs a command on the freshly imported state."""

        def run() -> None:
            shutil.copy(imported, state)
            running(*arguments)()

        return run

    def imports() -> None:
        state.unlink(missing_ok=True)
        running("import", str(file))()
        shutil.copy(state, imported)

    def formed() -> None:
        shutil.copy(imported, state)
        with writing(state) as connection:
            connection.connection.execute("DELETE FROM job_need")
            connection.connection.execute("DELETE FROM queue_need")
        running("match", *PILOT)()

    return {
        "taskqueues import": imports,
        "taskqueues match, the first one": first("match", *PILOT),
        "taskqueues match, formed from all ads": formed,
        "taskqueues shares --json, storing": running("shares", "--json"),
        "taskqueues list --json": running("list", "--json"),
        "taskqueues match": running("match", *PILOT),
        "taskqueues match --count 100": running("match", *PILOT, "--count", "100"),
    }


def cpu() -> float:
    """Return the seconds of CPU of this process and of those that it has waited for."""
    spent = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def main() -> None:
    """Print the medians of CPU time."""
    repeat = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    drawn, owner_groups = queues(), groups()
    table = QueueTable.of(drawn)

    def timed(label: str, work: Callable[[], Any]) -> Any:
        spent = []
        for _ in range(repeat):
            start = cpu()
            result = work()
            spent.append(cpu() - start)
        print(f"{label:58}{1000 * median(spent):9.1f} ms")
        return result

    print(f"{QUEUES} task queues, {USERS} users, {GROUPS} groups; CPU time, medians of {repeat}")
    for rules in (preset("documented"), preset("dirac")):
        result = timed(f"recalculate, rules {rules.name}", lambda rules=rules: calculated(rules, table, owner_groups))
    timed("explain one group", lambda: explain(result, "g07"))
    timed("explain all", lambda: explain(result))
    pilot = {"CPUTime": 1_000_000, "Site": SITES[0], "Tag": ["GPU"]}
    requirements = table.requirements
    timed(
        "queues that match one pilot", lambda: Matcher(pilot, owner_groups, preset("documented")).matching(requirements)
    )
    timed("for comparison: one SQL statement per queue", statements(result))
    with tempfile.TemporaryDirectory() as folder:
        for what, run in commands(Path(folder), drawn).items():
            timed(what, run)


if __name__ == "__main__":
    main()
