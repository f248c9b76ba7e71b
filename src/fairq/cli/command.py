"""What a command's module declares: its functions, and their options.

Typer, which parses command lines, takes as long to load as a third of what a command needs. So no command's module
loads it, and a plain line needs none (`fairq.cli.plain`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from msgspec import Struct

from fairq.cli.invocation import Invocation
from fairq.cli.options import OUTPUT_OPTIONS, read_output
from fairq.cli.output.activity import activity
from fairq.cli.output.selection import Output, Report
from fairq.steps.current import settings_in_force

if TYPE_CHECKING:
    from fairq.cli.single_dash import Dialect

LARGEST_INTEGER = 2**63 - 1
"""The largest integer that SQLite and ClassAds can hold."""

WATCH = "watch_seconds"
"""The name of the parameter for ``--watch``."""

Function = TypeVar("Function", bound=Callable[..., None])


class Entry(Struct, frozen=True):
    """A command of a module: its *function*, and how it was registered (`App.command`)."""

    function: Callable[..., None]
    name: str | None
    examples: str
    dialect: Dialect | None
    rewrite: Callable[[list[str]], list[str]]
    value_last: bool
    watch: bool
    settings: dict[str, Any]


class App:
    """The command, or the commands, of one module; see ``fairq.cli.app`` for the conventions."""

    def __init__(self, help: str | None = None, default: str | None = None) -> None:  # noqa: A002
        self.help = help
        self.default = default
        self.is_group = help is not None
        self.entries: list[Entry] = []

    def command(
        self,
        name: str | None = None,
        *,
        examples: str = "",
        dialect: Dialect | None = None,
        rewrite: Callable[[list[str]], list[str]] | None = None,
        value_last: bool = False,
        watch: bool = False,
        **settings: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a command; *examples* are command lines with their meanings behind ``#``.

        A command with a *dialect* also accepts the options of a tool of HTCondor. *rewrite* returns the words of the
        command as they are parsed; by default, it is that of the dialect. With *value_last*, the last argument is a
        value, which may begin with a dash. A command with *watch* has ``--watch``, which redraws its output repeatedly.
        """
        if rewrite is None:
            rewrite = list if dialect is None else dialect.rewrite

        def register(function: Function) -> Function:
            self.entries.append(Entry(function, name, examples, dialect, rewrite, value_last, watch, settings))
            return function

        return register

    def find(self, name: str) -> Entry | None:
        """Return the inner command with *name*; None: there is none."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def build(self, name: str) -> Any:
        """Return the finished command with *name*, as Typer's."""
        from fairq.cli.parser import build

        return build(self, name)


def output_options(kind: type[Output]) -> dict[str, Any]:
    """Return the options that a parameter annotated `Output` or `Report` expands to: annotations by name."""
    options = {name: Annotated[of, option] for name, (of, option) in OUTPUT_OPTIONS.items()}
    if kind is Report:
        del options["output_constraint"]
    return options


@cache
def annotated(function: Callable[..., None]) -> Mapping[str, Any]:
    """Return the annotation of each parameter of a command's *function*."""
    found = get_type_hints(function, include_extras=True)
    del found["return"]
    return found


def call(function: Callable[..., None], values: dict[str, Any], invocation: Invocation, path: str) -> None:
    """Run a command with the *values* of its parameters, output options among them; *path* names it.

    Parameters without a value have their defaults. One annotated `Invocation` is passed in; one annotated `Output` or
    `Report` is read from the output options.
    """
    settings_in_force.set(lambda: invocation.settings)
    output = {name: values.pop(name, None) for name in OUTPUT_OPTIONS}
    seconds = values.pop(WATCH, None)
    for name, kind in annotated(function).items():
        if kind is Invocation:
            values[name] = invocation
        elif kind in (Output, Report):
            values[name] = read_output(output, invocation.quiet, kind)
    if seconds is not None:
        from fairq.cli.watch import watch as draw

        invocation.watching = True
        draw(lambda: function(**values), seconds, path)
        return
    with invocation.note_new_state(), activity(path.removeprefix("fairq "), invocation.quiet):
        function(**values)
