"""Real runs of fairq that tests watch, stop and kill, and a pool that keeps a cycle busy for a while."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOW = 1_795_210_080

SLOTS = JOBS = 8000


def start(state: Path, *words: object, **more: Any) -> subprocess.Popen[str]:
    """Start a command line as a process of its own."""
    line = [sys.executable, "-m", "fairq", "--state", str(state), *map(str, words)]
    return subprocess.Popen(line, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **more})


def wait_for(path: Path, process: subprocess.Popen[str]) -> bool:
    """Wait until *path* is there; False if *process* ended before."""
    while not path.exists():
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    return True


def busy_pool(run: Callable[..., Any], state: Path, folder: Path) -> None:
    """Fill *state* with as many slots as jobs, of twenty submitters and of a hundred kinds."""
    slots = [
        {"Name": f"slot{n}", "Memory": 1000 + n % 50, "Requirements": "/Expr(TARGET.RequestMemory <= Memory)/"}
        for n in range(SLOTS)
    ]
    jobs = [
        {
            "ClusterId": 1 + n // 100,
            "ProcId": n % 100,
            "JobStatus": 1,
            "Owner": f"user{n // 100 % 20}",
            "QDate": NOW - 60,
            "RequestMemory": n % 100,
            "Requirements": "/Expr(TARGET.Memory >= RequestMemory)/",
        }
        for n in range(JOBS)
    ]
    for name, ads in (("slots.json", slots), ("jobs.json", jobs)):
        (folder / name).write_text(json.dumps(ads))
    words = ["--slots", folder / "slots.json", "--jobs", folder / "jobs.json", "--now", NOW]
    assert run("--state", state, "import", *words).code == 0
