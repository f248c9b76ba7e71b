"""The console entry; ``fairq.cli.command`` explains how commands are declared.

**Exit**: 0 done; a `FairqError`'s own code; 2 for wrong use; 1 for anything unforeseen; 130 interrupted; 141
when the reader of stdout closed it, without a message, as shells report for ``yes | head -1``.

**A stored change is never reported as failed.** A command writes to stdout only after its change is stored
(``fairq.common.commit``). If the output then fails, the code is that of DoneNotShownError; if its reader closed it, 0.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence

from fairq.cli import streams
from fairq.common import commit, interrupts
from fairq.errors import alerts
from fairq.errors.base import CycleUnderWayError, DoneNotShownError, FairqError, OutputError

CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error ends as one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    commit.begin()
    try:
        streams.prepare()
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0 if commit.happened() else CLOSED_PIPE
    except BaseException as error:
        with _uninterrupted():
            if isinstance(error, KeyboardInterrupt):
                streams.drop_output()
            code = _report(error)
    streams.close()
    return code


def _run(words: list[str]) -> int:
    if sys.stdin is None:  # closed by the caller (<&-): no file opened later may get descriptor 0
        os.open(os.devnull, os.O_RDONLY)
    if words[:1] == ["_complete"]:
        from fairq.cli.completion import complete

        complete(words[1:])
        return 0
    import typer

    from fairq.cli.invocation import Invocation
    from fairq.cli.output.messages import NOTE, tell_error
    from fairq.cli.registry import root
    from fairq.common.lock_wait import LISTENER

    invocation = Invocation()
    LISTENER.set(invocation.note_wait)
    NOTE.set(invocation.note)
    alerts.LISTENER.set(tell_error)
    command = root()
    try:
        with command.make_context("fairq", words, obj=invocation) as context:
            command.invoke(context)
    except typer.Exit as end:
        return int(end.exit_code)
    except CycleUnderWayError as error:
        if invocation.quiet:  # the next cron run does the work: send no mail
            return error.exit_code
        raise
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore interrupts during the one-line report of an error."""
    try:
        former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # only the main thread is interrupted, and this is another one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _report(error: BaseException) -> int:
    """Print *error* in one line on stderr and return the exit code."""
    from fairq.cli.output.messages import tell_error

    if os.environ.get("FAIRQ_DEBUG"):
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exception(error)
    message, code = _usage_error(error) or _other_error(_after_commit(error))
    if message:
        tell_error(message)
    return code


def _after_commit(error: BaseException) -> BaseException:
    """Return the error to report: a stored change must be mentioned, unless *error* does so itself."""
    if not commit.happened() or (isinstance(error, FairqError) and not isinstance(error, OutputError)):
        return error
    reason = error.fields["reason"] if isinstance(error, OutputError) else _other_error(error)[0]
    return DoneNotShownError(reason=reason)


def _usage_error(error: BaseException) -> tuple[str, int] | None:
    """Return message and exit code of a parser error, or None for any other error."""
    from typer.exceptions import TyperException

    from fairq.cli.options import ranges_in_words

    if not isinstance(error, TyperException):
        return None
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        with contextlib.suppress(OSError):
            sys.stderr.write(message + "\n")
        return "", error.exit_code
    hint = f"; try '{context.command_path} --help'" if context is not None else ""
    message = message.rstrip(".")
    message = re.sub(r"is not a valid int(eger)?\b( range)?", "is not a whole number", message)
    message = message.replace("is not a valid float", "is not a number")
    message = re.sub(r"(?s)^Got unexpected extra argument\(s\) \((.*)\)", r"unexpected argument: \1", message)
    message = re.sub(r"^Invalid value for '\[([A-Z]+)\]'", r"Invalid value for \1", message)
    message = re.sub(
        r"is not in the range (.*)", lambda match: f"is out of range; give {ranges_in_words(match[1])}", message
    )
    return message[:1].lower() + message[1:] + hint, error.exit_code


def _other_error(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", interrupts.INTERRUPTED
    if isinstance(error, FairqError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "out of memory", 1
    if isinstance(error, RecursionError):
        return "something in the input is nested too deeply", 1
    if isinstance(error, OSError):
        names = [os.fsdecode(name) if isinstance(name, bytes) else str(name)
                 for name in (error.filename, error.filename2) if name is not None]  # fmt: skip
        return ": ".join([*names, error.strerror or str(error) or type(error).__name__]), 1
    cure = "'fairq state check' shows whether the state is damaged; FAIRQ_DEBUG=1 prints a traceback"
    return f"internal error: {type(error).__name__}: {error}; {cure}", 1
