"""``fairq help``: the help of a command."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from fairq.cli.command import App
from fairq.cli.output import write_text
from fairq.errors.base import UsageError

app = App()


@app.command(
    examples="""
        fairq help                 # the list of commands
        fairq help negotiate       # the same as fairq negotiate --help
        fairq help slots add       # a command of a group
    """
)
def help_(
    words: Annotated[
        list[str] | None, Argument(metavar="COMMAND...", help="Command, or group and command [default: all].")
    ] = None,
) -> None:
    """Show the help of a command.

    It is the text of --help. 'man fairq' shows the manual, 'man fairq-negotiate' the page of a command.
    """
    from fairq.cli.registry import root

    command: Any = root()
    inner = command.context_class(command, info_name="fairq", **command.context_settings)
    for word in words or ():
        if not hasattr(command, "list_commands"):
            path = inner.command_path
            raise UsageError(message=f"{path} has no commands; try '{path} --help'")
        if word not in command.list_commands(inner):
            raise UsageError(message=command.unknown(inner, word))
        command = command.get_command(inner, word)
        inner = command.context_class(command, info_name=word, parent=inner, **command.context_settings)
    write_text(command.get_help(inner))
