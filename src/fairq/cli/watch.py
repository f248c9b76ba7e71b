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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from fairq import committed
from fairq.cli.options import parse_duration
from fairq.cli.output.messages import tell_error
from fairq.errors.base import FairqError, InvalidNumberError, UsageError
from fairq.quantities import shown_duration

_OTHER_SCREEN, _BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class _Frame(io.StringIO):
    """Captures what a command prints; the command takes it for the terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return that this is a terminal: the output is drawn on one."""
        return True


def watch(show: Callable[[], None], text: str, title: str) -> None:
    """Redraw what *show* prints, at the interval in *text*, until q is pressed.

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
    with _screen(stdout):
        while not committed.happened():
            lines = _printed(show)
            stdout.write(_drawn(lines, head))
            stdout.flush()
            if not committed.happened() and _is_ended(seconds):
                return
    # The command has changed the state: this must happen only once.
    stdout.write("\n".join(lines))


def _printed(show: Callable[[], None]) -> list[str]:
    """Return the lines that a command prints, on stdout or stderr."""
    frame = _Frame()
    with redirect_stdout(frame), redirect_stderr(frame):
        try:
            show()
        except FairqError as error:
            tell_error(error)
    return frame.getvalue().split("\n")


def _drawn(lines: list[str], head: str) -> str:
    """Return the screen: the head with the time, then *lines*, cut to the terminal's height."""
    size = shutil.get_terminal_size()
    left = size.lines - 2
    if len(lines) > left:
        lines = [*lines[: left - 1], f"... {len(lines) - left} more lines"]
    shown = [f"{time.strftime('%H:%M:%S')}  {head}"[: size.columns], "", *lines]
    return _HOME + "\n".join(line + _REST_OF_LINE for line in shown).replace("\n", "\r\n") + _REST


@contextmanager
def _screen(stream: TextIO) -> Iterator[None]:
    """Draw on the terminal's alternate screen, without echo; the previous content is restored, also by SIGTERM."""
    keyboard = sys.stdin.fileno()
    former = termios.tcgetattr(keyboard)

    def end(number: int, _: object) -> None:
        # Not by the stream: the signal may have come while it is written to.
        os.write(stream.fileno(), _BACK.encode())
        termios.tcsetattr(keyboard, termios.TCSANOW, former)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    ended_by = signal.signal(signal.SIGTERM, end)
    try:
        tty.setcbreak(keyboard)
        stream.write(_OTHER_SCREEN)
        yield
    finally:
        stream.write(_BACK)
        stream.flush()
        termios.tcsetattr(keyboard, termios.TCSADRAIN, former)
        signal.signal(signal.SIGTERM, ended_by)


def _is_ended(seconds: float) -> bool:
    """Wait; return whether a quit key was pressed. Any other key redraws."""
    keyboard = sys.stdin.fileno()
    if not select.select([keyboard], [], [], seconds)[0]:
        return False
    keys = os.read(keyboard, 64)
    # The arrow keys also send an escape, followed by more characters.
    return not keys or keys[:1] in (b"q", b"Q", b"\x03") or keys == b"\x1b"
