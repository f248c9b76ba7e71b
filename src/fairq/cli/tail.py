"""``fairq tail``: the output of jobs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Annotated

from msgspec import Struct
from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.options import valued
from fairq.cli.tools import TAIL
from fairq.errors.base import UsageError
from fairq.errors.launch import NoOutputError, NoRunError
from fairq.errors.pool import InvalidJobIdError

app = App()

_MAX_JOBS = 100

_NAP = 0.25
_TAIL_BYTES = 1 << 20
"""Number of bytes at the end of a file that are searched for its last lines."""


@app.command(
    dialect=TAIL,
    examples="""
        fairq tail 7.3             # the last lines of its output
        fairq tail 7.3 -f          # continue to print until the job ends
        fairq tail 7.0-9 8 -f      # several jobs, each part below the name of its job
        fairq tail 7.3 --err       # the last lines of its standard error
    """,
)
def tail(
    context: Context,
    jobs: Annotated[
        list[str], Argument(metavar="JOB...", help="Job (7.0) or jobs (7.0-99); a cluster (7) means job 7.0.")
    ],
    follow: Annotated[bool, Option("-f", "--follow", help="Continue to print until the jobs end.")] = False,
    error: Annotated[bool, Option("--err", help="Print standard error, not standard output.")] = False,
    lines: Annotated[int, valued("-n --lines", "Number of lines.", "N", min=0)] = 10,
) -> None:
    """Print the end of the output of a job's last run, or of several jobs' runs.

    With several jobs, a line with the name of the job is above each part. Jobs that have not run yet are left out; with
    -f, their output follows when they run.

    On a terminal, control characters are printed as escapes. A pipe gets the bytes as they are.
    """
    invocation = context.obj
    chosen = _parse_jobs(jobs)
    outputs = [_Output(invocation.existing_state, cluster, proc, error) for cluster, proc in chosen]
    writer = _Writer(with_names=len(outputs) > 1)
    with ExitStack() as opened:
        for job_output in outputs:
            try:
                job_output.open(opened)
                writer.write(job_output.job, job_output.last_lines(lines))
            except (NoRunError, NoOutputError) as problem:
                if len(outputs) == 1 or (isinstance(problem, NoOutputError) and follow):
                    raise
                invocation.note(str(problem))
        while follow and outputs:
            outputs = [job_output for job_output in outputs if not _print_new_output(job_output, opened, writer)]
            if outputs:
                time.sleep(_NAP)


def _parse_jobs(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return cluster and proc of each job; a cluster is its job 0. Raises InvalidJobIdError, UsageError for many."""
    from fairq.steps.jobs.selection import parse_targets

    chosen: dict[tuple[int, int], None] = {}
    for target in parse_targets(words):
        if target.cluster is None:
            raise InvalidJobIdError(value=target.text)
        first = target.first_proc or 0
        last = first if target.last_proc is None else target.last_proc
        if last - first + len(chosen) >= _MAX_JOBS:
            raise UsageError(message=f"the output of at most {_MAX_JOBS} jobs is shown at once; name fewer")
        chosen |= dict.fromkeys((target.cluster, proc) for proc in range(first, last + 1))
    return list(chosen)


def _print_new_output(job_output: _Output, opened: ExitStack, writer: _Writer) -> bool:
    """Write the new output of a job; return whether its run has ended."""
    if job_output.file is None:
        with suppress(NoRunError):
            job_output.open(opened)
        if job_output.file is None:
            return False
    # Check this before the last read, so that all output written before the end is shown.
    is_over = job_output.has_ended()
    while part := job_output.read():
        writer.write(job_output.job, part)
    return is_over


class _Output(Struct, dict=True):
    """The output, or the *error* output, of a job's last run."""

    state: Path
    cluster: int
    proc: int
    error: bool
    file: IO[bytes] | None = None

    @property
    def job(self) -> str:
        return f"{self.cluster}.{self.proc}"

    def open(self, opened: ExitStack) -> None:
        """Open the file; raises NoRunError, NoOutputError."""
        from fairq.steps.launch.output import open_output, output_of

        path = output_of(self.state, self.cluster, self.proc, error=self.error)
        descriptor = open_output(path, self.job, "error output" if self.error else "output")
        self.file = opened.enter_context(os.fdopen(descriptor, "rb"))

    def last_lines(self, count: int) -> bytes:
        """Return the last lines, and go to the end of the file."""
        assert self.file is not None
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(0, size - _TAIL_BYTES))
        return _last_lines(self.file.read(size - self.file.tell()), count)

    def read(self) -> bytes:
        """Return the next bytes of the file; begin again if the file has become shorter."""
        assert self.file is not None
        if os.fstat(self.file.fileno()).st_size < self.file.tell():
            self.file.seek(0)
        return self.file.read(1 << 16)

    def has_ended(self) -> bool:
        from fairq.steps.launch.output import has_ended

        return has_ended(self.state, self.cluster, self.proc)


class _Writer:
    """Writes parts of outputs; with names, a line above a part names its job, unless it continues the former part."""

    def __init__(self, *, with_names: bool) -> None:
        self._with_names = with_names
        self._job = ""
        self._end = b""

    def write(self, job: str, content: bytes) -> None:
        if self._with_names and job != self._job:
            gap = b"" if not self._job else b"\n" if self._end == b"\n" else b"\n\n"
            write(gap + f"==> {job} <==\n".encode())
            self._job, self._end = job, b"\n"
        write(content)
        self._end = content[-1:] or self._end


def _last_lines(content: bytes, count: int) -> bytes:
    lines = content.split(b"\n")
    # The text after the last line end is a line only if it is not empty.
    number = count + (1 if lines[-1] == b"" else 0)
    return b"\n".join(lines[-number:]) if count else b""


def write(content: bytes) -> None:
    """Write bytes of a job's output to stdout; on a terminal, control characters are escaped."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    from fairq.cli.output.text import escape

    sys.stdout.write(escape(content.decode("utf-8", "surrogateescape"), keep="\n\t"))
    sys.stdout.flush()
