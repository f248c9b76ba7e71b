"""``fairq demo``: a worked example on a scratch state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.output import Output, View, emit
from fairq.errors.pool import DemoError

app = App()


@app.command(
    examples="""
    fairq demo                     # use a scratch state only
    fairq demo --keep ~/fairq-demo # keep the state to look at it afterwards
"""
)
def demo(
    invocation: Invocation,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Use this new directory and keep it."),
    ] = None,
) -> None:
    """Show a day of a small pool on a scratch state.

    Each step shows a real command and its output. Two users have priority factors of 1000 and 2000. The demo runs
    cycles, shows usage and priorities and their decay after a week, changes a factor, and deletes a record.
    """
    import tempfile

    from fairq import files

    if keep is None:
        with files.draft(Path(tempfile.gettempdir())) as scratch:
            _play(invocation, scratch)
        return
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        reason = f"{keep} cannot be created: {(error.strerror or str(error)).lower()}"
        raise DemoError(reason=reason, cure="give --keep a new directory in a place you may write to") from None
    _play(invocation, keep)
    invocation.note(f"the scratch state is {keep / 'state.db'}: fairq --state {keep / 'state.db'} queue")


def _play(invocation: Invocation, scratch: Path) -> None:
    import shlex
    import subprocess
    import sys

    from fairq import files
    from fairq.steps.demo import SCENES, SETTINGS

    settings = scratch / "fairq.toml"
    files.write(settings, SETTINGS.encode())
    environment = {
        **{name: value for name, value in invocation.environment.items() if not name.startswith("FAIRQ_")},
        "FAIRQ_STATE": str(scratch / "state.db"),
        "FAIRQ_CONFIG": str(settings),
    }
    for number, scene in enumerate(SCENES):
        lines = [scene.told, f"$ {shlex.join(['fairq', *scene.words])}"]
        emit(View(text="\n".join([""] * bool(number) + lines)), Output())
        sys.stdout.flush()
        # -P: nothing is imported from the directory that the user happens to be in.
        ended = subprocess.run([sys.executable, "-P", "-m", "fairq", *scene.words], env=environment, check=False)
        if ended.returncode:
            reason = f"'fairq {shlex.join(scene.words)}' ended with {ended.returncode}"
            raise DemoError(reason=reason, cure="read its message above")
