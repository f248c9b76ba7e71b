"""The output of Slurm's commands: lines and tables, refused if they were cut off, and the values in them.

Sources: the TRES, host range expressions and time formats of slurm.conf(5), squeue(1) and sacct(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from fairq.common.quantities import LATEST
from fairq.errors.pool import InvalidDumpError
from fairq.formats.source import Held

MOST_HOSTS = 100_000
"""Most hosts that one expression may name: more than any cluster has."""

_MOST_BRACKETS = 20

_MB = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)", re.ASCII)
_GPUS = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?:[:/][^:,=()]+)?[:=](\d{1,9})", re.ASCII)
_DURATION = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d{1,9})?", re.ASCII)
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def lines(held: Held) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank.

    Raises InvalidDumpError for zero bytes, and if the last line has no end.
    """
    if b"\0" in held.content:
        raise InvalidDumpError(
            source=held.name, where="somewhere", problem="it is not text", cure="give what the command prints"
        )
    text = held.content.decode("utf-8-sig", "replace")
    all_lines = text.split("\n")
    if all_lines[-1].strip():
        raise InvalidDumpError.at_line(held.name, len(all_lines), "it is cut off", "write the file again")
    for number, line in enumerate(all_lines, 1):
        if line.strip():
            yield number, line.rstrip("\r")


def table(held: Held, needed: Sequence[tuple[str, str]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the fields of each line of a table that ``|`` separates, below its headings.

    *needed* are the names of required fields, each with its purpose. Raises InvalidDumpError; for a missing field, with
    its purpose.
    """
    rows = lines(held)
    first, heading = next(rows, (1, ""))
    names = [name.strip() for name in heading.split("|")]
    for name, purpose in needed:
        if name not in names:
            raise missing_field(held.name, f"line {first}", name, purpose)
    for number, line in rows:
        values = line.split("|")
        if len(values) != len(names):
            problem = f"{len(values)} values under {len(names)} headings"
            cure = "write the file again with -P (--parsable2)"
            raise InvalidDumpError.at_line(held.name, number, problem, cure)
        yield number, dict(zip(names, values, strict=True))


def missing_field(source: str, where: str, name: str, purpose: str) -> InvalidDumpError:
    """Return the error of a record without the field *name*, which is needed for *purpose*."""
    return InvalidDumpError(
        source=source, where=where, problem=f"no field {name}, needed for {purpose}", cure="write the file with it"
    )


class Resources(Struct, frozen=True):
    """Trackable resources: *cpus*, *memory* in MB, *gpus*; 0 where the text names none."""

    cpus: int = 0
    memory: int = 0
    gpus: int = 0


def resources(text: str) -> Resources:
    """Return the resources in *text*, such as ``cpu=4,mem=62.50G,gres/gpu=2``."""
    amounts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    return Resources(int(_amount(amounts.get("cpu", ""))), int(_amount(amounts.get("mem", ""))), gpus(text))


def gpus(text: str) -> int:
    """Return the number of GPUs in *text*: the total if it names one, else the sum over the types."""
    total = re.search(r"(?:^|,)gres/gpu=(\d{1,9})", text, re.ASCII)
    return int(total[1]) if total else sum(map(int, _GPUS.findall(text)))


def _amount(text: str) -> float:
    match = _AMOUNT.fullmatch(text)
    return float(match[1]) * _MB[match[2]] if match else 0.0


def hosts(text: str) -> list[str]:
    """Return the hosts of an expression such as ``n[1-3,07],g1``; raises ValueError if it is invalid."""
    if text.count("[") > _MOST_BRACKETS:
        raise ValueError(f"more than {_MOST_BRACKETS} ranges")
    names: list[str] = []
    for part in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        for name in _expand(part):
            names.append(name)
            if len(names) > MOST_HOSTS:
                raise ValueError(f"more than {MOST_HOSTS} hosts")
    return names


def _expand(part: str) -> Iterator[str]:
    """Yield the names of an expression without commas outside brackets."""
    brackets = _BRACKETS.search(part)
    if brackets is None:
        yield part
        return
    for number in _numbers(brackets[1]):
        for following in _expand(part[brackets.end() :]):
            yield part[: brackets.start()] + number + following


def _numbers(text: str) -> Iterator[str]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not re.fullmatch(r"\d{1,9}(-\d{1,9})?", part, re.ASCII):
            raise ValueError(f"{part[:40]!r} is no range")
        if not dash:
            yield first
            continue
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def moment(text: str) -> int | None:
    """Return a time, such as ``2026-11-28T09:32:45``, in seconds since 1970 as if in UTC; None if there is none."""
    try:
        seconds = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= LATEST else None


def duration(text: str) -> int | None:
    """Return a duration, ``[DAYS-]HH:MM:SS``, ``MM:SS`` or ``DAYS-HH``, in seconds; None if it is none or unlimited."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, *clock = (int(part) if part else None for part in match.groups())
    clock_parts = [part for part in clock if part is not None]
    if days is not None:
        hours, minutes, seconds = [*clock_parts, 0, 0][:3]
    else:
        hours, minutes, seconds = [0, 0, *clock_parts][-3:]
    return ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds
