"""The program that a batch job runs on its node, without fairq and without the environment of anybody."""

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import asdict

from fairq.launch.interface import Assignment
from fairq.launch.slurm import archive
from fairq.launch.slurm.verdict import Files
from fairq.launch.supervisor.specification import complete

HIDDEN = {"CUDA_VISIBLE_DEVICES": "10000", "ROCR_VISIBLE_DEVICES": "10000", "NVIDIA_VISIBLE_DEVICES": "none"}


def supervised(work, script, of_slurm=None):
    """Run *script* as a batch job does; return the exit code of that, and the end that was written."""
    directory = work / "1.0-a"
    if not directory.exists():
        directory.mkdir()
        environment = {"PATH": os.defpath, **HIDDEN}
        assignment = Assignment("1.0-a", ["/bin/sh", "-c", script], str(work), environment)
        (directory / "spec").write_text(json.dumps(complete(asdict(assignment), str(directory), 1000, None)))
    line = [sys.executable, "-I", "-S", str(archive.put(work)), str(directory)]
    environment_given = {
        "SLURM_JOB_ID": "17",
        "OTHER": "x",
        **({"CUDA_VISIBLE_DEVICES": "3"} if of_slurm is None else of_slurm),
    }
    done = subprocess.run(line, cwd="/", env=environment_given, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, Files.of(directory).end


def test_a_job_is_supervised_without_fairq(tmp_path):
    code, end = supervised(tmp_path, 'echo "$SLURM_JOB_ID $CUDA_VISIBLE_DEVICES $OTHER" > said; exit 7')
    assert end is not None
    assert (code, end["reason"], end["exit_code"]) == (7, "exit", 7)
    assert (tmp_path / "said").read_text() == "17 3 \n"


def test_a_second_batch_job_of_a_run_does_nothing(tmp_path):
    assert [supervised(tmp_path, "echo x >> said")[0] for _ in range(2)] == [0, 0]
    assert (tmp_path / "said").read_text() == "x\n"


def test_a_signal_is_told_as_shells_tell_it(tmp_path):
    code, end = supervised(tmp_path, "kill -9 $$")
    assert end is not None
    assert (code, end["signal"]) == (137, 9)


@pytest.mark.parametrize(
    ("of_slurm", "want"),
    [
        pytest.param({}, "10000/10000/none", id="no GPUs"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1,2"}, "1,2//", id="NVIDIA"),
        pytest.param({"ROCR_VISIBLE_DEVICES": "1"}, "/1/", id="AMD"),
    ],
)
def test_a_job_sees_the_gpus_that_slurm_gives_it_and_otherwise_none(of_slurm, want, tmp_path):
    supervised(tmp_path, 'echo "$CUDA_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES/$NVIDIA_VISIBLE_DEVICES" > said', of_slurm)
    assert (tmp_path / "said").read_text() == f"{want}\n"


@pytest.mark.parametrize(
    "name", ["SLURMD_NODENAME", "SLURM_CPUS_ON_NODE", "SBATCH_MEM_BIND", "CUDA_MPS_PIPE_DIRECTORY"]
)
def test_a_job_gets_the_variables_that_slurm_documents(name, tmp_path):
    supervised(tmp_path, f'echo "${name}" > said', {name: "n1"})
    assert (tmp_path / "said").read_text() == "n1\n"
