"""The screens above that of ``fairq top``: a question, a text, and the output of another command."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import RichLog, Static

_CLOSE = "escape,q,enter"
_PART = 1 << 16
_MOST_LINES = 10_000


class Question(ModalScreen[bool]):
    """A question that y answers with yes, and other keys with no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("n,escape,q,enter", "answer(False)", show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question."""
        yield Static(Text(f"{self._question} [y/N]"), id="question")

    def action_answer(self, yes: bool) -> None:
        """Give the answer back."""
        self.dismiss(yes)


class Page(ModalScreen[None]):
    """A text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(_CLOSE, "dismiss", show=False)]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the text."""
        with VerticalScroll(id="page"):
            yield Static(Text(self._text))


class Printed(ModalScreen[None]):
    """The output of a command of fairq on a terminal of its own; the command ends with the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(_CLOSE, "close", show=False)]

    def __init__(self, words: Sequence[str], title: str, *, follow: bool = False) -> None:
        super().__init__()
        self._words, self._title, self._is_followed = words, title, follow
        self._process: subprocess.Popen[bytes] | None = None

    def compose(self) -> ComposeResult:
        """Show the title, and the lines below it."""
        yield Static(Text(self._title, style="reverse"), id="title")
        yield RichLog(id="log", max_lines=_MOST_LINES, wrap=False, auto_scroll=True)

    def on_mount(self) -> None:
        """Start the command."""
        self.query_one(RichLog).focus()
        self._follow(self.app.size.width, self.app.size.height)

    @work(thread=True, exit_on_error=False)
    def _follow(self, width: int, height: int) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", height, width, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairq", "-q", *self._words],
            stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        incomplete = b""
        with suppress(OSError):  # the end
            while part := os.read(master, _PART):
                *lines, incomplete = (incomplete + part).split(b"\n")
                if lines:
                    self.app.call_from_thread(
                        self._write, [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
                    )
        os.close(master)
        self._process.wait()
        self.app.call_from_thread(
            self._write, [incomplete.decode("utf-8", "replace")] if incomplete else [], is_over=True
        )

    def _write(self, lines: Sequence[str], *, is_over: bool = False) -> None:
        if not self.is_attached:
            return
        log = self.query_one(RichLog)
        for line in lines:
            log.write(Text.from_ansi(line), scroll_end=self._is_followed)
        if is_over:
            self.query_one("#title", Static).update(Text(f"{self._title} (end)", style="reverse"))

    def action_close(self) -> None:
        """End the command and the screen."""
        if self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGTERM)
        self.dismiss()
