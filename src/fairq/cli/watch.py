"""``--watch``: redraw a command's output in place until q is pressed."""

from __future__ import annotations

import io
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import TextIO

from fairq.cli.options import parse_duration
from fairq.cli.output.messages import tell_error
from fairq.common import commit
from fairq.common.quantities import counted, shown_duration
from fairq.errors.base import FairqError, InvalidNumberError, UsageError

_OTHER_SCREEN, _BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class _Frame(io.StringIO):
    """Captures the output of a command, which sees a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return that this is a terminal: the output is drawn on one."""
        return True


def watch(show: Callable[[], None], text: str, title: str) -> None:
    """Redraw the output of *show*, at the interval in *text*, until q is pressed.

    Raises:
        InvalidNumberError: *text* is no duration of a second or more.
        UsageError: there is no terminal.
    """
    seconds = parse_duration(text, "--watch")
    if seconds < 1:
        raise InvalidNumberError(what="--watch", value=text, expected="give 1 second or more")
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise UsageError(message="--watch needs a terminal; leave it out, and repeat the command as you need it")
    head = f"{title}, every {shown_duration(seconds)}; q ends"
    stdout = sys.stdout
    with _Screen(stdout) as screen:
        while not commit.happened():
            lines = _printed(show)
            screen.draw(_drawn(lines, head))
            if not commit.happened() and _is_ended(seconds):
                return
    # The command has changed the state: this must happen only once.
    stdout.writelines(f"{line}\n" for line in lines)


def _printed(show: Callable[[], None]) -> list[str]:
    """Return the lines that a command prints, on stdout or stderr."""
    frame = _Frame()
    with redirect_stdout(frame), redirect_stderr(frame):
        try:
            show()
        except FairqError as error:
            tell_error(error)
    return frame.getvalue().split("\n")[:-1]


def _drawn(lines: list[str], head: str) -> str:
    """Return the screen: the head with the time, then *lines*, without those before the last one that do not fit."""
    size = shutil.get_terminal_size()
    available = size.lines - 2
    if len(lines) > available:
        lines = [*lines[: available - 2], f"... {counted(len(lines) - available + 1, 'more line')}", lines[-1]]
    shown = [f"{time.strftime('%H:%M:%S')}  {head}"[: size.columns], "", *lines]
    return _HOME + "\n".join(line + _REST_OF_LINE for line in shown).replace("\n", "\r\n") + _REST


class _Screen:
    """The terminal's alternate screen, without echo.

    The previous content is restored at the end, when SIGTERM ends the process, and while Ctrl-Z has stopped it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._keyboard = sys.stdin.fileno()
        self._former = termios.tcgetattr(self._keyboard)
        self._drawn = ""

    def __enter__(self) -> _Screen:
        self._handlers = {
            number: signal.signal(number, self._handle_by_default) for number in (signal.SIGTERM, signal.SIGTSTP)
        }
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def draw(self, text: str) -> None:
        """Write *text* over the current content of the screen."""
        self._drawn = text
        self._stream.write(text)
        self._stream.flush()

    def _take(self) -> None:
        tty.setcbreak(self._keyboard)
        self._write(_OTHER_SCREEN + self._drawn)

    def _give_back(self) -> None:
        self._write(_BACK)
        termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._former)

    def _write(self, text: str) -> None:
        # Bypass the stream: a signal may have interrupted a write to it.
        os.write(self._stream.fileno(), text.encode(self._stream.encoding, "backslashreplace"))

    def _handle_by_default(self, number: int, _: object) -> None:
        """Restore the terminal and handle the signal *number* by default; after a stop, take the terminal again."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, self._handle_by_default)
        self._take()


def _is_ended(seconds: float) -> bool:
    """Wait; return whether a quit key was pressed. Any other key redraws."""
    keyboard = sys.stdin.fileno()
    if not select.select([keyboard], [], [], seconds)[0]:
        return False
    keys = os.read(keyboard, 64)
    # The arrow keys also send an escape, followed by more characters.
    return not keys or keys[:1] in (b"q", b"Q", b"\x03") or keys == b"\x1b"
