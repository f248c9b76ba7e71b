"""``fairq help``: the help of a command."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

from fairq.cli.command import App
from fairq.cli.options import Argument
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
    import typer

    from fairq.cli.tree import Root

    command: Any = Root()
    context = typer.Context(command, info_name="fairq", **command.context_settings)
    for word in words or ():
        names = command.list_commands(context) if hasattr(command, "list_commands") else []
        if word not in names:
            raise UsageError(message=_unknown(context.command_path, word, names))
        command = command.get_command(context, word)
        context = typer.Context(command, info_name=word, parent=context, **command.context_settings)
    write_text(command.get_help(context))


def _unknown(path: str, word: str, names: list[str]) -> str:
    if not names:
        return f"{path} has no commands; try '{path} --help'"
    close = get_close_matches(word, names, 1)
    return f"no such command {word!r}" + (f"; perhaps {close[0]!r}" if close else "") + f"; try '{path} --help'"
