"""How commands are declared: Typer's own declarations, one class of commands and one of groups.

**A command** is one module ``fairq/cli/<name>.py`` (``import_.py`` for the keyword), registered by name,
module and one-line help in ``fairq.cli.registry.REGISTRY``; only the called command's module is imported. The
module defines ``app``::

    from fairq.cli.command import App, Context
    from fairq.cli.options import DryRun, Now
    from fairq.cli.output import Column, Table, View, emit

    app = App()

    @app.report(examples='''
        fairq negotiate               # one cycle, as cron runs it
        fairq negotiate --dry-run     # only show what it would decide
    ''')
    def negotiate(context: Context, now: Now = None, dry_run: DryRun = False) -> None:
        \"\"\"Run one negotiation cycle.

        The further paragraphs are the manual's description.
        \"\"\"
        from fairq.steps.cycle.negotiate import negotiate as step

        invocation = context.obj
        time = invocation.now(now)
        result = step(invocation.state_path, invocation.settings, invocation.actor(time), dry_run=dry_run)
        columns = [Column("Submitter", "Name"), Column("Got", "Matched")]
        emit(View(tables=[Table(columns, result.records)]), invocation.output)

- ``context.obj`` is the `Invocation`: ``state_path``, ``settings``, ``now(given)``, ``actor(time)``
  (operating-system user and command line, for the history), ``note(text)`` and ``detail(text)`` for stderr, and
  ``output``, what the output options ask for: pass it to ``emit(View, output)``.
- ``@app.listing`` declares a command that shows many things: it has the output options with ``--constraint``, joined
  in ``output.constraint``; a step that applies it itself says so by ``Table(constrained=True)``. A command that reports
  one thing is declared with ``@app.report`` and has no ``--constraint``, one without output options with
  ``@app.command``.
- Options and arguments are Typer's, in the form ``Annotated[str, Option(...)]``, and with a value ``Annotated[str,
  valued(...)]``. Shared ones are in ``fairq.cli.options``: ``now: Now = None``, ``dry_run: DryRun = False``,
  ``constraint: Constraint = None`` (for commands that change things; see ``joined``), ``time_of("--at")`` as
  ``parser=`` and ``duration_option("--prune", "...")``.
- The metavar of an option says how many words it takes: ``NAME VALUE`` two, ``ATTR...`` all up to the next dash,
  ``[SECONDS]`` one or none (`fairq.cli.single_dash.Values`).
- Several commands in one module: ``app = App(help="The slots of the pool.", default="list")``, then
  ``@app.report("add")``, ``@app.listing("list")``, ...; *default* runs when no inner command is named.
- ``--state``, ``--config``, ``-q``, ``-v``, ``--version`` are added to every command; declare none of them.
- Wrong input raises a `FairqError`. A command that has told all, but is to end with another code than 0, raises
  ``SystemExit``. Nothing below the commands does, and nothing prints. Import steps, NumPy and the like inside the
  function: the module itself is read for help and completion.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import typer
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup, TyperOption

from fairq.cli.examples import laid_out
from fairq.cli.invocation import Invocation
from fairq.cli.options import OUTPUT, OUTPUT_CONSTRAINT, WATCH, ranges_in_words, read_output
from fairq.cli.other_commands import in_fairq, in_group
from fairq.cli.output.activity import activity
from fairq.cli.single_dash import Dialect, Reader, Values
from fairq.cli.tools import COMMON, NO_TOOL
from fairq.common import interrupts
from fairq.errors.base import InvalidNumberError, UsageError
from fairq.errors.nearest import nearest
from fairq.steps.current import settings_in_force

LARGEST_INTEGER = 2**63 - 1
"""The largest integer that SQLite and ClassAds can hold."""

_LETTERS = re.compile(r"-[qv]+")

Function = TypeVar("Function", bound=Callable[..., None])


class Context(typer.Context):
    """The context that a command gets from Typer."""

    obj: Invocation


class App(typer.Typer):
    """The command, or the commands, of one module."""

    def __init__(
        self,
        help: str | None = None,  # noqa: A002
        default: str | None = None,
        lazy: Mapping[str, Listing] | None = None,
        **settings: Any,
    ) -> None:
        """Store the *help* of a group of commands, its *default* command, and its commands that are imported later."""
        kind = type("Group", (Group,), {"default": default, "lazy": lazy or {}})
        super().__init__(
            cls=kind, help=help, no_args_is_help=default is None, add_completion=False, rich_markup_mode=None,
            pretty_exceptions_enable=False, **settings,
        )  # fmt: skip
        if help is not None:
            self.callback()(lambda: None)

    def command(
        self,
        name: str | None = None,
        *,
        examples: str = "",
        output: Sequence[TyperOption] = (),
        selection: Sequence[TyperOption] = (),
        dialect: Dialect = NO_TOOL,
        rewrite: Callable[[list[str]], list[str]] = list,
        value_last: bool = False,
        watch: bool = False,
        **settings: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a command; *examples* are command lines with their meanings behind ``#``.

        A command with a *dialect* also accepts the options of a tool of HTCondor. *rewrite* returns the words of the
        command before they are read. With *value_last*, the last argument is a value, which may begin with a dash. The
        values of the options *selection* are in ``Invocation.selecting``. A command with *watch* has ``--watch``.
        """
        lines = inspect.cleandoc(examples).splitlines()
        if lines:
            settings["epilog"] = "\n".join(["\b", "Examples:", *laid_out(lines)])
        # Typer expects a class, and makes the command from it.
        attributes = {
            "examples": lines, "output": output, "selection": selection, "dialect": dialect,
            "rewrite": staticmethod(rewrite), "value_last": value_last, "watch": watch,
        }  # fmt: skip
        return super().command(name, cls=type("Command", (Command,), attributes), **settings)

    def report(self, name: str | None = None, **how: Any) -> Callable[[Function], Function]:
        """Register a command that reports one result, with output options."""
        return self.command(name, output=OUTPUT, **how)

    def listing(self, name: str | None = None, **how: Any) -> Callable[[Function], Function]:
        """Register a command that lists records: with output options, including ``--constraint``."""
        return self.command(name, output=(*OUTPUT, OUTPUT_CONSTRAINT), **how)


class Listing(Struct, frozen=True):
    """A command's module and its line in the help; with *is_one*, the module's ``app_of`` returns it by its name."""

    module: str
    help: str
    is_one: bool = False


@cache
def load(listing: Listing, name: str) -> Any:
    """Return the command *name*, importing its module; built once, though a process may run many lines."""
    try:
        module = import_module(listing.module)
    except ModuleNotFoundError as error:
        if error.name != listing.module:
            raise
        raise UsageError(message=f"{name} is not part of this installation of fairq") from None
    command = typer.main.get_command(module.app_of(name) if listing.is_one else module.app)
    command.name = name
    return command


def _store(context: Any, parameter: Any, value: Any) -> None:
    """Store the value of a global option; the default after a command does not override a value before it."""
    if value or value == "":
        setattr(context.obj, parameter.name, value)


def _version(context: Any, parameter: Any, value: bool) -> None:
    if value:
        from fairq.cli.version import show_version

        show_version()
        raise typer.Exit(0)


def _with_global_options(parameters: Sequence[Any]) -> list[Any]:
    """Return *parameters* and the options that every command accepts, without spellings that are already used."""
    used_spellings = {word for parameter in parameters for word in (*parameter.opts, *parameter.secondary_opts)}

    def option(name: str, *spellings: str, callback: Any = _store, **how: Any) -> Iterator[TyperOption]:
        if free := [spelling for spelling in spellings if spelling not in used_spellings]:
            yield TyperOption(param_decls=[name, *free], expose_value=False, callback=callback, **how)

    state_help = "State file [default: $FAIRQ_STATE, then the user's]."
    config_help = "Use only this settings file [default: $FAIRQ_CONFIG]."
    return [
        *parameters,
        *option("state", "--state", metavar="FILE", help=state_help),
        *option("config", "--config", metavar="FILE", help=config_help),
        *option("quiet", "-q", "--quiet", is_flag=True, help="Print no notes, progress or change reports."),
        *option("verbose", "-v", "--verbose", count=True, type=int, help="Print more detail on stderr; repeatable."),
        *option("version", "--version", is_flag=True, is_eager=True, callback=_version,
                help="Show the version and exit."),
    ]  # fmt: skip


class Command(TyperCommand):
    """A command with the global options and the one-dash options of HTCondor's tools."""

    context_class = Context
    examples: ClassVar[Sequence[str]]
    output: ClassVar[Sequence[TyperOption]]
    selection: ClassVar[Sequence[TyperOption]]
    dialect: ClassVar[Dialect]
    rewrite: ClassVar[Any]
    value_last: ClassVar[bool]
    watch: ClassVar[bool]

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:
        own = [*params, *self.selection, *self.output, *([WATCH] if self.watch else [])]
        super().__init__(name, params=_with_global_options(own), **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the words for Typer, then parse them."""
        arguments = sum(parameter.param_type_name == "argument" for parameter in self.params)
        read = self.reader(ctx).read(self.rewrite(args), arguments if self.value_last else None)
        remaining = super().parse_args(ctx, read)
        if isinstance(limit := ctx.params.get("limit"), int):
            # No pool has more entries: a larger limit means all.
            ctx.params["limit"] = min(limit, LARGEST_INTEGER)
        for parameter in self.params:
            _check_size(parameter, ctx.params.get(parameter.name))
        return remaining

    def reader(self, ctx: Any) -> Reader:
        """Return the reader of the words of this command."""
        options = {word: Values() for word in self.get_help_option_names(ctx)}
        words = [(word, option) for option in self.params for word in (*option.opts, *option.secondary_opts)]
        options |= {word: _values(option) for word, option in words if option.param_type_name == "option"}
        hidden = frozenset(word for word, option in words if getattr(option, "hidden", False))
        return Reader(ctx.command_path, options, hidden, self.dialect, COMMON)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; with ``--watch``, repeatedly."""
        invocation = ctx.obj
        settings_in_force.set(lambda: invocation.settings)
        if self.output:
            values = {str(option.name): ctx.params.pop(option.name) for option in self.output}
            invocation.output = read_output(values, invocation.quiet)
        invocation.selecting = {str(option.name): ctx.params.pop(option.name) for option in self.selection}
        seconds = ctx.params.pop(WATCH.name, None)
        interrupts.as_usual()
        if seconds is not None:
            from fairq.cli.watch import watch

            invocation.watching = True
            watch(partial(super().invoke, ctx), seconds, ctx.command_path)
            return
        with invocation.note_new_state(), activity(ctx.command_path.removeprefix("fairq "), invocation.quiet):
            super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: required arguments bare, optional ones in brackets."""
        pieces = ["[OPTIONS]"]
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                word = bare(parameter.make_metavar(ctx=ctx))
                pieces.append(word if parameter.required else f"[{word}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options, with their ranges in words."""
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            records = (option.get_help_record(ctx) for option in self.get_params(ctx) if option.param_type_name == kind)
            rows = [(words, ranges_in_words(text)) for words, text in filter(None, records)]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _values(option: Any) -> Values:
    """Return the words that *option* takes, as its metavar says."""
    if option.is_flag or option.count:
        return Values()
    metavar = option.metavar or ""
    if metavar.endswith("...") and not metavar.endswith(",..."):
        return Values(form="rest")
    if metavar.startswith("["):
        return Values(form="number")
    count = len(metavar.split()) or 1
    return Values(count, joined=count > option.nargs)


def bare(metavar: str) -> str:
    """Return the metavar of an argument without brackets of its own."""
    return metavar.replace("[", "").replace("]", "")


def _check_size(parameter: Any, value: Any) -> None:
    """Raise InvalidNumberError for an integer outside the range of the state and of expressions."""
    for number in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(number, int) and abs(number) > LARGEST_INTEGER:
            is_argument = parameter.param_type_name == "argument"
            name = bare(parameter.metavar or parameter.name) if is_argument else max(parameter.opts, key=len)
            raise InvalidNumberError(what=name, value=number, expected=f"give at most {LARGEST_INTEGER}")


class Group(TyperGroup):
    """Commands of which some are imported when they are called; *default* runs if none is named."""

    context_class = Context
    default: ClassVar[str | None] = None
    lazy: ClassVar[Mapping[str, Listing]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "params": _with_global_options(settings.get("params") or [])})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is named; the history gets the words from the first command on."""
        global_count = self._count_own(args)
        remaining = args[global_count:]
        if ctx.parent is None:
            ctx.obj.arguments = remaining
        if remaining and remaining[0] in (*ctx.help_option_names, "-help"):
            args = [*args[:global_count], "--help"]
        elif self.default is not None and (not remaining or remaining[0].startswith("-")):
            args = [*args[:global_count], self.default, *remaining]
        elif remaining and remaining[0].startswith("-") and remaining[0] != "-" and "--" not in args[:global_count]:
            raise UsageError(message=self._unknown_option(ctx, remaining[0]))
        return super().parse_args(ctx, args)

    def _count_own(self, words: Sequence[str]) -> int:
        """Return the number of words at the start of *words* that are global options and their values, or ``--``.

        Raises UsageError for a missing value.
        """
        values = {spelling: _values(option).count for option in self.params for spelling in option.opts}
        count = 0
        while count < len(words):
            word = words[count]
            name, equals, _ = word.partition("=")
            if word == "--":
                return count + 1
            if not (_LETTERS.fullmatch(word) or (name in values and (name.startswith("--") or not equals))):
                break
            count += 1 if equals else 1 + values.get(name, 0)
        if count > len(words):
            raise UsageError(message=f"{words[-1]} needs 1 value; see fairq --help")
        return count

    def _unknown_option(self, ctx: Any, word: str) -> str:
        """Return the message for *word*, which is not an option before a command."""
        name = word.partition("=")[0]
        names = [spelling[2:] for option in self.params for spelling in option.opts if spelling.startswith("--")]
        close = nearest(name.lstrip("-"), names)
        hint = f"perhaps --{close}" if close else "an option of a command goes after its name"
        shown = name if name.startswith("--") else word
        return f"no such option: {shown}; {hint}; try '{ctx.command_path} --help'"

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list({**self.lazy, **self.commands})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command *cmd_name*, or None if there is none."""
        if cmd_name in self.lazy:
            return load(self.lazy[cmd_name], cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command, and its words; raises UsageError if there is none."""
        if args[0] not in self.list_commands(ctx):
            raise UsageError(message=self.unknown(ctx, args[0]))
        return super().resolve_command(ctx, args)

    def unknown(self, ctx: Any, word: str) -> str:
        """Return the message for *word*, which is not a command of this group."""
        names = self.list_commands(ctx)
        hint = in_fairq(word) if ctx.parent is None else in_group(word, ctx.command_path, names)
        if not hint and (close := nearest(word, names)):
            hint = f"perhaps {close!r}"
        elif not hint and self._takes_arguments(ctx):
            hint = f"perhaps '{ctx.command_path} {self.default} {word}'"
        return "; ".join(filter(None, [f"no such command {word!r}", hint, f"try '{ctx.command_path} --help'"]))

    def _takes_arguments(self, ctx: Any) -> bool:
        """Return whether the default command has arguments."""
        params = self.get_command(ctx, self.default).params if self.default else ()
        return any(parameter.param_type_name == "argument" for parameter in params)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with their line, or the first paragraph of their help."""
        rows = [(name, listing.help) for name, listing in self.lazy.items()]
        rows += [
            (name, " ".join((command.help or "").partition("\n\n")[0].split()))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
