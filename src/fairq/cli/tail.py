"""``fairq tail``: the output of a job."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

from typer import Argument, Option

from fairq.cli.command import App, Context
from fairq.cli.tools import TAIL
from fairq.errors.pool import InvalidJobIdError

app = App()

_NAP = 0.25
_MOST = 1 << 20
"""Number of bytes at the end of a file that are searched for its last lines."""


@app.command(
    dialect=TAIL,
    examples="""
        fairq tail 7.3             # the last lines of its output
        fairq tail 7.3 -f          # continue to print until the job ends
        fairq tail 7.3 --err       # the last lines of its standard error
    """,
)
def tail(
    context: Context,
    job: Annotated[str, Argument(metavar="JOB", help="Job (7.0); a cluster (7) means job 7.0.")],
    follow: Annotated[bool, Option("-f", "--follow", help="Continue to print until the job ends.")] = False,
    error: Annotated[bool, Option("--err", help="Print standard error, not standard output.")] = False,
    lines: Annotated[int, Option("-n", "--lines", metavar="N", min=0, help="Number of lines.")] = 10,
) -> None:
    """Print the end of the output of a job's last run.

    On a terminal, control characters are printed as escapes. A pipe gets the bytes as they are.
    """
    from fairq.steps.launch.output import has_ended, open_output, output_of

    invocation = context.obj
    cluster, proc = one_job(job)
    name = f"{cluster}.{proc}"
    place = output_of(invocation.existing_state, cluster, proc, error=error)
    descriptor = open_output(place, name, "error output" if error else "output")
    with os.fdopen(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MOST))
        write(_last_lines(file.read(size - file.tell()), lines))
        while follow:
            # Read before the last look at the output: output written before the end is shown.
            is_over = has_ended(invocation.state_path, cluster, proc)
            if os.fstat(file.fileno()).st_size < file.tell():
                file.seek(0)
            while part := file.read(1 << 16):
                write(part)
            if is_over:
                return
            time.sleep(_NAP)


def one_job(text: str) -> tuple[int, int]:
    """Return cluster and proc of a job; a cluster is its job 0. Raises InvalidJobIdError."""
    from fairq.steps.jobs.selection import parse_targets

    (target,) = parse_targets([text])
    if target.cluster is None or (target.first_proc is not None and not target.is_one_job):
        raise InvalidJobIdError(value=text)
    return target.cluster, target.first_proc or 0


def _last_lines(content: bytes, count: int) -> bytes:
    kept = content.split(b"\n")
    # The text after the last line end is a line only if it is not empty.
    number = count + (1 if kept[-1] == b"" else 0)
    return b"\n".join(kept[-number:]) if count else b""


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
