"""The needs of many jobs, by column: what defines a field of their requirements is read once for equal values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Integers, ListColumn, Mask, NumberColumn, TextColumn, distinct_rows
from fairq.engine.shares.division import Floats
from fairq.engine.shares.job_needs import (
    CPU_TIME_ATTRIBUTE,
    LIST_ATTRIBUTES,
    NAMING_ATTRIBUTES,
    PRIORITY_ATTRIBUTES,
    RAM_ATTRIBUTES,
    JobDefaults,
    read_cpu_time,
    read_list,
    read_priorities,
    read_ram,
)
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.name_lists import read_lists
from fairq.engine.shares.requirement_table import RequirementTable
from fairq.errors.shares import JobRequirementError


class Attribute(Struct, frozen=True):
    """An attribute of many jobs: *codes* are the places of its values in *values*; -1: the job does not have it."""

    codes: Integers
    values: Sequence[Any]


class NeedsTable(Struct, frozen=True):
    """The needs of many jobs (`job_needs.JobNeeds`).

    Attributes:
        columns: the columns of the requirements without owner and group, by name.
        real_priorities: each job's part of the sum of its queue.
        is_refused: which jobs have an invalid value; their needs mean nothing. `job_needs.read_needs` tells why.
    """

    columns: dict[str, ListColumn | NumberColumn]
    real_priorities: Floats
    is_refused: Mask

    def requirements(self, owner: TextColumn, group: TextColumn) -> RequirementTable:
        """Return the requirements of the jobs with their owners and groups."""
        columns = {"owner": owner, "group": group, **self.columns}
        return RequirementTable(*(columns[name] for name in Requirements._fields))  # type: ignore[arg-type]


JOB_PRIORITY = "jobprio"
"""HTCondor's JobPrio of jobs, as an attribute that every job has."""


def read_table(jobs: Mapping[str, Attribute], defaults: JobDefaults) -> NeedsTable:
    """Return the needs of *jobs*: plain values by the lower-case names of `job_needs.ATTRIBUTES`, and `JOB_PRIORITY`.

    An attribute that no job has may be left out.
    """
    is_refused = np.zeros(len(jobs[JOB_PRIORITY].codes), bool)

    def read(names: Sequence[str], reader: Callable[[Mapping[str, Any]], Any], refused: Any) -> tuple[list[Any], Any]:
        """Return what *reader* reads from different jobs, and over the jobs the places in that."""
        kinds, of_job = attributes_of_kinds(jobs, names)
        results, is_invalid = [], np.zeros(len(kinds), bool)
        for place, kind in enumerate(kinds):
            try:
                results.append(reader(kind))
            except JobRequirementError:
                results.append(refused)
                is_invalid[place] = True
        is_refused[is_invalid[of_job]] = True
        return results, of_job

    columns: dict[str, ListColumn | NumberColumn] = {}
    for name, names in LIST_ATTRIBUTES.items():
        given = [word for word in names if word in jobs]
        if len(given) == 1 and _are_names(given[0], jobs[given[0]]):
            # The last text is for jobs without the attribute, whose code is -1.
            codes = jobs[given[0]].codes
            lists, is_invalid = read_lists([*jobs[given[0]].values, ""], name, defaults)
            columns[name] = lists.take(codes)
            is_refused |= is_invalid[codes]
        else:
            found, of_job = read(names, partial(read_list, name=name, defaults=defaults), ())
            columns[name] = ListColumn.of(found).take(of_job)
    found, of_job = read((CPU_TIME_ATTRIBUTE,), partial(read_cpu_time, defaults=defaults), 0)
    columns["cpu_time"] = NumberColumn.of(found).take(of_job)
    found, of_job = read(RAM_ATTRIBUTES, read_ram, (0, 0))
    for place, name in enumerate(("min_ram", "max_ram")):
        columns[name] = NumberColumn.of([ram[place] for ram in found]).take(of_job)
    found, of_job = read(
        (JOB_PRIORITY, *PRIORITY_ATTRIBUTES), lambda job: read_priorities(job, job[JOB_PRIORITY], defaults)[1], 0.0
    )
    return NeedsTable(columns, np.array(found, float)[of_job], is_refused)


def _are_names(word: str, attribute: Attribute) -> bool:
    """Return whether all values of the attribute *word* are texts with names."""
    return word in NAMING_ATTRIBUTES and set(map(type, attribute.values)) <= {str}


def attributes_of_kinds(jobs: Mapping[str, Attribute], names: Iterable[str]) -> tuple[list[dict[str, Any]], Integers]:
    """Return each different combination of the attributes *names*, and over the jobs the place of its combination."""
    given = {name: jobs[name] for name in names if name in jobs}
    if not given:
        return [{}], np.zeros(len(jobs[JOB_PRIORITY].codes), np.int64)
    first, kinds = distinct_rows(attribute.codes for attribute in given.values())
    found: list[dict[str, Any]] = [{} for _ in range(len(first))]
    for name, attribute in given.items():
        for kind, code in zip(found, attribute.codes[first].tolist(), strict=True):
            if code >= 0:
                kind[name] = attribute.values[code]
    return found, kinds
