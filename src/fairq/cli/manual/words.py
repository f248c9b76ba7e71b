"""Completions for each place of a command line, for all three shells."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fairq.cli.manual.walk import Documented, Parameter
from fairq.cli.registry import REGISTRY

KINDS = {
    "JOB": "job",
    "NAME": "submitter",
    "SUBMITTER": "submitter",
    "GROUP": "group",
    "OWNER": "owner",
    "USER": "owner",
    "SLOT": "slot",
    "SUBJECT": "subject",
    "CYCLE": "cycle",
    "WAY": ":dirac,proportional,strict",
    "QUEUE": "queue",
    "QUEUE|JOB": "job",
    "DUMP": "file",
    "TASK": "task",
    "KEY": "setting",
    "SETTING": "broker-setting",
    "FILE": "file",
    "DOCUMENT": "file",
    "ADS": "file",
    "DIR": "file",
    "DIRECTORY": "file",
}
"""The completion for a metavar: ``file``, a KIND of ``fairq _complete``, or the words themselves behind a colon.

Behind a comma and a colon are the words of a list by commas.
"""

_EXPRESSION = ("EXPR", "ATTR")
"""Values that begin with the name of an attribute."""

AT = {
    ("slots add", "NAME"): "",
    ("slots sync", "ENGINE"): ":slurm,htcondor",
    ("slots sync", "--partition"): "partition",
    ("slots detect", "--launch"): ":local,slurm,htcondor",
    ("pool create", "--launch"): ":local,slurm,htcondor",
    ("undo", "N"): "change",
    ("help", "COMMAND"): f":{','.join(REGISTRY)}",
    ("plot", "WHAT"): ":usage,shares,priority,queue,wait",
    ("plot", "--by"): ":submitter,group,pool",
    ("report", "--by"): ",:user,submitter,group,slot,machine,hour,day,week,month,year",
    ("history", "--exit"): ":failed",
    ("state history", "--subject"): "subject",
    ("broker lint", "RULES"): ":documented,panda",
    ("why", "NAME"): "slot",
    ("taskqueues match", "NAME"): "",
    ("taskqueues why", "NAME"): "",
    ("taskqueues shares", "RULES"): ":documented,dirac",
    ("broker run", "RULES"): ":documented,panda",
    ("broker why", "RULES"): ":documented,panda",
    ("broker timeouts", "RULES"): ":documented,panda",
    ("config show", "KEY"): "table",
    ("config unset", "KEY"): "table",
    ("config set", "VALUE"): "value",
    ("submit", "EXPR"): "slot-attribute",
    **{
        (command, metavar): "job-attribute"
        for command in ("queue", "hold", "release", "remove")
        for metavar in _EXPRESSION
    },
    **{(command, metavar): "slot-attribute" for command in ("slots", "slots list") for metavar in _EXPRESSION},
    **{("userprio", metavar): "record-attribute" for metavar in _EXPRESSION},
}
"""The same, for a metavar or an option of a single command."""


class CompletedCommand(Struct, frozen=True):
    """A command, by its full name (the words after ``fairq``), and the words that can follow.

    *arguments* are the kinds of its arguments in order; the kind of a repeatable argument ends in ``...``.
    """

    words: tuple[str, ...]
    children: tuple[tuple[str, str], ...]
    options: tuple[Parameter, ...]
    arguments: tuple[str, ...]

    def kind(self, option: Parameter) -> str:
        """Return the completion for the value of *option*, or an empty string."""
        return _kind(self.name, option)

    @property
    def name(self) -> str:
        """The words of the full name."""
        return " ".join(self.words)


def _kind(command: str, parameter: Parameter) -> str:
    """Return the completion for the value of a *parameter* of *command*: a kind, or an empty string."""
    metavar = parameter.metavar.split(" ")[0].removesuffix("...")
    kinds = (AT[command, word] for word in (*parameter.spellings, metavar) if (command, word) in AT)
    return next(kinds, KINDS.get(metavar, ""))


def completed_commands(commands: list[Documented], options: list[Parameter]) -> list[CompletedCommand]:
    """Return every command with its completions; the first is ``fairq`` itself (with *options*)."""
    top = CompletedCommand((), tuple((command.name, command.summary) for command in commands), tuple(options), ())
    return [top, *(completed for command in commands for completed in _completed(command))]


def _completed(command: Documented) -> Iterator[CompletedCommand]:
    default = next((child for child in command.children if child.name == command.default), None)
    options = list(command.options)
    if default is not None:
        spellings = {option.spellings for option in options}
        options += [option for option in default.options if option.spellings not in spellings]
    name = " ".join(command.words)
    arguments = [
        (_kind(name, argument) or "none") + ("..." if argument.metavar.endswith("...") else "")
        for argument in command.arguments
    ]
    while arguments and arguments[-1].startswith("none"):
        del arguments[-1]
    children = tuple((child.name, child.summary) for child in command.children)
    spelled_options = (_with_single_dash(option, command.single_dash) for option in options)
    yield CompletedCommand(command.words, children, tuple(spelled_options), tuple(arguments))
    for child in command.children:
        yield from _completed(child)


def _with_single_dash(option: Parameter, single_dash: dict[str, list[str]]) -> Parameter:
    """Return *option* with the spellings of HTCondor's tool added."""
    words = [word for name in option.spellings for word in single_dash.get(name, ())]
    return replace(option, spellings=(*option.spellings, *(word for word in words if word not in option.spellings)))
