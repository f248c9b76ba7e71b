"""The console entry, and the conventions of the command line.

**A command** is one module ``fairq/cli/<name>.py`` (``import_.py`` for the keyword), registered by name,
module and one-line help in ``fairq.cli.registry.REGISTRY``; only the called command's module is imported. The
module defines ``app``::

    from fairq.cli.command import App
    from fairq.cli.invocation import Invocation
    from fairq.cli.options import DryRun, Now
    from fairq.cli.output import Column, Output, Table, View, emit

    app = App()

    @app.command(examples='''
        fairq negotiate               # one cycle, as cron runs it
        fairq negotiate --dry-run     # only show what it would decide
    ''')
    def negotiate(invocation: Invocation, output: Output, now: Now = None, dry_run: DryRun = False) -> None:
        \"\"\"Run one negotiation cycle.

        The further paragraphs are the manual's description.
        \"\"\"
        from fairq.steps.cycle.negotiate import negotiate as step

        time = invocation.now(now)
        result = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run)
        columns = [Column("Submitter", "Name"), Column("Got", "Matched")]
        emit(View(tables=[Table(columns, result.records)]), output)

- A parameter annotated `Invocation` is passed in: ``state_path``, ``settings``, ``now(given)``,
  ``actor(time)`` (operating-system user and command line, for the history), ``note(text)`` and
  ``detail(text)`` for stderr.
- A parameter annotated `Output` stands for all output options; pass it to ``emit(View, output)``.
  ``output.constraint`` is the joined ``--constraint``; a step that applies it itself says so by
  ``Table(constrained=True)``. A command that reports one thing takes `Report` instead, which has no
  ``--constraint``, and emits ``View(text=..., document={...})``.
- Everything else is declared as Typer does, but by ``Option`` and ``Argument`` of ``fairq.cli.options``: no command
  imports Typer, and a plain line needs none (``fairq.cli.plain``). Shared types are there, too: ``now: Now = None``,
  ``dry_run: DryRun = False``, ``constraint: Constraint = None`` (for commands that change things; see ``joined``),
  ``time_of("--at")`` and ``duration_of("--prune")`` as ``parser=``.
- Several commands in one module: ``app = App(help="The slots of the pool.", default="list")``, then
  ``@app.command("add")``, ``@app.command("list")``, ...; *default* runs when no inner command is named.
- ``--state``, ``--config``, ``-q``, ``-v``, ``--version`` are added to every command; declare none of them.
- A command whose words need a rewrite first is registered with it, ``@app.command(rewrite=function)``, or with the
  *dialect* of HTCondor's tool (userprio's single dashes).
- Wrong input raises a `FairqError`. A command that has told all, but is to end with another code than 0, raises
  ``SystemExit``. Nothing below the commands does, and nothing prints. Import steps, NumPy and the like inside the
  function: the module itself is read for help and completion.

**Exit**: 0 done; a `FairqError`'s own code; 2 for wrong use; 1 for anything unforeseen; 130 interrupted; 141
when the reader of stdout closed it, without a message, as shells report for ``yes | head -1``.

**What is stored is never reported as failed.** A command writes to stdout only after its change is stored
(``fairq.committed``). If the output then fails, the code is that of DoneNotShownError; if its reader closed it, 0.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairq import committed, interrupts
from fairq.cli import streams
from fairq.cli.version import show_version
from fairq.errors import alerts
from fairq.errors.base import CycleUnderWayError, DoneNotShownError, FairqError, OutputError

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation

CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error ends as one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    committed.begin()
    try:
        streams.prepare()
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0 if committed.happened() else CLOSED_PIPE
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
    # Two frequent requests of scripts and shells are answered without the parser.
    if words == ["--version"]:
        show_version()
        return 0
    if words[:1] == ["_complete"]:
        from fairq.cli.completion import complete

        complete(words[1:])
        return 0
    from fairq.cli.invocation import Invocation
    from fairq.cli.output.messages import NOTE, tell_error
    from fairq.cli.plain import plain_call
    from fairq.waiting import LISTENER

    invocation = Invocation(arguments=words)
    LISTENER.set(invocation.note_wait)
    NOTE.set(invocation.note)
    alerts.LISTENER.set(tell_error)
    try:
        call = plain_call(words, invocation)
        if call is None:
            return _parsed(words, invocation)
        interrupts.as_usual()
        call()
    except CycleUnderWayError as error:
        if invocation.quiet:  # the next cron run does the work: send no mail
            return error.exit_code
        raise
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def _parsed(words: list[str], invocation: Invocation) -> int:
    """Run a command line that Typer parses, and return its exit code."""
    import typer

    from fairq.cli.tree import Root

    root = Root()
    try:
        with root.make_context("fairq", words, obj=invocation) as context:
            interrupts.as_usual()
            root.invoke(context)
    except typer.Exit as end:
        return end.exit_code
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
    if not committed.happened() or (isinstance(error, FairqError) and not isinstance(error, OutputError)):
        return error
    reason = error.fields["reason"] if isinstance(error, OutputError) else _other_error(error)[0]
    return DoneNotShownError(reason=reason)


def _usage_error(error: BaseException) -> tuple[str, int] | None:
    """Return message and exit code of a parser error, or None for any other error."""
    if "typer" not in sys.modules:
        return None
    from typer.exceptions import TyperException

    from fairq.cli.parser import in_words

    if not isinstance(error, TyperException):
        return None
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        with contextlib.suppress(OSError):
            sys.stderr.write(message + "\n")
        return "", error.exit_code
    hint = f"; try '{context.command_path} --help'" if context is not None else ""
    message = message.rstrip(".?").replace(". Did you mean ", "; perhaps ")
    message = re.sub(r"is not a valid int(eger)?\b( range)?", "is not a whole number", message)
    message = message.replace("is not a valid float", "is not a number")
    message = re.sub(r"is not in the range (.*)", lambda of: f"is out of range; give {in_words(of[1])}", message)
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
