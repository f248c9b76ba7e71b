"""The program that a batch job runs on its node, without fairq and without the environment of anybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from fairq.launch.interface import Assignment
from fairq.launch.slurm import archive
from fairq.launch.slurm.verdict import Files
from fairq.launch.supervisor.specification import complete


def supervised(work: Path, script: str) -> tuple[int, dict[str, Any] | None]:
    """Run *script* as a batch job does; return the exit code of that, and the end that was written."""
    place = work / "1.0-a"
    if not place.exists():
        place.mkdir()
        environment = {"PATH": os.defpath, "CUDA_VISIBLE_DEVICES": "10000"}
        one = Assignment("1.0-a", ["/bin/sh", "-c", script], str(work), environment)
        (place / "spec").write_text(json.dumps(complete(asdict(one), str(place), 1000, None)))
    line = [sys.executable, "-I", "-S", str(archive.put(work)), str(place)]
    of_slurm = {"SLURM_JOB_ID": "17", "CUDA_VISIBLE_DEVICES": "3", "OTHER": "x"}
    done = subprocess.run(line, cwd="/", env=of_slurm, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, Files.of(place).end


def test_a_job_is_supervised_without_fairq(tmp_path: Path) -> None:
    code, end = supervised(tmp_path, 'echo "$SLURM_JOB_ID $CUDA_VISIBLE_DEVICES $OTHER" > said; exit 7')
    assert end is not None
    assert (code, end["reason"], end["exit_code"]) == (7, "exit", 7)
    assert (tmp_path / "said").read_text() == "17 3 \n"


def test_a_second_batch_job_of_a_run_does_nothing(tmp_path: Path) -> None:
    assert [supervised(tmp_path, "echo x >> said")[0] for _ in range(2)] == [0, 0]
    assert (tmp_path / "said").read_text() == "x\n"


def test_a_signal_is_told_as_shells_tell_it(tmp_path: Path) -> None:
    code, end = supervised(tmp_path, "kill -9 $$")
    assert end is not None
    assert (code, end["signal"]) == (137, 9)
