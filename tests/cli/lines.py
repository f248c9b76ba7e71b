"""What a command line means: the words that a command's parser gets, and the values that the command gets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fairq.cli.command import Command, Context
from fairq.cli.invocation import Invocation
from fairq.cli.registry import root


def read(name: str, words: Iterable[str]) -> list[str]:
    """Return *words* of the command with the full *name* as Typer's parser gets them."""
    command: Any = root()
    context = Context(command, info_name="fairq", **command.context_settings)
    for word in name.split():
        command = command.get_command(context, word)
        context = Context(command, info_name=word, parent=context, **command.context_settings)
    arguments = sum(parameter.param_type_name == "argument" for parameter in command.params)
    return list(command.reader(context).read(list(words), arguments if command.value_last else None))


def meaning(words: Iterable[str], patch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Return the command that a line calls, the values that it gets, and its global options."""
    found: list[tuple[Any, ...]] = []

    def note(_: Command, context: Any) -> None:
        call = context.obj
        found.append((context.command_path, context.params, call.state, call.config, call.quiet, call.verbose))

    with patch.context() as patched:
        patched.setattr(Command, "invoke", note)
        command = root()
        with command.make_context("fairq", list(words), obj=Invocation()) as context:
            command.invoke(context)
    (call,) = found
    return call
