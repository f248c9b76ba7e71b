"""A program and its options on the command line of ``fairq submit``, as the source of jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.inputs import STANDARD_INPUT, read_bytes
from fairq.errors.base import UsageError
from fairq.errors.pool import InvalidSubmitValueError, UnreadableDescriptionError

if TYPE_CHECKING:
    from fairq.steps.jobs.submit import Program

_MAILS = {"end": ("complete", "false"), "fail": ("error", "false"), "all": ("never", "true")}
"""The values of ``--mail``, with those of the commands notification and notify_all_ended."""

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MACRO = re.compile(r"([A-Za-z_]\w*)=([^\n]*)", re.ASCII)


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
    name = "standard input" if file == STANDARD_INPUT else file
    try:
        lines = read_bytes(file).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnreadableDescriptionError(source=name, reason="it is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise UnreadableDescriptionError(source=name, reason=getattr(error, "strerror", None) or error) from None
    items = [line for line in lines if line.strip()]
    if not items:
        raise UsageError(message=f"--each-line: {name} has no line with an item")
    return items


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
