"""A small pool for the tests of the brokerage: a nucleus and some queues, two tasks of production."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOW = 1_795_210_080

Records = list[dict[str, Any]]

QUEUES: Records = [
    {"name": "NUCLEUS_Q", "atlas_site": "NUC", "corecount": 1},
    {"name": "U8", "atlas_site": "T2A", "corecount": 8, "capability": "ucore", "maxrss": 32000},
    {"name": "SMALL", "atlas_site": "T2B", "corecount": 1, "maxrss": 1000},
    {"name": "CLOSED", "atlas_site": "T2B", "corecount": 1, "status": "offline"},
    {"name": "IDLE", "atlas_site": "T2C", "corecount": 1},
]
COMMON = {
    "status": "online", "type": "unified", "cloud": "W", "maxrss": 4000, "workflow": "pull_ups",
    "maxwdir": 100_000, "maxtime": 345_600, "corepower": 10, "releases": ["ANY"],
}  # fmt: skip
TASK = {"gshare": "MC", "nucleus": "NUC", "coreCount": 1, "ramCount": 1500, "walltime": 1, "taskPriority": 500}

POOL: dict[str, Records] = {
    "queues": [COMMON | queue for queue in QUEUES],
    "sites": [{"name": "NUC", "role": "nucleus"}],
    "storages": [{"rse": f"{site}_DISK", "site": site, "space_free": 1000} for site in ("NUC", "T2A", "T2B", "T2C")],
    "relations": [{"queue": queue["name"], "rse": f"{queue['atlas_site']}_DISK"} for queue in QUEUES],
    "pilots": [{"queue": queue["name"], "getJob": 5} for queue in QUEUES if queue["name"] != "IDLE"],
    "statistics": [
        {"queue": "NUCLEUS_Q", "gshare": "MC", "resource_type": "SCORE", "state": "running", "n": 10},
        {"queue": "U8", "gshare": "MC", "resource_type": "SCORE", "state": "running", "n": 50},
        {"queue": "U8", "gshare": "MC", "resource_type": "SCORE", "state": "activated", "n": 20},
    ],
    "tasks": [TASK | {"jediTaskID": 1}, TASK | {"jediTaskID": 2, "ramCount": 900_000}],
    "inputs": [{"task": 1, "dataset": "mc.1", "files": [{"lfn": f"f{n}", "fsize": 10**9} for n in range(4)]}],
    "replicas": [{"dataset": "mc.1", "rse": "NUC_DISK"}],
}
"""Task 1 finds queues; task 2 needs more memory than any has."""


_FILLED: dict[str, bytes] = {}
"""The states that were filled from nothing, by their records."""


def fill(run: Callable[..., Any], state: Path, folder: Path, **changed: Records) -> None:
    """Import the pool into *state*, with other records in the place of some kinds."""
    records_of = POOL | changed
    content, is_new = json.dumps(records_of), not state.exists()
    if is_new and content in _FILLED:
        state.write_bytes(_FILLED[content])
        return
    for kind, records in records_of.items():
        file = folder / f"{kind}.records"
        file.write_text(json.dumps(records))
        ended = run("--state", state, "broker", kind, "import", file, "--now", NOW)
        assert ended.code == 0, ended.err
    if is_new:
        _FILLED[content] = state.read_bytes()
