"""The software needs of a task, from its release and architecture (docs/panda.md, Software)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.software.architecture import Architecture
from fairq.engine.brokerage.software.check import Needs

ATLAS = "atlas"
NIGHTLIES = "nightlies"
BASE_PROJECT = "AtlasOffline"
"""The project of the base release that ``transUses`` names."""

STANDALONE_TRANSFORM = "AnalysisTransforms"

_BASE_RELEASE = re.compile(r"-\d+\.\d+\.\d+$")
_NIGHTLY = re.compile(r"rel_\d+(\n|$)|\d{4}-\d{2}-\d{2}T\d{4}$")
_CACHE = re.compile(r"-\d+\.\d+$")

ONLY_TAGS = "OT"
"""The two-letter rule of a task whose container must be named by a tag."""


class Wanted(NamedTuple):
    """What a task says of its software: release, cache, architecture, container, and whether a tag must name that."""

    trans_home: str | None
    trans_uses: str | None
    architecture: str | None
    container_name: str | None
    only_tags: bool

    @classmethod
    def of(cls, task: Task) -> Wanted:
        """Return what *task* says."""
        return cls(task.trans_home, task.trans_uses, task.architecture, task.container_name, task.has_rule(ONLY_TAGS))


def production_needs(task: Wanted, asked: Architecture, *, without_release: bool) -> Needs | None:
    """Return the needs of a production task; None: it names no release, and nothing is checked.

    With *without_release*, the container and hardware of this task are checked.
    """
    if task.trans_home is None:
        if not without_release:
            return None
        return replace(_common(task, asked), platform=None, hardware_only=True, container=task.container_name or None)
    common = replace(_common(task, asked), in_container=asked.base_platform is not None)
    if not _BASE_RELEASE.search(task.trans_home) and _NIGHTLY.search(task.trans_home):
        return replace(common, cvmfs_tag=NIGHTLIES)
    return _release(common, task.trans_home)


def analysis_needs(task: Wanted, asked: Architecture) -> Sequence[Needs]:
    """Return the needs of an analysis task, in order: if the first leaves a queue unjudged, the next is checked.

    Empty: no queue can be accepted.
    """
    common = _common(task, asked)
    home = re.sub("^[^-]+-*", "", task.trans_home or "").replace("_", "-")
    is_base = _BASE_RELEASE.search(home) is not None
    if not is_base and not _NIGHTLY.search(home) and task.trans_home not in {None, STANDALONE_TRANSFORM}:
        return (_release(common, home),)
    uses_cache = task.trans_uses is not None and _CACHE.search(task.trans_uses) is not None
    if (not home and task.trans_uses is not None) or (is_base and not uses_cache):
        needs = []
        if task.trans_uses is not None:
            used = task.trans_uses.rpartition("-")[2]
            needs.append(replace(common, cvmfs_tag=ATLAS, project=BASE_PROJECT, version=used))
        if home.count("-") == 1:
            needs.append(_release(common, home))
        return needs
    if task.trans_home is not None:
        return (replace(common, cvmfs_tag=NIGHTLIES, cvmfs_only=True),)
    return (replace(common, hardware_only=True),)


def _common(task: Wanted, asked: Architecture) -> Needs:
    return Needs(
        platform=asked.sw_platform,
        container=task.container_name,
        only_tags=task.only_tags,
        cpus=asked.cpus,
        gpu=asked.gpu,
    )


def _release(common: Needs, home: str) -> Needs:
    project, version, *_ = [*home.split("-"), ""]
    return replace(common, cvmfs_tag=ATLAS, project=project, version=version)
