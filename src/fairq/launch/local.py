"""Runs on this machine, each with its own directory and a supervisor that outlives the process that started it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict

from fairq.launch import processes
from fairq.launch.interface import Assignment, Condition, Known, Look, Node, Options, Refused, Slots, Started
from fairq.launch.run_directories import RunDirectories
from fairq.launch.strays import end_strays
from fairq.launch.supervisor import cgroup, record
from fairq.launch.supervisor.specification import complete

_PATIENCE = 5.0
"""Seconds that `start` waits for the next run to begin; a slower run may still begin later."""

_UNFINISHED: list[subprocess.Popen[bytes]] = []
"""Warm processes that outlive their launcher. Each ends once its runs have begun; a hung file system can delay this."""

_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from fairq.launch.supervisor.main import main; main()"
_SOURCE = Path(__file__).parent.parent.parent


class Local(RunDirectories):
    """The launcher ``local``: jobs are processes of this machine and of this user."""

    is_engine = False

    def __init__(self, directory: Path, options: Options) -> None:
        """Keep the directories of runs inside *directory*."""
        super().__init__(directory)
        self._options = options
        self._warm: subprocess.Popen[bytes] | None = None
        self._partial_line = b""
        self._boot = processes.boot_id()

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Start runs; see `fairq.launch.interface.Launcher`."""
        answers: dict[str, Known | Refused] = {}
        pending: set[str] = set()
        base = cgroup.base(self._options.cgroup) if assignments else None
        for assignment in assignments:
            path = self._directory / assignment.run
            spec = complete(asdict(assignment), str(path), self._options.keep_output, base)
            try:
                path.mkdir(0o700, parents=True, exist_ok=True)
                self._ask(json.dumps(spec).encode() + b"\n")
            except OSError as error:
                answers[assignment.run] = Refused(f"{path}: {error.strerror or error}")
                continue
            pending.add(assignment.run)
        deadline = time.monotonic() + _PATIENCE
        while pending:
            lines = self._answers(deadline - time.monotonic())
            if lines is None:
                break
            deadline = time.monotonic() + _PATIENCE
            for line in lines:
                answer = json.loads(line)
                pending.discard(answer["run"])
                if "pid" in answer:
                    started = Started(answer["pid"], answer["start"], answer["boot"], tuple(answer["cores"]))
                    answers[answer["run"]] = started
        return answers

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of runs; kill the remaining processes of runs without a supervisor."""
        return {
            run: self._look(run, recorded if isinstance(recorded, Started) else None) for run, recorded in runs.items()
        }

    def stop(self, runs: Mapping[str, str]) -> None:
        """End runs; a run that has not begun will never begin."""
        for run, reason in runs.items():
            path = self._directory / run
            with suppress(OSError):
                path.mkdir(0o700, parents=True, exist_ok=True)
                directory = record.open_directory(str(path))
                try:
                    record.write_order(directory, reason)
                    self._stop(directory)
                finally:
                    os.close(directory)

    def slots(self) -> Slots:
        """Return the cores in this process's CPU affinity."""
        return Slots(tuple(sorted(os.sched_getaffinity(0))))

    def nodes(self, partition: str | None = None) -> list[Node]:
        """Return none: `fairq slots detect` describes this machine."""
        return []

    def close(self) -> None:
        """Let the warm process end; the supervisors continue."""
        warm, self._warm = self._warm, None
        if warm is not None:
            for stream in (warm.stdin, warm.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            try:
                warm.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                _UNFINISHED.append(warm)

    def _look(self, run: str, recorded: Started | None) -> Look:
        path = self._directory / run
        try:
            directory = record.open_directory(str(path))
        except OSError:
            return self._look_without(run, recorded)
        try:
            return self._look_inside(run, recorded, directory)
        finally:
            os.close(directory)

    def _look_inside(self, run: str, recorded: Started | None, directory: int) -> Look:
        begun = record.read(directory, "begun")
        started = recorded if begun is None or "pid" not in begun else begun_as(begun)
        is_running = record.read_end(directory) is None and record.is_locked(directory)
        if is_running:
            return Look(Condition.RUNNING, started)
        # Read the end again: the run may have ended after the first read.
        if (end := record.read_end(directory)) is not None:
            return Look(Condition.ENDED, started, end)
        if begun is None and not record.exists(directory, "begun"):
            return self._look_without(run, recorded)
        if started is not None and started.boot != self._boot:
            return self._rebooted(started)
        group = f"{begun['cgroup']}/{run}" if begun and begun.get("cgroup") else None
        return self._ended_strays(run, started, record.read(directory, "job"), group)

    def _look_without(self, run: str, recorded: Started | None) -> Look:
        """Return the condition of a run that has no files on disk."""
        if recorded is not None:
            if recorded.boot != self._boot:
                return Look(Condition.LOST, recorded, detail="the machine was rebooted")
            if processes.start_of(recorded.pid) == recorded.start:
                return Look(Condition.RUNNING, recorded)
        look = self._ended_strays(run, recorded, None, None)
        if recorded is None and look.condition is Condition.LOST:
            return Look(Condition.WAITING)
        return look

    def _rebooted(self, started: Started) -> Look:
        return Look(Condition.LOST, started, detail="the machine was rebooted")

    def _ended_strays(self, run: str, recorded: Started | None, job: dict[str, int] | None, group: str | None) -> Look:
        survivors = end_strays(run, job, group)
        if survivors:
            detail = f"its supervisor is gone; process {survivors[0]} of it is still there"
            return Look(Condition.STRAY, recorded, detail=detail)
        record.remove_tree(str(self._directory / run / record.SCRATCH))
        return Look(Condition.LOST, recorded, detail="its supervisor was killed")

    def _stop(self, directory: int) -> None:
        if not record.is_locked(directory):
            lock = record.lock(directory)
            if lock is not None:
                # The run has not begun, or its supervisor is gone: prevent any later begin.
                record.begin(directory, {"cancelled": True})
                os.close(lock)
                return
        begun = record.read(directory, "begun")
        if begun and begun.get("boot") == self._boot:
            processes.send(begun["pid"], begun["start"], signal.SIGTERM)
            # A job can suspend its own supervisor (SIGSTOP).
            processes.send(begun["pid"], begun["start"], signal.SIGCONT)

    def _ask(self, line: bytes) -> None:
        if self._warm is None or self._warm.poll() is not None:
            self._warm = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE, str(_SOURCE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath},
                bufsize=0,
                # Ctrl-C in the terminal of the command that starts jobs must not end them.
                start_new_session=True,
            )
            self._partial_line = b""
        assert self._warm.stdin is not None
        while line:
            line = line[self._warm.stdin.write(line) or 0 :]

    def _answers(self, seconds: float) -> list[bytes] | None:
        """Return the next lines of the warm process; None if none arrive within *seconds* or its output is closed."""
        assert self._warm is not None
        assert self._warm.stdout is not None
        if seconds <= 0 or not select.select([self._warm.stdout], [], [], seconds)[0]:
            return None
        text = self._warm.stdout.read(65536)
        if not text:
            return None
        *lines, self._partial_line = (self._partial_line + text).split(b"\n")
        return lines


def begun_as(begun: dict[str, object]) -> Started:
    """Return the start that a supervisor has recorded."""
    pid, start, boot, cores = (begun[name] for name in ("pid", "start", "boot", "cores"))
    assert isinstance(pid, int)
    assert isinstance(start, int)
    assert isinstance(cores, list)
    return Started(pid, start, str(boot), tuple(cores))
