"""Runs on this machine as the owners of their jobs: a program of root starts them and owns their files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fairq.launch import run_directories
from fairq.launch.interface import Assignment, Condition, Known, Look, Options, Owners, Refused, Started
from fairq.launch.local import Local, begun_as
from fairq.launch.supervisor import record
from fairq.launch.supervisor.owner_run import WAKE

_SUDO = ("/usr/bin/sudo", "-n")
_MARK = b"fairq.launch.root"
_PATIENCE = 180.0
"""Seconds that the program may take; the runs that it starts begin all the same."""


class Owned(Local):
    """The launcher ``local`` of a host's pool.

    This process has the rights of the pool's account: it decides, writes orders and reads ends. Only the starter
    starts processes. It takes no arguments: it reads the decided runs from the state.
    """

    def __init__(self, directory: Path, options: Options, owners: Owners) -> None:
        """Keep orders inside *directory*, which the account owns."""
        super().__init__(owners.directory, options)
        self._orders = directory
        self._starter = owners.starter
        self._has_called_root = False

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Start the decided runs; only the names of the *assignments* are used."""
        problem = self.attend()
        answers: dict[str, Known | Refused] = {}
        for assignment in assignments:
            begun = self._begun(assignment.run)
            if begun is not None:
                answers[assignment.run] = begun
            elif problem is not None:
                answers[assignment.run] = Refused(problem)
        return answers

    def attend(self) -> str | None:
        """Let root start decided runs, end lost ones, write event logs and delete old runs; return any problem."""
        if self._starter is None:
            return None
        if not _is_starter(self._starter):
            return f"{self._starter} is not root's program for starting jobs; correct launch.starter"
        command = [self._starter] if os.geteuid() == 0 else [*_SUDO, self._starter]
        try:
            result = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False,
                # Ctrl-C in the terminal of the command that starts jobs must not end it half way.
                start_new_session=True,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{self._starter}: {error}"
        if result.returncode == 0:
            return None
        message = result.stderr.decode(errors="replace").strip().replace("\n", "; ")
        return f"{self._starter}: {message or f'exit code {result.returncode}'}"

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of runs; once per launcher, let root end those that have lost their supervisor."""
        looks = super().look(runs)
        lost = {run: runs[run] for run, look in looks.items() if look.condition is Condition.STRAY}
        if lost and self._starter is not None and not self._has_called_root:
            self._has_called_root = True
            self.attend()
            looks |= super().look(lost)
        return looks

    def stop(self, runs: Mapping[str, str]) -> None:
        """Order the end of runs and wake their supervisors; a run that has not begun will never begin."""
        for run, reason in runs.items():
            path = self._orders / run
            with suppress(OSError):
                path.mkdir(0o700, parents=True, exist_ok=True)
                directory = record.open_directory(str(path))
                try:
                    record.write_order(directory, reason)
                finally:
                    os.close(directory)
                # Any byte will do. If the pipe is full, the supervisor is awake already; without a reader, it is gone.
                pipe = os.open(self._directory / run / WAKE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    os.write(pipe, b".")
                finally:
                    os.close(pipe)

    def runs(self) -> set[str]:
        """Return the runs that have a directory that root owns, or an order."""
        return run_directories.names(self._orders) | super().runs()

    def forget(self, runs: Iterable[str]) -> None:
        """Delete the orders of runs; root deletes the directories of runs that the state does not know."""
        run_directories.delete(self._orders, runs)

    def _begun(self, run: str) -> Started | None:
        try:
            directory = record.open_directory(str(self._directory / run))
        except OSError:
            return None
        try:
            begun = record.read(directory, "begun")
        finally:
            os.close(directory)
        return begun_as(begun) if begun else None

    def _look_without(self, run: str, recorded: Started | None) -> Look:
        """Return the condition of a run that has not begun: an order given before it begins prevents it."""
        if recorded is not None:
            return Look(Condition.LOST, recorded, detail="its directory is gone")
        if (self._orders / run / "order").exists():
            # Root first claims the run, then looks for an order: the run may have begun since this method was called.
            begun = self._begun(run)
            if begun is None and not (self._directory / run / "begun").exists():
                return Look(Condition.LOST, detail="it was ended before it began")
            return Look(Condition.RUNNING, begun)
        return Look(Condition.WAITING)

    def _rebooted(self, started: Started) -> Look:
        if self._starter is not None and not self._has_called_root:
            return Look(Condition.STRAY, started, detail="the machine was rebooted")
        return super()._rebooted(started)

    def _ended_strays(self, run: str, started: Started | None, job: dict[str, int] | None, group: str | None) -> Look:
        return Look(Condition.STRAY, started, detail="its supervisor is gone; root has not yet ended its processes")


def _is_starter(program: str) -> bool:
    """Return whether *program* is the root part that only root can change: settings must not choose what sudo runs."""
    from fairq.launch.root.policy import UnsafeError, check_owned_by_root

    try:
        check_owned_by_root(program)
        return _MARK in Path(program).read_bytes()
    except (OSError, UnsafeError):
        return False
