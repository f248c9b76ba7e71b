"""``fairq shell``: a terminal in a slot of this machine."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import select
import signal
import socket
import sys
import termios
import time
import tty
from contextlib import suppress
from typing import Annotated

from msgspec import Struct
from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.figures import moment
from fairq.cli.invocation import Invocation
from fairq.cli.job_options import job_editor
from fairq.cli.options import parse_duration, valued
from fairq.cli.output import activity
from fairq.cli.submission import AccountingGroup, Env, Getenv, Requirements, program_of, queued, submitter_here
from fairq.cli.terminal_guard import guarded_terminal
from fairq.common.interactive import INTERACTIVE, TERMINAL
from fairq.common.records import JobRange, JobStatus
from fairq.errors.base import UsageError
from fairq.errors.launch import ShellEndedError

app = App()

_LOOK = 1.0
"""Seconds between two looks at a job that waits."""
_FORECAST = 30.0
"""Seconds between two estimates of its start."""
_NAP = 0.1
_SOON = 3.0
"""Seconds after which a note says that the end of the job is not recorded yet."""
_PART = 1 << 16
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_VARIABLES = ("TERM", "COLORTERM")
"""The variables that describe the terminal."""

Text = str | None


@app.command(
    examples="""
        fairq shell                                # your shell, with one core
        fairq shell --cpus 4 --mem 8GB --gpus 1    # with cores, memory and a GPU
        fairq shell --time 2h -- python3 -i        # a program, for at most two hours
    """
)
def shell(
    context: Context,
    words: Annotated[
        list[str] | None, Argument(metavar="[-- PROGRAM ARGS...]", help="Program to run [default: your shell].")
    ] = None,
    request_cpus: Annotated[Text, valued("--cpus --request-cpus", "Cores to request.")] = None,
    request_memory: Annotated[
        Text, valued("--mem --request-memory", "Memory to request [MB, or with unit: 2GB].")
    ] = None,
    request_gpus: Annotated[Text, valued("--gpus --request-gpus", "GPUs to request.")] = None,
    execute: Annotated[Text, valued("--time", "Time that it may take, such as 2h; then it ends.")] = None,
    requirements: Requirements = None,
    accounting_group: AccountingGroup = None,
    batch_name: Annotated[Text, valued("--name", "Name of the job (JobBatchName).", "NAME")] = None,
    env: Env = None,
    getenv: Getenv = False,
) -> None:
    """Open a terminal in a slot of this machine.

    The command queues a job, shows its place in line while it waits, and connects this terminal to it when it starts.
    The job is charged and bounded as any other; fairq queue and fairq history list it. fairq run or fairq negotiate
    must run meanwhile.

    The job ends with its program, and with this terminal: when the window is closed, the connection is lost, or the
    command is killed. The program gets SIGHUP then, and SIGKILL two seconds later. Ctrl-C removes a job that waits; it
    goes to the program of one that runs. The exit code is that of the program, or 128 plus the number of the signal
    that ended it. It is 63 if the job was preempted, removed or held.

    A slot of Slurm or HTCondor is elsewhere: use srun --pty, condor_submit -interactive or condor_ssh_to_job.
    """
    from fairq.steps.jobs.submit import time_macros
    from fairq.steps.launch.shell import listen, local_slots

    invocation = context.obj
    actor = invocation.actor(invocation.now())
    requirement = local_slots(invocation.existing_state, invocation.settings)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(message="fairq shell needs a terminal; use 'fairq submit -- PROGRAM' without one")
    address, listener = listen()
    commands = {
        "request_cpus": request_cpus,
        "request_memory": request_memory,
        "request_gpus": request_gpus,
        "allowed_execute_duration": None if execute is None else str(parse_duration(execute, "--time")),
        "requirements": " && ".join(f"({text})" for text in (requirements, requirement) if text) or None,
        "accounting_group": accounting_group,
        "batch_name": batch_name,
        "getenv": "true" if getenv else None,
        f"MY.{INTERACTIVE}": "true",
        f"MY.{TERMINAL}": f'"{address}"',
    }
    set_commands = {name: value for name, value in commands.items() if value is not None}
    variables = [*(name for name in _VARIABLES if name in os.environ), *(env or [])]
    source = program_of(
        words or [_own_shell()], set_commands, 1, time_macros(actor.time), variables=variables, verbatim=True
    )
    for number in _ENDING:
        signal.signal(number, _end)
    with listener:
        cluster = queued(invocation, source, submitter_here(actor), actor).cluster
        session = _Session(invocation, cluster, listener)
        try:
            code = session.run()
        finally:
            session.leave()
    if code:
        raise SystemExit(code)


def _own_shell() -> str:
    with suppress(KeyError):
        return os.environ.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    return "/bin/sh"


def _end(number: int, _: object) -> None:
    for ending in _ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise SystemExit(128 + number)


class _Session(Struct, dict=True):
    """The job of *cluster*, whose process connects to *listener*."""

    invocation: Invocation
    cluster: int
    listener: socket.socket
    is_queued: bool = True
    """Whether it may be in the queue without running."""

    @property
    def job(self) -> str:
        return f"{self.cluster}.0"

    def run(self) -> int:
        """Wait for the job, connect it to this terminal, and return its exit code; raises ShellEndedError."""
        activity.end()
        self.invocation.note(f"job {self.job} is queued; Ctrl-C removes it")
        master = self._started()
        self.is_queued = False
        self.invocation.note(f"job {self.job} runs; exit its program to end it")
        try:
            is_over = _converse(master)
        finally:
            os.close(master)
        return self._ended() if is_over else 128 + signal.SIGHUP

    def leave(self) -> None:
        """Remove the job if it does not run."""
        self.listener.close()
        if self.is_queued:
            from fairq.errors.base import FairqError
            from fairq.steps.jobs.selection import selection_of

            # The job may be gone already; if this fails, the next cycle removes it, because its terminal is closed.
            with suppress(FairqError):
                editor, _ = job_editor(self.invocation, None, "fairq shell was ended", dry_run=False)
                editor.remove(selection_of([self.job]), "fairq shell was ended")

    def _started(self) -> int:
        """Return the master side of the job's terminal, once it runs."""
        from fairq.steps.launch.shell import take

        next_look, next_forecast, last_note = time.monotonic() + _LOOK, 0.0, ""
        while True:
            timeout = max(0.0, next_look - time.monotonic())
            if select.select([self.listener], [], [], timeout)[0]:
                master = take(self.listener, _window_size())
                if master is not None:
                    return master
            if time.monotonic() < next_look:
                continue
            job = self._look()
            if job.status in (JobStatus.IDLE, JobStatus.WAITING) and time.monotonic() >= next_forecast:
                if (note := self._place()) != last_note:
                    self.invocation.note(note)
                    last_note = note
                next_forecast = time.monotonic() + _FORECAST
            next_look = time.monotonic() + _LOOK

    def _look(self, *, collecting: bool = False) -> JobRange:
        """Return the job; raises ShellEndedError if it is held or has left the queue without running."""
        job = self._find(collecting=collecting)
        if job is None:
            from fairq.steps.launch.shell import ending_of

            self.is_queued = False
            raise ShellEndedError(job=self.job, reason=ending_of(self.invocation.state_path, self.cluster)[1])
        if job.status == JobStatus.HELD:
            raise ShellEndedError(job=self.job, reason=job.reason or "it was held")
        return job

    def _find(self, *, collecting: bool = False) -> JobRange | None:
        from fairq.steps.launch.shell import shell_job

        invocation = self.invocation
        actor = invocation.actor(invocation.now())
        return shell_job(invocation.state_path, invocation.settings, self.cluster, actor, collecting=collecting)

    def _place(self) -> str:
        from fairq.steps.simulate.starts import starts

        invocation = self.invocation
        forecast = starts(invocation.state_path, invocation.settings, invocation.now())
        start = forecast.start_of("", self.cluster, 0)
        if start is None or start.place is None:
            return f"job {self.job} waits; 'fairq why {self.job}' shows why"
        when = "" if start.likely is None else f", start about {moment.brief(start.likely)}"
        return f"job {self.job} waits: place {start.place} in line{when}"

    def _ended(self) -> int:
        """Return the exit code of the job, whose terminal is closed; raises ShellEndedError."""
        from fairq.steps.launch.shell import ending_of

        begin, is_told = time.monotonic(), False
        while (job := self._find(collecting=True)) is not None:
            if job.status != JobStatus.RUNNING:
                self.is_queued = True
                raise ShellEndedError(job=self.job, reason=job.reason or "its slot was taken")
            if time.monotonic() > begin + _SOON and not is_told:
                self.invocation.note(f"waiting until the pool has recorded the end of job {self.job}")
                is_told = True
            time.sleep(_NAP)
        code, reason = ending_of(self.invocation.state_path, self.cluster)
        if reason:
            raise ShellEndedError(job=self.job, reason=reason)
        return code


def _window_size() -> bytes:
    return fcntl.ioctl(sys.stdin.fileno(), termios.TIOCGWINSZ, bytes(8))


def _converse(master: int) -> bool:
    """Connect this terminal to that of a job; return whether the job's was closed, and not this one."""
    keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()

    def resize(_number: int, _frame: object) -> None:
        with suppress(OSError):
            fcntl.ioctl(master, termios.TIOCSWINSZ, _window_size())

    former = signal.signal(signal.SIGWINCH, resize)
    os.set_blocking(master, False)
    typed = b""
    try:
        with guarded_terminal():
            tty.setraw(keyboard)
            resize(0, None)
            while True:
                readable, writable, _ = select.select(
                    [master, *([] if len(typed) > _PART else [keyboard])], [master] if typed else [], []
                )
                if master in readable:
                    if (printed := _read(master)) == b"":
                        return True
                    _write_all(screen, printed or b"")
                if keyboard in readable:
                    if not (keys := _read(keyboard)):
                        return False
                    typed += keys
                if writable:
                    with suppress(BlockingIOError):
                        typed = typed[os.write(master, typed) :]
    finally:
        signal.signal(signal.SIGWINCH, former)


def _read(terminal: int) -> bytes | None:
    """Return the bytes to read from *terminal*; empty if it is closed, None if there are none yet."""
    try:
        return os.read(terminal, _PART)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise


def _write_all(screen: int, content: bytes) -> None:
    while content:
        content = content[os.write(screen, content) :]
