"""What a job costs beside its own work: many times /bin/true, by fairq and by other programs that run jobs.

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
    """Time each program that is there, in a scratch directory of its own."""
    programs: dict[str, tuple[bool, Callable[[Path, int, int], None]]] = {
        "fairq": (True, fairq),
        "GNU parallel": (shutil.which("parallel") is not None, parallel),
        "task-spooler": (_task_spooler() is not None, task_spooler),
        "hyperqueue": (importlib.util.find_spec("hyperqueue") is not None, hyperqueue),
        "pueue": (shutil.which("pueue") is not None and shutil.which("pueued") is not None, pueue),
    }
    print(f"{count} times {JOB} through {slots} slots; load of the machine before: {os.getloadavg()[0]:.1f}")
    for name, (is_there, run) in programs.items():
        if not is_there:
            print(f"{name:13} not installed")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            spent = _cpu()
            start = time.perf_counter()
            run(Path(scratch), count, slots)
            seconds = time.perf_counter() - start
            cpu = _cpu() - spent
        print(f"{name:13} {seconds:6.1f} s, {1000 * seconds / count:5.1f} ms a job; CPU of its commands {cpu:.1f} s")


def fairq(work: Path, count: int, slots: int) -> None:
    """From the submit to the last recorded end, the start of both commands included."""
    environment = {**os.environ, "FAIRQ_STATE": str(work / "state.db"), "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"}

    def do(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "fairq", "-q", *words], env=environment, cwd=work, check=True)

    do("slots", "add", "here", "--count", str(slots), "--attribute", 'Launch="local"')
    do("submit", "--count", str(count), "--", JOB)
    do("run", "--until-idle")
    done = subprocess.run(
        [sys.executable, "-m", "fairq", "export"], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.count('"how": "finished"') == count, "not every job has ended once"


def parallel(work: Path, count: int, slots: int) -> None:
    """All jobs as the lines of its input."""
    lines = f"{JOB}\n" * count
    subprocess.run(["parallel", "--will-cite", "-j", str(slots)], input=lines, cwd=work, text=True, check=True)


def _task_spooler() -> str | None:
    return shutil.which("tsp") or shutil.which("ts")


def task_spooler(work: Path, count: int, slots: int) -> None:
    """One command of its for each job, as it is meant to be used, and one that waits."""
    program = _task_spooler() or ""
    environment = {**os.environ, "TS_SOCKET": str(work / "socket"), "TS_MAXFINISHED": str(count), "TMPDIR": str(work)}

    def do(*words: str) -> None:
        subprocess.run([program, *words], env=environment, check=True, stdout=subprocess.DEVNULL)

    do("-S", str(slots))
    for _ in range(count):
        do("-n", JOB)
    do("-N", str(slots), "-nf", JOB)
    do("-K")


def hyperqueue(work: Path, count: int, slots: int) -> None:
    """One job with that many tasks, by its Python interface."""
    script = textwrap.dedent(_HYPERQUEUE)
    environment = {**os.environ, "HOME": str(work)}
    line = [sys.executable, "-c", script, str(count), str(slots)]
    subprocess.run(line, cwd=work, env=environment, check=True, capture_output=True)


def pueue(work: Path, count: int, slots: int) -> None:
    """One command of its for each job, and one that waits."""
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
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "2000", "2")[:2]) if len(sys.argv) != 2 else (int(sys.argv[1]), 2))
