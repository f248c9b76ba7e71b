"""Commands and groups of commands as Typer's: its classes with fairq's shared options and usage style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from fairq.cli.command import LARGEST_INTEGER, WATCH, App, Entry, call, output_options
from fairq.cli.examples import laid_out
from fairq.cli.global_options import GLOBAL_OPTIONS, QUIET, VERBOSE, VERSION, WITH_VALUE, GlobalOption, count_leading
from fairq.cli.invocation import Invocation
from fairq.cli.options import AF_SEPARATOR, Argument, Option
from fairq.cli.output.selection import Output, Report
from fairq.errors.base import InvalidNumberError, UsageError

_CONTEXT = "fairq_context"
"""The parameter through which Typer passes the context; no command may have a parameter of this name."""

WATCH_DEFAULT = 5
_WATCH_HELP = f"Refresh every SECONDS [default: {WATCH_DEFAULT}]; q quits."
_WATCH_OPTION = Annotated[str | None, Option("--watch", metavar="[SECONDS]", help=_WATCH_HELP)]

_AF = re.compile(r"--?(?:af|autoformat)(?::(.*))?", re.DOTALL)


def _store(context: Any, parameter: Any, value: Any) -> None:
    if value or value == "":
        setattr(context.obj, parameter.name, value)


def _version(context: Any, parameter: Any, value: bool) -> None:
    if value:
        from fairq.cli.version import show_version

        show_version()
        raise typer.Exit(0)


_IN_TYPER: dict[GlobalOption, dict[str, Any]] = {
    QUIET: {"is_flag": True},
    VERBOSE: {"count": True, "type": int},
    VERSION: {"is_flag": True, "is_eager": True, "callback": _version},
}
"""What Typer has to know of a global option beyond its text."""


def global_options(taken: frozenset[str]) -> list[TyperOption]:
    """Return the options that every command accepts, without the spellings already *taken*."""
    options = []
    for option in GLOBAL_OPTIONS:
        free = [spelling for spelling in option.spellings if spelling not in taken]
        if free:
            text: dict[str, Any] = {"metavar": option.metavar, "help": option.help}
            how = {"expose_value": False, "callback": _store, **_IN_TYPER.get(option, {})}
            options.append(TyperOption(param_decls=[option.name, *free], **text, **how))
    return options


def _with_global_options(settings: dict[str, Any]) -> dict[str, Any]:
    parameters = list(settings.get("params") or [])
    taken = frozenset(word for known in parameters for word in (*known.opts, *known.secondary_opts))
    settings["params"] = [*parameters, *global_options(taken)]
    settings["rich_markup_mode"] = None
    return settings


class Command(TyperCommand):
    """A command that also takes the global options, and ``--af A B C`` as in HTCondor's tools."""

    entry: ClassVar[Entry]

    @property
    def single_dash(self) -> dict[str, list[str]]:
        """The single-dash words of HTCondor's tool, by the option that they stand for."""
        return {} if self.entry.dialect is None else self.entry.dialect.words

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **_with_global_options(settings))
        for parameter in self.params:
            _say_range_in_words(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the words as the command wants it, join those of every ``--af`` to one, then parse as usual."""
        args = self.entry.rewrite(args)
        if any(parameter.name == "output_af" for parameter in self.params):
            args = join_autoformat(args)
        if any(parameter.name == WATCH for parameter in self.params):
            args = join_watch(args)
        rest = super().parse_args(ctx, args)
        if isinstance(limit := ctx.params.get("limit"), int):
            # No pool has more entries: a larger limit means all.
            ctx.params["limit"] = min(limit, LARGEST_INTEGER)
        for parameter in self.params:
            _check_size(parameter, ctx.params.get(parameter.name))
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: required arguments bare, optional ones in brackets."""
        pieces = ["[OPTIONS]"]
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                word = bare(parameter.make_metavar(ctx=ctx))
                pieces.append(word if parameter.required else f"[{word}]")
        return pieces


_RANGES = ((re.compile(r"(-?\d+)<=x<=(-?\d+)"), r"\1 to \2"), (re.compile(r"x>=(-?\d+)"), r"at least \1"))


def in_words(text: str) -> str:
    """Return *text* with its ranges written as ``1 to 9`` or ``at least 1``."""
    for pattern, words in _RANGES:
        text = pattern.sub(words, text)
    return text


def _say_range_in_words(parameter: Any) -> None:
    """Make the help of *parameter* state its range in words."""
    as_it_was = parameter.get_help_record

    def get_help_record(ctx: Any) -> tuple[str, str] | None:
        record: tuple[str, str] | None = as_it_was(ctx)
        if record is None:
            return None
        words, text = record
        return words, in_words(text)

    parameter.get_help_record = get_help_record


def _check_size(parameter: Any, value: Any) -> None:
    """Raise InvalidNumberError for an integer outside the range of the state and of expressions."""
    for number in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(number, int) and abs(number) > LARGEST_INTEGER:
            is_argument = parameter.param_type_name == "argument"
            what = bare(parameter.metavar or parameter.name) if is_argument else max(parameter.opts, key=len)
            raise InvalidNumberError(what=what, value=number, expected=f"give at most {LARGEST_INTEGER}")


class SetCommand(Command):
    """A command that sets a value, its last argument, which may begin with a dash."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a value such as ``-5`` or ``-Cpus`` behind ``--``, so that it is not an option; then parse as usual."""
        options = {word for parameter in self.params for word in (*parameter.opts, *parameter.secondary_opts)}
        arguments = sum(parameter.param_type_name == "argument" for parameter in self.params)
        named = 0
        for at, word in enumerate(args):
            if word == "--":
                break
            is_value = at and args[at - 1] in WITH_VALUE
            if not word.startswith("-") and not is_value:
                named += 1
            elif named == arguments - 1 and word.partition("=")[0] not in options and not is_value:
                args = [*args[:at], *args[at + 1 :], "--", word]
                break
        return super().parse_args(ctx, args)


def bare(metavar: str) -> str:
    """Return the metavar of an argument without brackets of its own."""
    return metavar.replace("[", "").replace("]", "")


def join_autoformat(arguments: list[str]) -> list[str]:
    """Return *arguments* with ``--af[:mods] A B`` as one option with one value.

    As in condor_q, the attributes end at the next word that begins with a dash.
    """
    result: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            return [*result, word, *reversed(waiting)]
        found = _AF.fullmatch(word)
        if found is None:
            result.append(word)
            continue
        attributes = []
        while waiting and not waiting[-1].startswith("-"):
            attributes.append(waiting.pop())
        if not attributes:
            raise UsageError(message=f"{word} needs an attribute; give one or more, such as {word} Name Priority")
        result.append("--af=" + AF_SEPARATOR.join([found.group(1) or "", *attributes]))
    return result


def join_watch(arguments: list[str]) -> list[str]:
    """Return *arguments* with ``--watch`` and its optional number of seconds as one word."""
    result: list[str] = []
    for at, word in enumerate(arguments):
        if word == "--":
            return [*result, *arguments[at:]]
        if at and arguments[at - 1] == "--watch" and word[:1].isdecimal():
            result[-1] = f"--watch={word}"
        else:
            result.append(f"--watch={WATCH_DEFAULT}" if word == "--watch" else word)
    return result


class Group(TyperGroup):
    """A command with subcommands; *default* runs if no subcommand is named."""

    default: str | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**_with_global_options(settings))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is named."""
        if self.default is not None:
            own = count_leading(args)
            rest = args[own:]
            if not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help")):
                args = [*args[:own], self.default, *rest]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the subcommands with the complete first paragraph of their help."""
        rows = [
            (name, " ".join((command.help or "").partition("\n\n")[0].split()))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def expand(function: Callable[..., None], *, watch: bool = False) -> Callable[..., None]:
    """Return *function* in the form that Typer reads, with ``--watch`` if *watch* is set.

    A parameter annotated `Invocation` is passed in; one annotated `Output` or `Report` becomes the output options. All
    others stay as declared.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters = [inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    options: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.annotation in (Output, Report):
            options = output_options(parameter.annotation)
        elif parameter.annotation is not Invocation:
            annotation = _for_typer(parameter.annotation)
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation))
    if watch:
        options[WATCH] = _WATCH_OPTION
    for name, annotation in options.items():
        default = False if get_args(annotation)[0] is bool else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=_for_typer(annotation), default=default)
        )

    def command(**values: Any) -> None:
        context: typer.Context = values.pop(_CONTEXT)
        call(function, values, context.obj, context.command_path)

    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    command.__module__ = function.__module__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__dict__["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
    return command


def _for_typer(annotation: Any) -> Any:
    """Return a parameter's *annotation* with Typer's declaration in place of fairq's."""
    kind, declared = get_args(annotation)
    if isinstance(declared, Argument):
        return Annotated[kind, typer.Argument(**declared.settings)]
    return Annotated[kind, typer.Option(*declared.spellings, **declared.settings)]


def build(app: App, name: str) -> Any:
    """Return the finished command, or group of commands, of *app*."""
    built = typer.Typer(
        cls=type("Group", (Group,), {"default": app.default}),
        help=app.help,
        no_args_is_help=app.default is None,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    for entry in app.entries:
        settings = dict(entry.settings)
        if entry.examples:
            settings["epilog"] = "\n".join(
                ["\b", "Examples:", *laid_out(inspect.cleandoc(entry.examples).splitlines())]
            )
        function = expand(entry.function, watch=entry.watch)
        kind = SetCommand if entry.value_last else Command
        built.command(entry.name, cls=type(kind.__name__, (kind,), {"entry": entry}), **settings)(function)
    if app.is_group:
        built.callback()(lambda: None)
    command = typer.main.get_command(built)
    command.name = name
    return command
