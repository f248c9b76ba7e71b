"""The requirements that define a task queue, and the tags of jobs (docs/dirac.md 1.1, JobScheduling, TaskQueueDB)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairq.engine.shares.cpu_time import SEGMENTS, bucket
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import JobRequirement, JobRequirementError


def requirements(
    owner: str,
    group: str,
    cpu_time: float,
    rules: Rules,
    *,
    segments: Sequence[int] = SEGMENTS,
    grid_ces: Iterable[str] = (),
    platforms: Iterable[str] = (),
    job_types: Iterable[str] = (),
    tags: Iterable[str] = (),
    sites: Iterable[str] = (),
    banned_sites: Iterable[str] = (),
    min_ram: int = 0,
    max_ram: int = 0,
) -> Requirements:
    """Return the requirements of a job in normal form: names stripped, sorted and unique.

    Raises JobRequirementError for invalid RAM, and under the rules dirac for a list of only blanks.
    """
    check_ram(min_ram, max_ram)
    return Requirements(
        owner=owner,
        group=group,
        cpu_time=bucket(cpu_time, segments),
        grid_ces=normal_names("GridCEs", grid_ces, rules),
        platforms=normal_names("Platforms", platforms, rules),
        job_types=normal_names("JobTypes", job_types, rules),
        tags=normal_names("Tags", tags, rules),
        sites=normal_names("Sites", sites, rules),
        banned_sites=normal_names("BannedSites", banned_sites, rules),
        min_ram=min_ram,
        max_ram=max_ram,
    )


def normal_names(what: str, given: Iterable[str], rules: Rules) -> tuple[str, ...]:
    """Return the names that a job gives for *what* in normal form.

    Raises JobRequirementError, only under the rules dirac, for a list of only blanks.
    """
    listed = list(given)
    if not listed:
        return ()
    kept = tuple(sorted({value.strip() for value in listed} - {""}))
    if not kept and rules.blank_lists == "error":
        raise JobRequirementError(JobRequirement.BLANK, what=what, value=listed)
    return kept


def whole_number(what: str, given: Any, default: int) -> int:
    """Return the number, at least 0, that a job gives for *what*; *default* if it gives none (None).

    Raises JobRequirementError for an invalid number; decimals are truncated.
    """
    if given is None:
        return default
    try:
        if isinstance(given, bool):
            raise ValueError
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise JobRequirementError(JobRequirement.NOT_WHOLE, what=what, value=given)
    return number


def check_ram(min_ram: int, max_ram: int) -> None:
    """Raise JobRequirementError for a negative number of MB, and for a minimum above the maximum."""
    for what, value in (("MinRAM", min_ram), ("MaxRAM", max_ram)):
        if value < 0:
            raise JobRequirementError(JobRequirement.NEGATIVE_RAM, what=what, value=value)
    if min_ram > max_ram > 0:
        raise JobRequirementError(JobRequirement.RAM_ABOVE_MAXIMUM, what="MinRAM", value=min_ram, maximum=max_ram)


def derived_tags(min_processors: int = 1, max_processors: int | None = 1, whole_node: bool = False) -> tuple[str, ...]:
    """Return the tags of a job for its requested processors.

    *max_processors* None: no maximum. Equal bounds above 1 are an exact number.
    """
    tags = set()
    if min_processors > 1:
        tags |= {f"{min_processors}Processors", "MultiProcessor"}
    if max_processors is None or max_processors > 1:
        tags.add("MultiProcessor")
    if whole_node:
        tags |= {"WholeNode", "MultiProcessor"}
    return tuple(sorted(tags))
