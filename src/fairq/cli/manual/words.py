"""What a shell can complete at each place of a command line, for all three shells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairq.cli.manual.walk import Documented, Parameter

KINDS = {
    "JOB": "job",
    "NAME": "submitter",
    "SUBMITTER": "submitter",
    "GROUP": "group",
    "OWNER": "owner",
    "USER": "owner",
    "SLOT": "slot",
    "QUEUE": "queue",
    "QUEUE|JOB": "job",
    "DUMP": "file",
    "TASK": "task",
    "KEY": "setting",
    "FILE": "file",
    "DOCUMENT": "file",
    "ADS": "file",
    "DIR": "file",
    "DIRECTORY": "file",
}
"""What a metavar stands for: ``file``, or a KIND of ``fairq _complete``; nothing else is completed."""


@dataclass(frozen=True, slots=True)
class Place:
    """A command by its full name (the words behind ``fairq``) and what can follow."""

    words: tuple[str, ...]
    children: tuple[tuple[str, str], ...]
    options: tuple[Parameter, ...]
    argument: str

    @property
    def name(self) -> str:
        """The words of the full name."""
        return " ".join(self.words)


def kind(parameter: Parameter) -> str:
    """Return what completes the value of *parameter*: a kind, or nothing."""
    return KINDS.get(parameter.metavar.split(" ")[0].removesuffix("..."), "")


def places(commands: list[Documented], options: list[Parameter]) -> list[Place]:
    """Return every place, ``fairq`` itself (which takes *options*) first."""
    top = Place((), tuple((one.name, one.summary) for one in commands), tuple(options), "")
    return [top, *(place for command in commands for place in _below(command))]


def _below(command: Documented) -> Iterator[Place]:
    default = next((child for child in command.children if child.name == command.default), None)
    options = list(command.options)
    if default is not None:
        known = {option.spellings for option in options}
        options += [option for option in default.options if option.spellings not in known]
    argument = next(filter(None, map(kind, command.arguments)), "")
    children = tuple((child.name, child.summary) for child in command.children)
    yield Place(command.words, children, tuple(options), argument)
    for child in command.children:
        yield from _below(child)
