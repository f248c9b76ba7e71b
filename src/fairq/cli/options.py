"""Shared options of commands, and parsers for their values."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

from typer import Option
from typer.core import TyperOption

from fairq.cli.output.selection import Format, Output
from fairq.cli.single_dash import SEPARATOR, WATCH_DEFAULT
from fairq.common.quantities import LONGEST, OutsideError, duration, moment, shown_time, upcoming
from fairq.errors.base import InvalidNumberError, InvalidTimeError, TimeRangeError, UsageError


def parse_time(
    text: str, option: str = "--now", now: int | None = None, read: Callable[[str, int], int | None] = moment
) -> int:
    """Return *text* as seconds since 1970, as *read* does; *now*: else the clock's time.

    Raises InvalidTimeError naming *option*, TimeRangeError for a time before 1970 or after 2200.
    """
    try:
        seconds = read(text, int(time.time()) if now is None else now)
    except OutsideError:
        raise TimeRangeError(what=option, value=text) from None
    if seconds is None:
        raise InvalidTimeError(what=option, value=text)
    return seconds


def parse_end(text: str | None, begin: int, option: str = "--until", now: int | None = None) -> int | None:
    """Return the value of an *option*, which counts from *begin*: +2h, or 12:00 as the next one; None for None.

    Words such as tomorrow count from *now*, by default *begin*. Raises UsageError if it is not later than *begin*.
    """
    base = begin if now is None or text is None or not text.strip()[:1].isalpha() else now
    end = None if text is None else parse_time(text, option, base, upcoming)
    if end is not None and end <= begin:
        raise UsageError(message=f"{option} is not later than {shown_time(begin)}; give a later time, such as +2h")
    return end


def time_of(option: str) -> Callable[[str], int]:
    """Return a parser of times for *option*, for ``Option(parser=...)``."""

    def parse(text: str) -> int:
        return parse_time(text, option)

    return parse


def parse_duration(text: str, option: str = "the duration") -> int:
    """Return *text* in seconds: ``3600``, ``30m``, ``1h``, ``90d``, ``2w`` or several in a row as ``1h30m``.

    Raises InvalidNumberError naming *option*.
    """
    seconds = duration(text)
    if seconds is None:
        expected = "give seconds, or a duration such as 30m, 1h or 90d"
        raise InvalidNumberError(what=option, value=text, expected=expected)
    if seconds > LONGEST:
        raise InvalidNumberError(what=option, value=text, expected="give less than 8000 years")
    return int(seconds)


def duration_of(option: str) -> Callable[[str], int]:
    """Return a parser of durations for *option*, for ``Option(parser=...)``."""

    def parse(text: str) -> int:
        return parse_duration(text, option)

    return parse


def valued(spellings: str, text: str, metavar: str = "VALUE", **how: Any) -> Any:
    """Return an option with a value, by its *spellings*: ``Annotated[str | None, valued("--mem -m", "Memory.")]``."""
    return Option(*spellings.split(), metavar=metavar, help=text, **how)


def duration_option(name: str, text: str, *, metavar: str = "TIME") -> Any:
    """Return the option *name* whose value is a duration: ``Annotated[int | None, duration_option(...)]``."""
    return valued(name, text, metavar, parser=duration_of(name))


Now = Annotated[
    int | None,
    valued("--now", "Use TIME instead of the clock [such as 10:30 or -1h].", "TIME", parser=time_of("--now")),
]
"""``now: Now = None``; pass it to `Invocation.now`."""

DryRun = Annotated[bool, Option("--dry-run", help="Show the result without storing it.")]
"""``dry_run: DryRun = False``"""

Reason = Annotated[str | None, valued("--reason", "Reason to store in the history.", "TEXT")]
"""``reason: Reason = None``; pass it to `Invocation.actor`."""

Constraint = Annotated[
    list[str] | None,
    valued("--constraint", "Select only matches of this ClassAd expression; repeatable.", "EXPR"),
]
"""``constraint: Constraint = None``, for commands that change the selected objects; see `joined`."""


def joined(constraints: list[str] | None) -> str | None:
    """Return several ``--constraint`` joined to one expression, or None.

    Raises UsageError for an empty one, ExpressionError for one that does not parse.
    """
    if not constraints:
        return None
    from fairq.cli.output.constraint import check

    for text in constraints:
        if not text.strip():
            raise UsageError(message="--constraint is empty; give a ClassAd expression, such as 'JobStatus == 1'")
        check(text)
    return constraints[0] if len(constraints) == 1 else " && ".join(f"({text})" for text in constraints)


def _output_option(spelling: str, text: str, **how: Any) -> TyperOption:
    name = f"output_{spelling.removeprefix('--').replace('-', '_')}"
    return TyperOption(param_decls=[name, spelling], help=text, **how)


OUTPUT = (
    _output_option("--json", "Print one JSON document.", is_flag=True),
    _output_option("--ndjson", "Print one JSON object per line.", is_flag=True),
    _output_option("--csv", "Print comma-separated values.", is_flag=True),
    _output_option("--tsv", "Print tab-separated values.", is_flag=True),
    _output_option(
        "--af",
        "Print only these attributes or expressions [modifiers: --af:jlhVr,tng].",
        multiple=True,
        metavar="ATTR...",
    ),
    _output_option("--no-header", "Print no headings.", is_flag=True),
)
"""The output options of a command."""

OUTPUT_CONSTRAINT = _output_option(
    "--constraint", "Show only matches of this ClassAd expression; repeatable.", multiple=True, metavar="EXPR"
)
"""The additional output option of a command that lists records."""

WATCH = TyperOption(
    param_decls=["watch_seconds", "--watch"],
    metavar="[SECONDS]",
    help=f"Refresh every SECONDS [default: {WATCH_DEFAULT}]; q quits.",
)
"""The option of a command whose output is redrawn repeatedly."""

_AF_MODIFIERS = frozenset("jlhVro,tng")


def read_output(values: Mapping[str, Any], quiet: bool) -> Output:
    """Return the output that the values of `OUTPUT` and `OUTPUT_CONSTRAINT` describe, by name.

    Raises:
        UsageError: formats clash.
        ExpressionError: the constraint or an expression of ``--af`` does not parse. It is raised before the
            command stores anything that it could not show afterwards.
    """
    formats: list[Format] = [name for name in get_args(Format) if values.get(f"output_{name}")]
    attributes: list[str] = []
    modifiers = ""
    for words in values["output_af"]:
        first, *words_after = words.split(SEPARATOR)
        modifiers += first
        attributes += words_after
    if len(formats) > 1:
        raise UsageError(message=f"--{formats[0]} and --{formats[1]} exclude each other; give only one")
    for modifier in modifiers:
        if modifier not in _AF_MODIFIERS:
            raise UsageError(message=f"--af: {modifier!r} is not a modifier; give some of jlhVr,tng")
    constraint = joined(values.get("output_constraint"))
    if attributes:
        from fairq.cli.output.autoformat import check

        check(attributes)
    return Output(
        format=formats[0] if formats else "table",
        header=not values["output_no_header"],
        attributes=tuple(attributes),
        modifiers=modifiers,
        constraint=constraint,
        quiet=quiet,
    )


_RANGES = ((re.compile(r"(-?\d+)<=x<=(-?\d+)"), r"\1 to \2"), (re.compile(r"x>=(-?\d+)"), r"at least \1"))


def ranges_in_words(text: str) -> str:
    """Return *text* with its ranges written as ``1 to 9`` or ``at least 1``."""
    for pattern, words in _RANGES:
        text = pattern.sub(words, text)
    return text
