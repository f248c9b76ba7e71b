"""What every test can have: a clean environment, a state file of its own, and fairq run in two ways."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no failure; on the machine that decides about a change the examples are the same every time.
settings.register_profile("fairq", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("fairq"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "fairq")

# A shell starts what runs in the background with SIGINT ignored. What the tests start must not inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: many tests wait for a process, a lock or a disk."""
    return len(os.sched_getaffinity(0)) + 1


@dataclass(frozen=True)
class Ended:
    """How a run of fairq ended: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory, monkeypatch):
    """Keep the user's own files, settings and terminal out of every test."""
    for name in list(os.environ):
        if name.startswith("FAIRQ_") or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(home / "xdg_config_dirs"))


@pytest.fixture
def state(tmp_path):
    """The path of a state file that does not exist yet."""
    return tmp_path / "state.db"


@pytest.fixture
def made_once(tmp_path, tmp_path_factory, request):
    """Copy into `tmp_path` what a function makes in a folder, which it does for the first test of the module only."""

    def copied(make):
        folder = tmp_path_factory.getbasetemp() / f"made-{request.module.__name__}-{make.__name__}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as begun:
                make(Path(begun))
                shutil.copytree(begun, folder)
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)

    return copied


@pytest.fixture
def run(capsys):
    """Run a command line in this process: fast, for whatever does not need a real process."""
    from fairq.cli.app import main

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def fairq():
    """Run a command line as a process of its own, as a user does."""

    def fairq(*words, environment=None, stdin=None):
        ended = subprocess.run(
            [sys.executable, "-m", "fairq", *map(str, words)],
            env={**os.environ, **(environment or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return fairq
