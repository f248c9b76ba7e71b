"""The man page of one command."""

from __future__ import annotations

from fairq.cli.manual.roff import bold, examples, header, italic, options, page, paragraphs, section, text
from fairq.cli.manual.walk import Documented, Parameter


def synopsis(command: Documented) -> str:
    """Return the synopsis of *command*, marked up."""
    words = [bold(" ".join(("fairq", *command.words))), "[" + italic("OPTION") + "]..."]
    if command.children:
        words.append(italic("COMMAND"))
    for argument in command.arguments:
        words.append(italic(argument.metavar) if argument.required else f"[{italic(argument.metavar)}]")
    return " ".join(words)


def command_page(command: Documented) -> str:
    """Return the page of *command*, including its subcommands."""
    return page(
        header(f"fairq-{command.name}", 1),
        section("NAME", [text(f"fairq-{command.name} - {command.summary.rstrip('.')}")]),
        section("SYNOPSIS", _synopses(command)),
        section("DESCRIPTION", paragraphs([command.summary, *command.description])),
        section("COMMANDS", _of_children(command)),
        section("ARGUMENTS", options(command.arguments)),
        section("OPTIONS", options(command.options_of(""))),
        section("OUTPUT OPTIONS", _output(command)),
        section("COMMON OPTIONS", options(command.options_of("global"))),
        section("EXIT STATUS", ["0 for success, otherwise an error code: see EXIT STATUS in", _see("fairq(1).")]),
        section("EXAMPLES", examples(_distinct_examples(command))),
        section("SEE ALSO", ["\\fBfairq\\fR(1), \\fBfairq.toml\\fR(5)"]),
    )


def _see(page_name: str) -> str:
    name, _, section_number = page_name.partition("(")
    return f"\\fB{name}\\fR({section_number}"


def _synopses(command: Documented) -> list[str]:
    calls = command.leaves
    return [line for call in calls for line in (synopsis(call), ".br")][:-1]


def _of_children(command: Documented) -> list[str]:
    """Return all subcommands of *command*; one with subcommands of its own is a heading with a text.

    Options shared by several of these (for example ``import`` and ``list`` of every kind of record) are listed once.
    """
    lines: list[str] = []
    listed_at: dict[tuple[str, str], Documented] = {}
    for child in command.children:
        if child.children:
            lines.append(f".SS {text(' '.join(('fairq', *child.words)))}")
            lines += paragraphs([child.summary, *child.description])
        for leaf in child.leaves:
            first = listed_at.setdefault((leaf.name, repr((leaf.arguments, leaf.options))), leaf)
            lines += _subcommand(leaf, child if child.children else command, first)
    return lines


def _subcommand(child: Documented, command: Documented, first: Documented) -> list[str]:
    """Return a subcommand; *first* is the subcommand on the page that lists its options."""
    lines = [f".SS {text(' '.join(('fairq', *child.words)))}"]
    lines += paragraphs([child.summary, *child.description])
    if child.name == command.default:
        lines += [".PP", text("This is the default command.")]
    own_parameters = [*child.arguments, *child.options_of("")]
    if own_parameters and first is not child:
        return [*lines, ".PP", text(f"Arguments and options: as for {' '.join(('fairq', *first.words))}.")]
    if own_parameters:
        lines += options(own_parameters)
    if child.options_of("output"):
        lines += [".PP", text("It also takes the output options below.")]
    return lines


def _distinct_examples(command: Documented) -> list[str]:
    """Return the examples of a page, without those that differ from another only in the command name."""
    by_form: dict[str, str] = {}
    for leaf in command.leaves:
        for line in leaf.examples:
            by_form.setdefault(line.replace(leaf.words[-2], "KIND") if len(leaf.words) > 2 else line, line)
    return list(by_form.values())


def _output(command: Documented) -> list[str]:
    """Return the largest set of output options of the command and its subcommands: some have no --constraint."""
    option_sets: list[list[Parameter]] = [subcommand.options_of("output") for subcommand in (command, *command.leaves)]
    fullest = max(option_sets, key=len)
    return options(fullest)
