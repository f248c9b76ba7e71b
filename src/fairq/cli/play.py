"""Play a demo: the real commands, each after a line that explains it, on a scratch state."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fairq.cli.invocation import Invocation
from fairq.cli.options import valued
from fairq.cli.output import Output, View, emit
from fairq.common import files
from fairq.errors.pool import DemoError

if TYPE_CHECKING:
    from fairq.steps.demo_scene import Demo

Keep = Annotated[
    Path | None,
    valued("--keep", "Use this new directory and keep it.", "DIR"),
]
"""``keep: Keep = None``; pass it to `play`."""


def play(invocation: Invocation, demo: Demo, keep: Path | None) -> None:
    """Play *demo* in a scratch directory, or in the new directory *keep*, which stays.

    Raises DemoError.
    """
    if keep is None:
        with files.draft(Path(tempfile.gettempdir())) as scratch:
            _play(invocation, demo, scratch)
        return
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        reason = f"{keep} cannot be created: {(error.strerror or str(error)).lower()}"
        raise DemoError(reason=reason, cure="give --keep a new directory in a place you may write to") from None
    _play(invocation, demo, keep)
    invocation.note(f"the scratch state is {keep / 'state.db'}: fairq --state {keep / 'state.db'} {demo.look}")


def _play(invocation: Invocation, demo: Demo, scratch: Path) -> None:
    import shlex
    import subprocess
    import sys

    scratch = scratch.resolve()
    settings = scratch / "fairq.toml"
    for name, content in {settings.name: demo.settings, **demo.files}.items():
        (scratch / name).parent.mkdir(exist_ok=True)
        files.write(scratch / name, content.encode())
    environment = {
        **{name: value for name, value in invocation.environment.items() if not name.startswith("FAIRQ_")},
        "FAIRQ_STATE": str(scratch / "state.db"),
        "FAIRQ_CONFIG": str(settings),
    }
    for number, scene in enumerate(demo.scenes):
        lines = [scene.sentence, f"$ {shlex.join(['fairq', *scene.words])}"]
        emit(View(text="\n".join([""] * bool(number) + lines)), Output())
        sys.stdout.flush()
        # -P: import nothing from the directory that the command runs in. Without a terminal to read from, none asks.
        line = [sys.executable, "-P", "-m", "fairq", *scene.words]
        ended = subprocess.run(line, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, check=False)
        if ended.returncode:
            reason = f"'fairq {shlex.join(scene.words)}' ended with {ended.returncode}"
            raise DemoError(reason=reason, cure="read its message above")
