"""One supervisor: it starts the job of a run, kills its process tree at the end, and records the end."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import time
from typing import Any, NoReturn

from fairq.launch import processes
from fairq.launch.supervisor import cgroup, record, terminal
from fairq.launch.supervisor.child import IGNORED, become_job
from fairq.launch.supervisor.identity import run_in_child

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_NAME = 15  # PR_SET_NAME
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_CHECK_SECONDS = 1.0
"""Seconds between two checks of a job's memory and kept output."""
_FREQUENT_CHECK_SECONDS = 0.2
_HANG_UP = 2.0
"""Seconds for which an interactive job may continue without its terminal."""
_LONGEST_SLEEP = 60.0
"""Longest sleep in seconds before a start: the clock may be set meanwhile."""
_LONGEST_MOVE = 600.0
"""Seconds until a move of output files is given up, as to another file system that hangs."""


def supervise(spec: dict[str, Any], report: int, kind: type[Supervisor] | None = None) -> NoReturn:
    """Run one job to its end; this process does nothing else. The descriptor *report* receives how the run began."""
    try:
        (kind or Supervisor)(spec, report).run()
    except BaseException as error:
        tell(report, {"run": spec["run"], "failed": f"{type(error).__name__}: {error}"})
        os._exit(1)
    os._exit(0)


def tell(report: int, answer: dict[str, Any]) -> None:
    """Write *answer* to the process that started the run, if it still exists."""
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(answer).encode() + b"\n")


class Supervisor:
    """Supervises one run, described by *spec* (see `fairq.launch.supervisor.specification`).

    It has the rights of the job. `fairq.launch.supervisor.owner_run` is the kind that has other rights than the job.
    """

    wake_signals: tuple[signal.Signals, ...] = (signal.SIGCHLD, signal.SIGTERM)
    """The signals that wake the supervisor."""
    umask = 0o077
    """The umask for the files of the run."""

    def __init__(self, spec: dict[str, Any], report: int) -> None:
        self.spec = spec
        self.report = report
        self.path: str = spec["run_directory"]
        self.directory = record.open_directory(self.path)
        self.group: str | None = None
        self.job = 0
        self.status: int | None = None
        self.user = self.system = 0.0
        self.largest = 0
        self.sampled = 0
        self.reason = "exit"
        self.kill_at: float | None = None
        self.killed_for_memory = False
        self.terminal: int | None = None

    def run(self) -> None:
        """Start the job, watch it, kill its process tree, record the end."""
        spec = self.spec
        self._become_supervisor()
        lock = record.lock(self.directory)
        if lock is None:
            tell(self.report, {"run": spec["run"], "taken": True})
            return
        identity = {"pid": os.getpid(), "start": processes.start_of(os.getpid()), "boot": processes.boot_id()}
        uid = spec["owner"] and spec["owner"]["uid"]
        if not record.begin(self.directory, {**identity, "cores": spec["cores"], "cgroup": spec["cgroup"], "uid": uid}):
            tell(self.report, {"run": spec["run"], "taken": True})
            return
        reserved = record.reserve(self.directory)
        if spec["cgroup"]:
            self.group = cgroup.make(spec["cgroup"], spec["run"], spec["memory"])
        self.began = time.clock_gettime(time.CLOCK_BOOTTIME)
        began = time.time()
        failure = self._prepare()
        # A later order wakes the supervisor.
        if failure is None and (order := self._order()) is not None:
            self.reason = order
        elif failure is None and spec["start_time"] is None:
            failure = self._start_job()
        tell(self.report, {"run": spec["run"], **identity, "cores": spec["cores"]})
        os.close(self.report)
        if failure is None and self.reason == "exit" and spec["start_time"] is not None and self._is_time():
            self.began, began = time.clock_gettime(time.CLOCK_BOOTTIME), time.time()
            failure = self._start_job()
        if self.job > 0 and failure is None:
            self._watch()
        self._end_tree()
        self._deliver()
        self._remove_scratch()
        for path in self._kept_paths():
            _trim(path, self.spec["keep_output"])
        ended = time.clock_gettime(time.CLOCK_BOOTTIME)
        facts = {
            "run": spec["run"],
            **identity,
            "job": self.job,
            "started": began,
            "ended": began + ended - self.began,
            "began_boottime": self.began,
            "ended_boottime": ended,
            **self._end_facts(failure),
            **self._resource_facts(),
        }
        if self.group is not None:
            cgroup.remove(self.group)
        record.write_end(self.path, self.directory, reserved, facts)

    def _become_supervisor(self) -> None:
        os.setsid()
        os.chdir("/")
        os.umask(self.umask)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.close(null)
        # Only sigtimedwait receives them, so that no signal is missed.
        signal.pthread_sigmask(signal.SIG_BLOCK, self.wake_signals)
        for name in IGNORED:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        for wake_signal in self.wake_signals:
            signal.signal(wake_signal, signal.SIG_DFL)
        _LIBRARY.prctl(_SUBREAPER, 1, 0, 0, 0)
        _LIBRARY.prctl(_NAME, f"fairq {self.spec['run']}"[:15].encode(), 0, 0, 0)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    def _prepare(self) -> list[Any] | None:
        """Prepare files for the job; return (step, errno, text) on a failure."""
        return None

    def _order(self) -> str | None:
        """Return the order to end the run; None if there is none."""
        order = record.read(self.directory, "order")
        return str(order["order"]) if order else None

    def _is_time(self) -> bool:
        """Wait until the start time; return False if it is too late, or if the run is to end."""
        while (seconds := self.spec["start_time"] - time.time()) > 0:
            info = signal.sigtimedwait(self.wake_signals, min(seconds, _LONGEST_SLEEP))
            is_ended = info is not None and info.si_signo == signal.SIGTERM
            if (order := self._order() or ("terminated" if is_ended else None)) is not None:
                self.reason = order
                return False
        if -seconds >= self.spec["start_window"] + 1:
            self.reason = "late"
            return False
        return True

    def _deliver(self) -> None:
        """If the job ended by itself, move its output files into its output directory, with the job's rights."""
        spec = self.spec
        if not spec["output_files"] or self.job <= 0 or self.reason != "exit":
            return

        def move() -> None:
            os.chdir(spec["directory"])
            existing = [name for name in spec["output_files"] if os.path.lexists(name)]
            os.execv("/bin/mv", ["mv", "-f", "--", *existing, spec["output_directory"]])

        run_in_child(move, spec["owner"], _LONGEST_MOVE)

    def _remove_scratch(self) -> None:
        record.remove_tree(f"{self.path}/{record.SCRATCH}")

    def _read_failure(self, descriptor: int) -> bytes:
        """Return why the job's program cannot be executed, as the job's process reports it; empty if it can."""
        text = b""
        while chunk := os.read(descriptor, 4096):
            text += chunk
        return text

    def _start_job(self) -> list[Any] | None:
        """Fork the job; return (step, errno, text) if its program could not be executed."""
        pair = None
        if self.spec["terminal"] is not None:
            try:
                pair = terminal.open_pair(self.spec["owner"] and self.spec["owner"]["uid"])
            except OSError as error:
                return ["terminal", error.errno or 0, error.strerror or str(error)]
            self.terminal = pair[1]
        reader, writer = os.pipe()
        self.job = -1 if self.group is None else cgroup.fork(self.group)
        is_inside = self.job >= 0
        if not is_inside:
            self.job = os.fork()
        if self.job == 0:
            become_job(self.spec, self.directory, None if is_inside else self.group, writer, pair)
        os.close(writer)
        if pair is not None:
            os.close(pair[0])
        text = self._read_failure(reader)
        os.close(reader)
        return json.loads(text) if text else None

    def _watch(self) -> None:
        """Wait until the job's first process has ended, or until the job must be killed."""
        memory = self.spec["memory"] if self.group is None or not cgroup.limits_memory(self.group) else None
        limits = self._limits()
        check_at = self.began + _FREQUENT_CHECK_SECONDS
        self._reap()
        while self.status is None:
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            deadlines = [deadline for deadline, _ in limits] if self.kill_at is None else [self.kill_at]
            info = signal.sigtimedwait(self.wake_signals, max(0.0, min([*deadlines, check_at]) - now))
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            self._reap()
            if self.status is not None:
                break
            if info is not None and info.si_signo != signal.SIGCHLD:
                self._obey(info.si_signo)
            if self.kill_at is None:
                due = [reason for deadline, reason in limits if deadline <= now]
                if due:
                    self._stop(due[0])
            elif self.kill_at <= now:
                if self.reason == "exit":
                    self.reason = "hangup"
                return
            if check_at <= now:
                if self.kill_at is None and self.terminal is not None and terminal.is_hung_up(self.terminal):
                    # The kernel has sent SIGHUP; a program that ignores it is killed.
                    self.kill_at = now + _HANG_UP
                used = self._sample(memory is not None)
                flooded = [_trim(path, self.spec["keep_output"]) for path in self._kept_paths()]
                if memory is not None and used > memory * 1024:
                    self.reason = "memory"
                    return
                is_critical = any(flooded) or (memory is not None and used > memory * 512)
                check_at = now + (_FREQUENT_CHECK_SECONDS if is_critical else _CHECK_SECONDS)

    def _kept_paths(self) -> list[str]:
        return [path for path in (self.spec["output"], self.spec["error"]) if path.startswith(self.path + "/")]

    def _limits(self) -> list[tuple[float, str]]:
        """Return the ends of the time limits in seconds since boot, each with its reason."""
        return [
            (self.began + seconds, reason)
            for reason in ("job_seconds", "execute_seconds")
            if (seconds := self.spec[reason]) is not None
        ]

    def _obey(self, signal_number: int) -> None:
        """End the job as ordered; SIGTERM without an order is for the supervisor itself."""
        order = self._order() or ("terminated" if signal_number == signal.SIGTERM else None)
        if order is None:
            return
        if self.kill_at is None:
            self._stop(order)
        if order == record.AT_ONCE:
            self.kill_at = time.clock_gettime(time.CLOCK_BOOTTIME)

    def _stop(self, reason: str) -> None:
        self.reason = reason
        self.kill_at = time.clock_gettime(time.CLOCK_BOOTTIME) + self.spec["grace"]
        for signal_number in (self.spec["signals"].get(reason, self.spec["kill_signal"]), signal.SIGCONT):
            # Signal the whole process group: a shell does not pass the signal on to its children.
            with contextlib.suppress(OSError):
                os.killpg(self.job, signal_number)

    def _sample(self, exactly: bool) -> int:
        """Return the memory of the process tree in KB; unless *exactly*, measure only sometimes, otherwise return 0."""
        if not exactly and self.sampled and time.clock_gettime(time.CLOCK_BOOTTIME) % 10 > _CHECK_SECONDS:
            return 0
        tree = cgroup.members(self.group) if self.group is not None else processes.descendants(os.getpid())
        used = sum(map(processes.memory_of, tree))
        self.sampled = max(self.sampled, used)
        return used

    def _end_tree(self) -> None:
        """Kill the job's processes until none remains; orphans become children of this process."""
        wait = 0.001
        if self.group is not None:
            cgroup.kill(self.group)
        while self._reap():
            for pid, start in processes.descendants(os.getpid()).items():
                # By descriptor: a bare pid may have been reused, and root would kill another user's process.
                processes.send(pid, start, signal.SIGKILL)
            self._reap()
            time.sleep(wait)
            wait = min(wait * 1.5, 0.5)
        while self.group is not None and not cgroup.is_empty(self.group):
            cgroup.kill(self.group)

    def _reap(self) -> bool:
        """Reap the children that have ended; return whether any child remains."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.user += usage.ru_utime
            self.system += usage.ru_stime
            self.largest = max(self.largest, usage.ru_maxrss)
            if pid == self.job:
                self.status = status

    def _end_facts(self, failure: list[Any] | None) -> dict[str, Any]:
        facts: dict[str, Any] = {"reason": self.reason, "exit_code": None, "signal": None, "core": False}
        if failure is not None:
            return {**facts, "reason": "start", "step": failure[0], "errno": failure[1], "detail": failure[2]}
        if self.group is not None and self.reason == "exit" and cgroup.killed_for_memory(self.group):
            facts["reason"] = "memory"
        if self.job <= 0:
            return facts
        status = self.status or 0
        if os.WIFSIGNALED(status):
            facts |= {"signal": os.WTERMSIG(status), "core": os.WCOREDUMP(status)}
        else:
            facts["exit_code"] = os.waitstatus_to_exitcode(status)
        return facts

    def _resource_facts(self) -> dict[str, Any]:
        peak = None if self.group is None else cgroup.peak_kb(self.group)
        if peak is None:
            peak, measured = max(self.sampled, self.largest), "sampled" if self.sampled > self.largest else "rusage"
        else:
            measured = "cgroup"
        enforced = self.group is not None and cgroup.limits_memory(self.group)
        return {
            "user_seconds": self.user,
            "system_seconds": self.system,
            "cpu_measured": "rusage",
            "peak_memory_kb": peak,
            "memory_measured": measured,
            "memory_limit_mb": self.spec["memory"],
            "memory_limit_held_by": "kernel" if enforced else "supervisor",
        }


def _trim(path: str, most: int) -> bool:
    """Keep only the end of a file larger than *most* bytes; return whether it exceeded a quarter of *most*.

    A job that floods its output must not fill the disk.
    """
    try:
        size = os.stat(path).st_size  # noqa: PTH116
        if size > most:
            with open(path, "r+b") as file:  # noqa: PTH123
                file.seek(-(most // 2), os.SEEK_END)
                end = file.read(most // 2)
                file.truncate(0)
                file.seek(0)
                file.write(b"[fairq: earlier output was dropped; name a file with output and error to keep it]\n")
                file.write(end)
    except OSError:
        return False
    return size > most // 4
