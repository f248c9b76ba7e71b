"""A walk over the tree of commands: the arguments and options of each, as plain data."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import typer
from msgspec import Struct, field

from fairq.cli.command import bare
from fairq.cli.options import OUTPUT, OUTPUT_CONSTRAINT, ranges_in_words
from fairq.cli.registry import REGISTRY, root

_OUTPUT = (*OUTPUT, OUTPUT_CONSTRAINT)


class Parameter(Struct, frozen=True):
    """An argument (its *spellings* are empty) or an option; a flag has no *metavar*.

    *shared* is set for output options and for the options that every command has.
    """

    spellings: tuple[str, ...]
    metavar: str
    help: str
    required: bool
    shared: Literal["", "output", "global"]


class Documented(Struct):
    """A command: the words of its full name, its help as paragraphs, its parameters and subcommands.

    *single_dash* has the single-dash words of HTCondor's tool, by the option that they stand for.
    """

    words: tuple[str, ...]
    summary: str
    description: list[str]
    arguments: list[Parameter]
    options: list[Parameter]
    examples: list[str]
    single_dash: dict[str, list[str]]
    children: list[Documented] = field(default_factory=list)
    default: str | None = None

    @property
    def name(self) -> str:
        """The last word of the name."""
        return self.words[-1]

    @property
    def leaves(self) -> list[Documented]:
        """The callable commands: the leaves of the subcommands, or the command itself if there are none."""
        return [leaf for child in self.children for leaf in child.leaves] or [self]

    def options_of(self, shared: str) -> list[Parameter]:
        """Return the options of one kind (see `Parameter`)."""
        return [option for option in self.options if option.shared == shared]


def walk() -> list[Documented]:
    """Return every command of ``fairq``, in the order of its help."""
    command = root()
    context = typer.Context(command, info_name="fairq", help_option_names=["-h", "--help"])
    return [_documented((name,), command.get_command(context, name), context) for name in REGISTRY]


def global_options() -> list[Parameter]:
    """Return the options that every command has."""
    command = root()
    context = typer.Context(command, info_name="fairq", help_option_names=["-h", "--help"])
    return [_parameter(parameter, context) for parameter in command.get_params(context)]


def _documented(words: tuple[str, ...], command: Any, parent: Any) -> Documented:
    context = typer.Context(command, info_name=words[-1], parent=parent)
    paragraphs = [
        paragraph.strip("\n") for paragraph in inspect.cleandoc(command.help or "").split("\n\n") if paragraph
    ]
    parameters = [
        _parameter(parameter, context)
        for parameter in command.get_params(context)
        if not getattr(parameter, "hidden", False)
    ]
    result = Documented(
        words=words,
        summary=" ".join(paragraphs[0].split()) if paragraphs else "",
        description=paragraphs[1:],
        arguments=[parameter for parameter in parameters if not parameter.spellings],
        options=[parameter for parameter in parameters if parameter.spellings],
        examples=list(getattr(command, "examples", ())),
        single_dash=command.dialect.words if hasattr(command, "dialect") else {},
        default=getattr(command, "default", None),
    )
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        result.children.append(_documented((*words, name), command.get_command(context, name), context))
    return result


def _parameter(parameter: Any, context: Any) -> Parameter:
    if parameter.param_type_name == "argument":
        metavar = bare(parameter.make_metavar(ctx=context))
        return Parameter((), metavar, " ".join((parameter.help or "").split()), parameter.required, "")
    flag = parameter.is_flag or parameter.count
    _, meaning = parameter.get_help_record(context)  # with default and range
    shared: Literal["", "output", "global"] = ""
    if parameter in _OUTPUT:
        shared = "output"
    elif not parameter.expose_value:
        shared = "global"
    return Parameter(
        spellings=tuple(sorted([*parameter.opts, *parameter.secondary_opts], key=_length_of_dashes)),
        metavar="" if flag else parameter.make_metavar(ctx=context),
        help=" ".join(ranges_in_words(meaning).split()),
        required=parameter.required,
        shared=shared,
    )


def _length_of_dashes(spelling: str) -> int:
    return len(spelling) - len(spelling.lstrip("-"))
