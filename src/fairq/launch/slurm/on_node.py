"""The program of the batch job on a node: it supervises the run whose directory is its argument.

It needs Python 3.9 and nothing of fairq but the modules that `fairq.launch.slurm.archive` packs with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from fairq.launch.supervisor import record
from fairq.launch.supervisor.watch import Supervisor

_SLURM_PREFIXES = ("SLURM_", "SLURMD_", "SBATCH_", "CUDA_MPS_")
"""The beginnings of the names of variables that only Slurm can set (sbatch(1), slurm.conf(5), gres.conf(5))."""

_GPU_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
)  # fmt: skip
"""The variables by which Slurm shows a job its GPUs; if it sets one, fairq's own, which hide GPUs, are dropped."""

_NO_RUN = 125


def main() -> None:
    """Supervise the run, and exit as its job did, so that Slurm's record agrees."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGCHLD))
    child = os.fork()
    if child == 0:
        # A supervisor creates its own session, which the first process of a batch job cannot.
        os._exit(_supervise(sys.argv[1]))
    while True:
        if signal.sigwait((signal.SIGTERM, signal.SIGCHLD)) == signal.SIGTERM:
            os.kill(child, signal.SIGTERM)
            continue
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else _NO_RUN)


def _supervise(run_directory: str) -> int:
    with open(f"{run_directory}/spec", encoding="utf-8") as file:  # noqa: PTH123
        spec = json.load(file)
    spec["environment"] = _environment(spec["environment"])
    Supervisor(spec, os.open(os.devnull, os.O_WRONLY)).run()
    end = record.read_end(record.open_directory(run_directory))
    if end is None:
        return _NO_RUN
    return 128 + end["signal"] if end["signal"] is not None else end["exit_code"] or int(end["reason"] != "exit")


def _environment(assigned: dict[str, str]) -> dict[str, str]:
    """Return the environment of the job: the variables *assigned* by fairq, and those of Slurm."""
    gpus = {name: os.environ[name] for name in _GPU_VARIABLES if name in os.environ}
    if gpus:
        assigned = {name: value for name, value in assigned.items() if name not in _GPU_VARIABLES}
    return {
        **assigned,
        **{name: value for name, value in os.environ.items() if name.startswith(_SLURM_PREFIXES)},
        **gpus,
    }


if __name__ == "__main__":
    main()
