"""A program and its options on the command line, defaults of ``[submit]``, and the way of jobs into the queue."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from typer import Option

from fairq.cli.invocation import Invocation, operating_system_user
from fairq.cli.options import valued
from fairq.common.inputs import STANDARD_INPUT, read_bytes
from fairq.errors.base import UsageError
from fairq.errors.pool import InvalidSubmitValueError, UnreadableDescriptionError

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.common.records import Actor
    from fairq.settings import Settings
    from fairq.steps.jobs.submit import Context as JobContext
    from fairq.steps.jobs.submit import Description, Program, Submitted

_MAILS = {"end": ("complete", "false"), "fail": ("error", "false"), "all": ("never", "true")}
"""The values of ``--mail``, with those of the commands notification and notify_all_ended."""

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MACRO = re.compile(r"([A-Za-z_]\w*)=([^\n]*)", re.ASCII)

Requirements = Annotated[str | None, valued("--requirements", "Expression that the slot must satisfy.", "EXPR")]
AccountingGroup = Annotated[str | None, valued("--accounting-group", "Accounting group to charge.", "GROUP")]
Env = Annotated[
    list[str] | None,
    valued("--env", "Variable of the job [default value: as it is here]; repeatable.", "NAME[=VALUE]"),
]
Getenv = Annotated[bool, Option("--getenv", help="Pass on all variables of your environment.")]


def program_of(
    words: Sequence[str],
    given: dict[str, str],
    count: int,
    macros: dict[str, str],
    *,
    items: list[str] | None = None,
    variables: Sequence[str] | None = None,
    macros_of_script: Sequence[str] | None = None,
    verbatim: bool = False,
) -> Program:
    """Return the program with its arguments *words* and the submit commands *given*.

    *variables* are the values of ``--env``, *macros_of_script* further ones, with macros.

    Raises UsageError, and InvalidSubmitValueError for a program not on PATH.
    """
    import shutil

    from fairq.steps.jobs.submit import Program

    if not words or not words[0]:
        raise UsageError(message="no program follows --; give -- PROGRAM ARGS...")
    program = words[0]
    if "/" not in program:
        path = shutil.which(program)
        if path is None:
            raise InvalidSubmitValueError(
                where="the command line",
                command="program",
                value=program,
                expected="it is not on PATH; give its path, such as ./" + program,
            )
        program = str(Path(path).absolute())
    literals = {"environment": environment_of(variables)} if variables else {}
    if macros_of_script:
        variables_text = literals.pop("environment", '""')[:-1].replace("$", "$(DOLLAR)")
        given["environment"] = f'{variables_text} {" ".join(macros_of_script)}"'
    return Program([program, *words[1:]], given, count, macros, items=items, literals=literals, verbatim=verbatim)


def file_and_macros(words: list[str], each: list[str] | None) -> tuple[str | None, dict[str, str]]:
    """Return the description and the macros among *words*; raises UsageError if there are other words."""
    macros = {found[1]: found[2] for word in words if (found := _MACRO.fullmatch(word))}
    files = [word for word in words if not _MACRO.fullmatch(word)]
    if each and files:
        raise UsageError(
            message="--each takes one item; repeat it, as --each 1 --each 2, or give --array 1-9 or --each-line FILE"
        )
    if len(files) > 1:
        import shlex

        command = f"fairq submit -- {shlex.join(files)}"
        raise UsageError(message=f"give one submit description; a command with its arguments goes after --: {command}")
    return (files[0] if files else None), macros


def tasks_of(array: str | None) -> tuple[list[str] | None, int | None]:
    """Return the items of ``--array``, and how many of their jobs may run at the same time; raises UsageError."""
    if array is None:
        return None, None
    from fairq.formats.batch_script import array_tasks

    try:
        return array_tasks(array)
    except ValueError as error:
        raise UsageError(message=str(error)) from None


def items_of(each: list[str] | None, file: str | None, numbers: list[str] | None = None) -> list[str] | None:
    """Return the items of ``--each``, of the *file* of ``--each-line``, without empty lines, or *numbers*; else None.

    Raises UsageError for more than one, or without an item; UnreadableDescriptionError.
    """
    if bool(each) + bool(numbers) + (file is not None) > 1:
        raise UsageError(message="--each, --each-line and --array exclude each other; give only one")
    if file is None:
        return each or numbers
    items = [line for line in text_of(file).splitlines() if line.strip()]
    if not items:
        raise UsageError(message=f"--each-line: {shown_name(file)} has no line with an item")
    return items


def shown_name(file: str) -> str:
    """Return the name of a *file* for messages."""
    return "standard input" if file == STANDARD_INPUT else file


def content_of(file: str) -> bytes:
    """Return the content of a *file* to submit, - for the standard input; raises UnreadableDescriptionError."""
    try:
        return read_bytes(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableDescriptionError(source=shown_name(file), reason=reason) from None


def text_of(file: str) -> str:
    """Return the text of a *file* to submit; raises UnreadableDescriptionError."""
    try:
        return content_of(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableDescriptionError(source=shown_name(file), reason="it is not UTF-8 text") from None


def mail_commands(text: str) -> dict[str, str]:
    """Return the submit commands for a value of ``--mail``; raises UsageError."""
    if text not in _MAILS:
        raise UsageError(message=f"--mail {text}: give {', '.join(list(_MAILS)[:-1])} or {list(_MAILS)[-1]}")
    return dict(zip(("notification", "notify_all_ended"), _MAILS[text], strict=True))


def attribute_of(text: str) -> tuple[str, str]:
    """Return the submit command and its value for a value of ``--attribute``; raises UsageError."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier() or not name.isascii() or not value.strip():
        raise UsageError(message=f"--attribute {text}: give NAME=EXPR, as --attribute 'Site=\"CERN\"'")
    return f"MY.{name}", value.strip()


def environment_of(variables: Sequence[str]) -> str:
    """Return the value of the command environment for those of ``--env``; raises UsageError."""
    from fairq.common.arguments import quoted

    words = []
    for text in variables:
        name, equals, value = text.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise UsageError(message=f"--env {text}: give NAME, or NAME=VALUE")
        if not equals:
            current = os.environ.get(name)
            if current is None:
                raise UsageError(message=f"--env {name}: there is no such variable here; give {name}=VALUE")
            value = current
        words.append(f"{name}={value}")
    return quoted(words)


def submitter_here(actor: Actor) -> JobContext:
    """Return the submitter of jobs here: user, directory and machine, at the actor's time."""
    from fairq.common.hardware import architecture, operating_system
    from fairq.steps.jobs.submit import Context as JobContext

    return JobContext(
        owner=operating_system_user(),
        directory=Path.cwd(),
        machine=architecture(),
        system=operating_system(),
        environment=os.environ,
        now=actor.time,
    )


def queued(
    invocation: Invocation,
    source: Description | Program,
    user: JobContext,
    actor: Actor,
    now: int | None = None,
    *,
    dry_run: bool = False,
) -> Submitted:
    """Queue the jobs of *source*, through the program of the pool in use if it has one."""
    from fairq.common.hardware import host_name
    from fairq.steps.jobs.submit import submit as step

    path, settings, host = invocation.state_path, invocation.settings, host_name()
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        return step(path, settings, source, user, actor, host=host, dry_run=dry_run)
    from fairq.host.client.changes import submit_jobs

    return submit_jobs(door, path, settings, source, user, actor, host)


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
