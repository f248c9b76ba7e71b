"""The tree of commands: their names and modules; a module is imported when its command runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from fairq.cli.command import Group
from fairq.errors.base import UsageError


class Entry(Struct, frozen=True):
    """A command's module, and its line in ``fairq --help``."""

    module: str
    help: str


REGISTRY: dict[str, Entry] = {
    "submit": Entry("fairq.cli.submit", "Queue jobs from a submit description, or one command."),
    "queue": Entry("fairq.cli.queue", "Show jobs."),
    "remove": Entry("fairq.cli.remove", "Remove jobs from the queue."),
    "hold": Entry("fairq.cli.hold", "Hold jobs."),
    "release": Entry("fairq.cli.release", "Release held jobs."),
    "prio": Entry("fairq.cli.prio", "Change the priority of jobs."),
    "finish": Entry("fairq.cli.finish", "Record that running jobs have ended."),
    "slots": Entry("fairq.cli.slots", "Manage slots: add, detect, list, remove, drain."),
    "status": Entry("fairq.cli.status", "Show the pool at a glance."),
    "negotiate": Entry("fairq.cli.negotiate", "Run one negotiation cycle."),
    "run": Entry("fairq.cli.run", "Run jobs: negotiate whenever something has changed."),
    "wait": Entry("fairq.cli.wait", "Wait until jobs have ended."),
    "tail": Entry("fairq.cli.tail", "Print the end of the output of a job."),
    "log": Entry("fairq.cli.log", "Show what happened to a job."),
    "history": Entry("fairq.cli.history", "Show jobs that have ended."),
    "why": Entry("fairq.cli.why", "Explain why a job is idle, or what a submitter or group gets."),
    "userprio": Entry("fairq.cli.userprio", "Show and change priorities and usage."),
    "quotas": Entry("fairq.cli.quotas", "Show, preview and check the quotas of groups."),
    "taskqueues": Entry("fairq.cli.taskqueues", "DIRAC's scheme: task queues, shares, pilots."),
    "broker": Entry("fairq.cli.broker", "PanDA's brokerage: assign tasks to queues and explain why."),
    "undo": Entry("fairq.cli.undo", "Take back a change."),
    "report": Entry("fairq.cli.report", "Show who used what: by user, group, slot, day, month."),
    "plot": Entry("fairq.cli.plot", "Draw use, shares, priorities or the queue."),
    "metrics": Entry("fairq.cli.metrics", "Print metrics of the pool for Prometheus."),
    "config": Entry("fairq.cli.config", "Show, change, check and import settings."),
    "import": Entry("fairq.cli.import_", "Import slots, jobs, accounting, or a whole state."),
    "export": Entry("fairq.cli.export", "Export the state, or slots, jobs or accounting."),
    "pool": Entry("fairq.cli.pool", "Show, check, create and remove pools."),
    "simulate": Entry("fairq.cli.simulate", "Simulate a trace of jobs under one or more policies."),
    "state": Entry("fairq.cli.state", "Manage the state file: path, check, backup, restore, history."),
    "demo": Entry("fairq.cli.demo", "Show a day of a small pool on a scratch state."),
}
"""Every command, in the order of the help."""


def load(name: str) -> Any:
    """Return the command *name*, importing its module."""
    entry = REGISTRY[name]
    try:
        module = importlib.import_module(entry.module)
    except ModuleNotFoundError as error:
        if error.name != entry.module:
            raise
        raise UsageError(message=f"{name} is not part of this installation of fairq") from None
    return module.app.build(name)


class Branch(Group):
    """A command with subcommands that are built when called: *load* builds one by its name."""

    def __init__(self, registry: Mapping[str, Entry], load: Callable[[str], Any], **settings: Any) -> None:
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
            formatter.write_dl([(name, entry.help) for name, entry in self._registry.items()])


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
