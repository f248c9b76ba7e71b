"""fairq's command line in this process, with nothing of the user's own in sight."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock


class CommandFailedError(Exception):
    """A command of a case ended with an error; its message is that of fairq."""


class CommandLine:
    """Runs commands on the state file *state*."""

    def __init__(self, state: Path) -> None:
        """Nothing is created before the first command."""
        self.state = state

    def run(self, *words: object) -> str:
        """Return what the command prints; raises CommandFailedError if its exit code is not 0."""
        from fairq.cli.app import main

        out, err = io.StringIO(), io.StringIO()
        arguments = ["--state", str(self.state), *map(str, words)]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        if code:
            command = next(str(word) for word in words)
            raise CommandFailedError(f"{command} ended with {code}: {err.getvalue().strip()}")
        return out.getvalue()

    def json(self, *words: object) -> Any:
        """Return what the command prints, read as JSON."""
        return json.loads(self.run(*words, "--json"))


@contextlib.contextmanager
def scratch() -> Iterator[CommandLine]:
    """Give a command line with a state file and a home of its own, which go away at the end."""
    with tempfile.TemporaryDirectory(prefix="fairq-golden-") as folder:
        home = Path(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FAIRQ_")}
        environment["HOME"] = folder
        for kind in ("STATE_HOME", "CONFIG_HOME", "CONFIG_DIRS", "DATA_HOME", "CACHE_HOME"):
            environment[f"XDG_{kind}"] = str(home / kind.lower())
        with mock.patch.dict(os.environ, environment, clear=True):
            yield CommandLine(home / "state.db")
