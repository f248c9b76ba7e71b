"""``fairq export``: export the pool."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.options import Now, valued
from fairq.cli.output.renderer import make_room
from fairq.common import files
from fairq.errors.base import UsageError
from fairq.errors.pool import UnwritableExportError

if TYPE_CHECKING:
    from fairq.steps.pool.export import Subject

app = App()


@app.command(
    examples="""
        fairq export --output pool.json         # the whole state, for fairq import
        fairq export --slots                    # as condor_status -json
        fairq export --jobs --long              # as condor_q -long
    """
)
def export(
    context: Context,
    slots: Annotated[bool, Option("--slots", help="Write slot ads, as condor_status does.")] = False,
    jobs: Annotated[bool, Option("--jobs", help="Write job ads, as condor_q does.")] = False,
    accounting: Annotated[bool, Option("--accounting", help="Write accounting ads, with real priorities.")] = False,
    json: Annotated[bool, Option("--json", help="Write JSON [default].")] = False,
    long: Annotated[bool, Option("--long", help="Write ads as 'Name = value' lines.")] = False,
    output: Annotated[str | None, valued("--output -o", "Write to FILE; - is stdout.", "FILE")] = None,
    now: Now = None,
) -> None:
    """Export the whole state as one JSON document, or slots, jobs or accounting records as HTCondor dumps.

    fairq import reads the output back. An existing FILE is replaced only once all data is written, and keeps its mode.
    The mode of a new FILE permits no more than that of the state file. A slot that runs a job has the attributes of a
    claimed slot (State, RemoteUser, JobId and so on).

    In JSON, a byte that is not UTF-8, for example in a file name, becomes an escape: 0xff is \\udcff. fairq import
    reads the byte back. The long format cannot hold these bytes.
    """
    invocation = context.obj
    chosen: list[Subject] = []
    if slots:
        chosen.append("slots")
    if jobs:
        chosen.append("jobs")
    if accounting:
        chosen.append("accounting")
    if len(chosen) > 1:
        raise UsageError(message=f"--{chosen[0]} and --{chosen[1]} are separate dumps; give only one")
    if json and long:
        raise UsageError(message="--json and --long exclude each other; give only one")
    if long and not chosen:
        raise UsageError(message="--long needs --slots, --jobs or --accounting; the whole state is always JSON")
    state = invocation.state_path
    with _target(output, state) as stream:
        if chosen:
            from fairq.steps.pool.export import export_dump

            export_dump(state, chosen[0], stream, long=long, now=invocation.now(now))
        else:
            from fairq.steps.pool.export import export_document

            export_document(state, stream)


@contextlib.contextmanager
def _target(name: str | None, state: Path) -> Iterator[IO[str]]:
    """Open the target, which must not be *state* itself; a file is replaced only once it is complete."""
    if name is None or name == "-":
        make_room()
        yield sys.stdout
        return
    if not name:
        raise UsageError(message="--output is empty; give a file, or - for stdout")
    try:
        target = files.followed(Path(name))
        if target == state.resolve():
            raise UnwritableExportError(
                target=name, reason="it is the state itself", cure="name another file with --output"
            )
        # Use the name, not the resolved target: /dev/stdout may link to a pipe, which has no path.
        if Path(name).exists() and not Path(name).is_file():
            with Path(name).open("w", encoding="utf-8") as stream:
                yield stream
            return
        with files.replacing(target, _mode(state)) as draft:
            text = io.TextIOWrapper(draft, encoding="utf-8")
            yield text
            text.detach()
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise UnwritableExportError(
            target=name, reason=reason[0].lower() + reason[1:], cure="name another file with --output"
        ) from None


def _mode(state: Path) -> int:
    """Return the mode of a new file, less the umask: users who may not read the state may not read the export."""
    try:
        return state.stat().st_mode & files.NEW_MODE
    except OSError:
        return files.NEW_MODE
