"""The man page of one command."""

from __future__ import annotations

from fairq.cli.manual.roff import bold, examples, header, italic, options, page, paragraphs, section, text
from fairq.cli.manual.walk import Documented, Parameter


def synopsis(command: Documented) -> str:
    """Return how *command* is called, marked up."""
    words = [bold(" ".join(("fairq", *command.words))), "[" + italic("OPTION") + "]..."]
    if command.children:
        words.append(italic("COMMAND"))
    for argument in command.arguments:
        words.append(italic(argument.metavar) if argument.required else f"[{italic(argument.metavar)}]")
    return " ".join(words)


def command_page(command: Documented) -> str:
    """Return the page of *command*, the commands within it included."""
    return page(
        header(f"fairq-{command.name}", 1),
        section("NAME", [text(f"fairq-{command.name} - {command.summary.rstrip('.')}")]),
        section("SYNOPSIS", _synopses(command)),
        section("DESCRIPTION", paragraphs([command.summary, *command.description])),
        section("COMMANDS", [line for child in command.children for line in _of_child(child, command)]),
        section("ARGUMENTS", options(command.arguments)),
        section("OPTIONS", options(command.options_of(""))),
        section("OUTPUT OPTIONS", _output(command)),
        section("COMMON OPTIONS", options(command.options_of("global"))),
        section("EXIT STATUS", ["0 for success, otherwise an error code: see EXIT STATUS in", _see("fairq(1).")]),
        section("EXAMPLES", examples([line for one in command.leaves for line in one.examples])),
        section("SEE ALSO", ["\\fBfairq\\fR(1), \\fBfairq.toml\\fR(5)"]),
    )


def _see(page_name: str) -> str:
    name, _, rest = page_name.partition("(")
    return f"\\fB{name}\\fR({rest}"


def _synopses(command: Documented) -> list[str]:
    calls = command.leaves
    return [line for call in calls for line in (synopsis(call), ".br")][:-1]


def _of_child(child: Documented, command: Documented) -> list[str]:
    """A child that has commands of its own is a heading with a text above them."""
    if not child.children:
        return _within(child, command)
    lines = [f".SS {text(' '.join(('fairq', *child.words)))}", *paragraphs([child.summary, *child.description])]
    return lines + [line for leaf in child.leaves for line in _within(leaf, child)]


def _within(child: Documented, command: Documented) -> list[str]:
    lines = [f".SS {text(' '.join(('fairq', *child.words)))}"]
    lines += paragraphs([child.summary, *child.description])
    if child.name == command.default:
        lines += [".PP", text("This is the default command.")]
    own = [*child.arguments, *child.options_of("")]
    if own:
        lines += options(own)
    if child.options_of("output"):
        lines += [".PP", text("It also takes the output options below.")]
    return lines


def _output(command: Documented) -> list[str]:
    """The fullest set: a command that reports one thing has no --constraint."""
    found: list[list[Parameter]] = [one.options_of("output") for one in (command, *command.leaves)]
    fullest = max(found, key=len)
    return options(fullest)
