"""The tree of commands; a module is imported when its command runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from fairq.cli.parser import Group
from fairq.cli.registry import REGISTRY, Listing
from fairq.errors.base import UsageError


def load(name: str) -> Any:
    """Return the command *name*, importing its module."""
    listing = REGISTRY[name]
    try:
        module = importlib.import_module(listing.module)
    except ModuleNotFoundError as error:
        if error.name != listing.module:
            raise
        raise UsageError(message=f"{name} is not part of this installation of fairq") from None
    return module.app.build(name)


class Branch(Group):
    """A command with subcommands that are built when called: *load* builds one by its name."""

    def __init__(self, registry: Mapping[str, Listing], load: Callable[[str], Any], **settings: Any) -> None:
        super().__init__(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, **settings)
        self._registry = registry
        self._load = load
        # The names are enough for suggestions after a mistyped command; `get_command` builds the commands.
        self.commands: Any = dict.fromkeys(registry)
        self._loaded: dict[str, Any] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(self._registry)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command *cmd_name*, or None if there is none."""
        if cmd_name not in self._registry:
            return None
        if cmd_name not in self._loaded:
            self._loaded[cmd_name] = self._load(cmd_name)
        return self._loaded[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands from the registry, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listing.help) for name, listing in self._registry.items()])


class Root(Branch):
    """The ``fairq`` command itself."""

    def __init__(self) -> None:
        super().__init__(
            REGISTRY,
            load,
            name="fairq",
            help="Fair share for shared computers: the rules of HTCondor, DIRAC and PanDA over one state file.",
            epilog="Run 'fairq COMMAND --help' for a command's options, 'man fairq' for the manual.",
        )
