"""The options that describe a pilot, shared by ``taskqueues match`` and ``taskqueues why``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.errors.base import InvalidNumberError
from fairq.errors.pool import InvalidJobIdError

if TYPE_CHECKING:
    from fairq.steps.taskqueues.pilots import Pilot


def number(what: str, least: float, most: float = math.inf, *, whole: bool) -> Callable[[str | float], float]:
    """Return a parser of numbers from *least* to *most* for the option *what*, for ``Option(parser=...)``."""

    def parse(text: str | float) -> float:
        if not isinstance(text, str):  # a default
            return text
        from fairq.settings.values import BadValueError, read_integer, read_real

        try:
            value: float = read_integer(text) if whole else read_real(text)
        except BadValueError:
            value = least - 1
        if not least <= value <= most:
            kind = "a whole number" if whole else "a number"
            limits = f"of at least {least:g}" if value < least else f"of at most {most:.0f}"
            raise InvalidNumberError(what=what, value=text, expected=f"give {kind} {limits}")
        return value

    return parse


Site = Annotated[str, Option("--site", metavar="SITE", help="Site that the pilot runs at.")]
CpuTime = Annotated[
    float,
    Option(
        "--cputime",
        metavar="N",
        parser=number("--cputime", 0, whole=False),
        help="Remaining CPU time of the pilot, in HS06 seconds.",
    ),
]
GridCE = Annotated[str | None, Option("--grid-ce", metavar="CE", help="Computing element of the pilot.")]
Platform = Annotated[str | None, Option("--platform", metavar="NAME", help="Platform of the pilot.")]
JobType = Annotated[str | None, Option("--job-type", metavar="TYPE", help="Only jobs of this type or of none.")]
Tag = Annotated[
    list[str] | None,
    Option("--tag", metavar="TAG", help="Tag that the pilot offers; repeatable."),
]
RequiredTag = Annotated[
    list[str] | None,
    Option("--required-tag", metavar="TAG", help="Offer this tag and take only jobs with it; repeatable."),
]
Group = Annotated[list[str] | None, Option("--group", metavar="GROUP", help="Only jobs of this group; repeatable.")]
Owner = Annotated[
    str | None,
    Option("--owner", metavar="USER", help="Only jobs of this user; ignored with job sharing."),
]
VO = Annotated[
    str | None,
    Option("--vo", metavar="VO", help="Only jobs of this VO's groups, unless --group is given."),
]
Proxy = Annotated[
    str | None,
    Option("--proxy", metavar="USER@GROUP", help="Owner of a pilot that is not generic."),
]
Processors = Annotated[
    float | None,
    Option(
        "--processors",
        metavar="N",
        parser=number("--processors", 1, whole=True),
        help="Processors; offers tags 1Processors to NProcessors, MultiProcessor.",
    ),
]
WholeNode = Annotated[bool, Option("--whole-node", help="Offer a whole machine.")]
MaxRAM = Annotated[
    float | None,
    Option(
        "--max-ram",
        metavar="MB",
        parser=number("--max-ram", 0, whole=False),
        help="Memory of the pilot [default: not checked].",
    ),
]
Reference = Annotated[str | None, Option("--pilot", metavar="NAME", help="Name of the pilot, stored with its slot.")]


PILOT = (
    "site", "cputime", "grid_ce", "platform", "job_type", "tag", "required_tag", "group", "owner", "vo",
    "proxy", "processors", "whole_node", "max_ram", "pilot",
)  # fmt: skip
"""The parameters of a command that `pilot_of` uses."""


def pilot_of(
    *,
    site: str,
    cputime: float,
    tag: list[str] | None,
    required_tag: list[str] | None,
    group: list[str] | None,
    processors: float | None,
    pilot: str | None = None,
    **other_options: Any,
) -> Pilot:
    """Return the pilot that the options describe."""
    from fairq.steps.taskqueues.pilots import Pilot

    required = tuple(required_tag or ())
    return Pilot(
        site=site,
        cpu_time=cputime,
        tags=tuple(dict.fromkeys((*(tag or ()), *required))),
        required_tags=required,
        groups=tuple(group or ()),
        processors=None if processors is None else int(processors),
        reference=pilot,
        **other_options,
    )


def target_of(text: str) -> int | tuple[int, int]:
    """Return the number of a task queue, or the cluster and proc of a job; raises InvalidJobIdError."""
    matched = re.fullmatch(r"(\d{1,18})(?:\.(\d{1,18}))?", text, re.ASCII)
    if matched is None:
        raise InvalidJobIdError(value=text)
    number, proc = matched.groups()
    return int(number) if proc is None else (int(number), int(proc))
