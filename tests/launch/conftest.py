"""A pool on this machine whose jobs really run, in its own directory; nothing of it outlives a test."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fairq.launch.supervisor import cgroup

PATIENCE = 120.0
"""Seconds to wait; far more than needed on an idle machine, for busy machines."""


def until(condition: Callable[[], Any], event: str = "it") -> Any:
    """Wait until *condition* returns a true value; return it."""
    deadline, wait = time.monotonic() + PATIENCE, 0.02
    while True:
        if result := condition():
            return result
        assert time.monotonic() < deadline, f"{event} did not come about"
        time.sleep(wait)
        wait = min(wait * 1.5, 0.2)


def is_alive(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Pool:
    """One state whose slots have the launcher local."""

    def __init__(self, run: Callable[..., Any], state: Path, work: Path) -> None:
        self._run = run
        self.state = state
        self.work = work
        self.runs = Path(f"{state}.runs")

    def __call__(self, command: str, *words: object) -> Any:
        return self._run(command, "--state", self.state, *words)

    def done(self, command: str, *words: object) -> str:
        """Run a command that must succeed; return its output."""
        ended = self(command, *words)
        assert ended.code == 0, ended.err
        return str(ended.out)

    def slots(self, count: int = 2, *words: object) -> None:
        self.done("slots", "add", "here", "--count", count, "--attribute", 'Launch="local"', *words)

    def submit(self, script: str, *words: object) -> None:
        """Queue a shell script as a job that starts in the pool's working directory."""
        self.done("submit", "--initialdir", self.work, *words, "--", "/bin/sh", "-c", script)

    def script(self, text: str) -> Path:
        """Write an executable file with this text."""
        path = self.work / "script"
        path.write_bytes(text.encode())
        path.chmod(0o777)
        return path

    def turn(self, *words: object) -> dict[str, Any]:
        return dict(json.loads(self.done("negotiate", "--json", *words)))

    def queue(self) -> dict[str, dict[str, Any]]:
        ads = json.loads(self.done("queue", "--json"))
        return {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in ads}

    def settled(self, *jobs: str) -> list[dict[str, Any]]:
        """Collect until these jobs no longer run; return the ended runs."""
        ended: list[dict[str, Any]] = []

        def is_settled() -> bool:
            ended.extend(json.loads(self.done("negotiate", "--collect-only", "--json"))["ended"])
            return all(self.queue().get(job, {}).get("JobStatus") != 2 for job in jobs)

        until(is_settled, f"the end of {jobs}")
        return ended

    def pid_in(self, name: str) -> int:
        """Return the process number that a job wrote to a file."""
        path = self.work / name
        return int(until(lambda: path.exists() and path.read_text().strip(), f"a number in {name}"))

    def export(self) -> dict[str, Any]:
        return dict(json.loads(self.done("export")))

    def supervisor(self, job: str) -> int:
        (launch,) = [launch for launch in self.export()["launches"] if f"{launch['cluster']}.{launch['proc']}" == job
                     and launch["phase"] != "ended"]  # fmt: skip
        return int(launch["pid"])

    def end(self) -> None:
        """Kill all processes of the pool."""
        marker = b"FAIRQ_RUN="
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == os.getpid():
                continue
            with suppress(OSError):
                environment = (entry / "environ").read_bytes()
                cwd = str((entry / "cwd").readlink())
                if marker in environment and cwd.startswith(str(self.work)):
                    os.kill(int(entry.name), signal.SIGKILL)
        if not self.state.exists():
            return
        for launch in self.export()["launches"]:
            if launch["phase"] != "ended" and launch["pid"]:
                with suppress(OSError):
                    os.kill(launch["pid"], signal.SIGTERM)


@pytest.fixture
def pool(run, state, tmp_path, monkeypatch):
    """An empty pool; give it slots."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    work = tmp_path / "work"
    work.mkdir()
    empty_pool = Pool(run, state, work)
    yield empty_pool
    empty_pool.end()


@pytest.fixture(params=["none", "auto"])
def any_cgroup(request, monkeypatch):
    """Run the test without control groups, and with those of this machine if it has writable ones."""
    if request.param == "auto" and cgroup.base("auto") is None:
        pytest.skip("there is no control group here that may be written to")
    monkeypatch.setenv("FAIRQ_LAUNCH_CGROUP", request.param)
    return str(request.param)


PYTHON = sys.executable
