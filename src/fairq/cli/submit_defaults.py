"""Defaults of a submission, from the table ``[submit]`` of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.cli.submit_program import environment_of, mail_commands

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.settings import Settings

_COMMANDS = {
    "cpus": "request_cpus",
    "mem": "request_memory",
    "gpus": "request_gpus",
    "time": "allowed_execute_duration",
    "group": "accounting_group",
}
"""The submit commands by setting, where the values are the same."""


class SubmitDefaults(Struct):
    """Submit *commands* with the names of the settings that they come from, and *variables* as of ``--env``."""

    commands: dict[str, str]
    settings: dict[str, str]
    variables: tuple[str, ...]

    def missing(self, given: Iterable[str]) -> list[str]:
        """Return the commands that apply in addition to those *given*."""
        from fairq.formats.submitfile.commands import equivalent_names

        given_commands = set(map(str.lower, given))
        return [name for name in self.commands if given_commands.isdisjoint(equivalent_names(name))]

    def as_commands(self) -> dict[str, str]:
        """Return the commands and variables as submit commands, for a description."""
        environment = {"environment": environment_of(self.variables)} if self.variables else {}
        return {**self.commands, **environment}

    def note(self, invocation: Invocation, used: Iterable[str]) -> None:
        """With ``--verbose``, print the values of the commands *used*, and where they come from."""
        for command in used:
            name = self.settings[command]
            value = " ".join(self.variables) if command == "environment" else self.commands[command]
            invocation.detail(f"filled in: {command} = {value} ({name}, {invocation.settings.origin(name)})")


def submit_defaults(settings: Settings) -> SubmitDefaults:
    """Return the submit commands and variables that the settings define for this user."""
    names = {command: f"submit.{key}" for key, command in _COMMANDS.items()}
    commands = {command: str(value) for command, name in names.items() if (value := settings[name]) is not None}
    if settings["submit.group"] is None and (group := _group(settings)) is not None:
        names["accounting_group"], commands["accounting_group"] = group
    if settings["submit.getenv"]:
        names["getenv"], commands["getenv"] = "submit.getenv", "true"
    if settings["submit.mail"] != "none":
        of_mail = mail_commands(settings["submit.mail"])
        commands |= of_mail
        names |= dict.fromkeys(of_mail, "submit.mail")
    return SubmitDefaults(commands, {**names, "environment": "submit.env"}, settings["submit.env"])


def _group(settings: Settings) -> tuple[str, str] | None:
    """Return the setting and the accounting group for the first Unix group that the user is in."""
    from fairq.common.people import user_of

    by_unix_group = settings.submit_groups
    unix_groups = user_of(os.getuid()).groups if by_unix_group else ()
    return next(
        ((f"submit.groups.{name}", group) for name, group in by_unix_group.items() if name in unix_groups), None
    )
