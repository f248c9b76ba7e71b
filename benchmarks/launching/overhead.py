"""Measure the overhead of a job: many times /bin/true, by fairq and by other programs that run jobs.

    python -m benchmarks.launching.overhead [JOBS [SLOTS]]

GNU parallel and task-spooler are used where they are installed (``apt-get install parallel task-spooler``),
hyperqueue where the package is (``pip install hyperqueue``), pueue where both of its programs are.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

JOB = "/bin/true"

_HYPERQUEUE = """
    import sys
    from hyperqueue import Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    count, slots = int(sys.argv[1]), int(sys.argv[2])
    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=slots))
        client = cluster.client()
        job = Job()
        for _ in range(count):
            job.program(["/bin/true"])
        client.wait_for_jobs([client.submit(job)])
"""


def main(count: int, slots: int) -> None:
    """Time each installed program, in its own scratch directory."""
    programs: dict[str, tuple[bool, Callable[[Path, int, int], None]]] = {
        "fairq": (True, fairq),
        "GNU parallel": (shutil.which("parallel") is not None, parallel),
        "task-spooler": (_task_spooler() is not None, task_spooler),
        "hyperqueue": (importlib.util.find_spec("hyperqueue") is not None, hyperqueue),
        "pueue": (shutil.which("pueue") is not None and shutil.which("pueued") is not None, pueue),
    }
    print(f"{count} times {JOB} through {slots} slots; load of the machine before: {os.getloadavg()[0]:.1f}")
    for name, (is_installed, run) in programs.items():
        if not is_installed:
            print(f"{name:13} not installed")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            cpu_before = _cpu()
            start = time.perf_counter()
            run(Path(scratch), count, slots)
            seconds = time.perf_counter() - start
            cpu = _cpu() - cpu_before
        print(f"{name:13} {seconds:6.1f} s, {1000 * seconds / count:5.1f} ms a job; CPU of its commands {cpu:.1f} s")


def fairq(work: Path, count: int, slots: int) -> None:
    """Run jobs from the submit to the last recorded end, including the start of both commands."""
    environment = {**os.environ, "FAIRQ_STATE": str(work / "state.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"}

    def run(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "fairq", "-q", *words], env=environment, cwd=work, check=True)

    run("slots", "add", "here", "--count", str(slots), "--attribute", 'Launch="local"')
    run("submit", "--count", str(count), "--", JOB)
    run("run", "--until-idle")
    exported = subprocess.run(
        [sys.executable, "-m", "fairq", "export"], env=environment, check=True, capture_output=True, text=True
    )
    assert exported.stdout.count('"how": "finished"') == count, "not every job has ended once"


def parallel(work: Path, count: int, slots: int) -> None:
    """Run all jobs as lines of input."""
    lines = f"{JOB}\n" * count
    subprocess.run(["parallel", "--will-cite", "-j", str(slots)], input=lines, cwd=work, text=True, check=True)


def _task_spooler() -> str | None:
    return shutil.which("tsp") or shutil.which("ts")


def task_spooler(work: Path, count: int, slots: int) -> None:
    """Run a command for each job, as its users do, and one that waits."""
    program = _task_spooler() or ""
    environment = {**os.environ, "TS_SOCKET": str(work / "socket"), "TS_MAXFINISHED": str(count), "TMPDIR": str(work)}

    def run(*words: str) -> None:
        subprocess.run([program, *words], env=environment, check=True, stdout=subprocess.DEVNULL)

    run("-S", str(slots))
    for _ in range(count):
        run("-n", JOB)
    run("-N", str(slots), "-nf", JOB)
    run("-K")


def hyperqueue(work: Path, count: int, slots: int) -> None:
    """Run one job with *count* tasks, by its Python interface."""
    script = textwrap.dedent(_HYPERQUEUE)
    environment = {**os.environ, "HOME": str(work)}
    line = [sys.executable, "-c", script, str(count), str(slots)]
    subprocess.run(line, cwd=work, env=environment, check=True, capture_output=True)


def pueue(work: Path, count: int, slots: int) -> None:
    """Run a command for each job, and one that waits."""
    environment = {**os.environ, "HOME": str(work), "XDG_RUNTIME_DIR": str(work)}
    daemon = subprocess.Popen(["pueued"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        for words in (["parallel", str(slots)], *([["add", "--", JOB]] * count), ["wait", "--quiet"]):
            subprocess.run(["pueue", *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    finally:
        daemon.terminate()
        daemon.wait()


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "2000", "2")[:2]) if len(sys.argv) != 2 else (int(sys.argv[1]), 2))
