"""A terminal of tmux in which a test types, and whose screen it reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.launch.conftest import until

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PROMPT = "ready$"


class Terminal:
    """One window of a tmux of its own, with a shell; ``fairq`` is a function of it."""

    def __init__(self, directory: Path, state: Path, columns: int, lines: int, **variables: str) -> None:
        self._server = directory / "tmux"
        rc = directory / "rc"
        rc.write_text(f"PS1='{PROMPT} '; fairq() {{ {sys.executable} -m fairq \"$@\"; }}\n")
        names = {"FAIRQ_STATE": str(state), "HOME": str(directory), "SHELL": "/bin/sh", "ENV": str(rc), **variables}
        self._tmux(
            "new-session", "-d", "-x", columns, "-y", lines, "-c", directory,
            *(word for name, value in names.items() for word in ("-e", f"{name}={value}")), "/bin/sh",
        )  # fmt: skip
        self._tmux("set-option", "remain-on-exit", "on")
        self.shows(PROMPT)

    def _tmux(self, *words: object) -> str:
        called = ["tmux", "-S", str(self._server), "-f", "/dev/null", *map(str, words)]
        environment = {**os.environ, "SHELL": "/bin/sh"}  # tmux runs its commands with it
        return subprocess.run(called, check=True, capture_output=True, text=True, env=environment).stdout

    def type(self, text: str) -> None:
        """Type *text* and Enter."""
        self._tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", columns, "-y", lines)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p").rstrip()

    def shows(self, text: str) -> str:
        """Wait until the screen has *text*; return the screen."""
        try:
            until(lambda: text in self.screen(), repr(text))
        except AssertionError:
            raise AssertionError(f"{text!r} is not on the screen:\n{self.screen()}") from None
        return self.screen()

    def clear(self) -> None:
        self.type("clear")
        until(lambda: self.screen() == PROMPT, "a clear screen")

    def device(self) -> str:
        return self._tmux("display-message", "-p", "#{pane_tty}").strip()

    def modes(self) -> str:
        """Return the modes of the terminal."""
        return subprocess.run(["stty", "-g", "-F", self.device()], check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        self._tmux("kill-server")


@contextmanager
def terminal(directory: Path, state: Path, columns: int = 80, lines: int = 24, **variables: str) -> Iterator[Terminal]:
    """Open a terminal for the body."""
    directory.mkdir(exist_ok=True)
    # The path of its socket must be short.
    found = Terminal(directory, state, columns, lines, **{"PYTHONDONTWRITEBYTECODE": "", **variables})
    try:
        yield found
    finally:
        found.close()


def process_of(state: Path, word: str) -> int:
    """Return the process that runs ``fairq`` *word* on *state*."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            named = f"FAIRQ_STATE={state}".encode() in (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if named and word.encode() in words and b"fairq" in words and int(place.name) != os.getpid():
            return int(place.name)
    return 0
