"""What a task needs of software, and whether a queue has it (docs/panda.md, Software; PanDA JsonSoftwareCheck)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.software.architecture import Architecture, CpuSpec, GpuSpec
from fairq.engine.brokerage.software.hardware import ANY, Gpus, Lack, cpu_architectures, hardware_refusal

_WILD = re.compile(r"[*+?|()\[\]{}\\^$]")
_PLAIN = r"[\w.+-]+"
_ALTERNATION = re.compile(rf"\(({_PLAIN}(?:\|{_PLAIN})*)\)({_PLAIN})", re.ASCII)


def is_pattern(platform: str | None) -> bool:
    """Return whether a platform is a regular expression: one that does not match itself."""
    if not platform:
        return False
    try:
        return re.match(platform, platform) is None
    except re.error:
        return True


def may_resolve(platform: str | None) -> bool:
    """Return whether a platform may select another one: it has a special character of regular expressions."""
    return bool(platform) and _WILD.search(platform or "") is not None


def resolve_platform(platform: str | None, base_platform: str | None, entry: Entry | None) -> str | None:
    """Return the platform that *platform* selects at the queue with *entry*; None: nothing to resolve, or impossible.

    A platform that the queue lists needs no resolving. Otherwise the result is the first listed platform that the whole
    expression matches. For ``(x86_64|aarch64)-...`` with plain words only, it is the first alternative that is a CPU
    architecture of the queue. The base platform is appended (PanDA resolve_cmt_config).
    """
    if entry is None or not platform:
        return None
    listed = list(entry.get("cmtconfigs") or ())
    if platform in listed:
        return None
    resolved = _first_match(platform, listed) or _first_alternative(platform, entry)
    return f"{resolved}@{base_platform}" if resolved and base_platform else resolved


def _first_match(platform: str, listed: list[str]) -> str | None:
    try:
        expression = re.compile(f"^{platform}$")
    except re.error:
        return None
    return next((name for name in listed if expression.search(name)), None)


def _first_alternative(platform: str, entry: Entry) -> str | None:
    match = _ALTERNATION.fullmatch(platform)
    if not match:
        return None
    arches = cpu_architectures(entry.get("architectures"))
    return next((f"{arch}{match[2]}" for arch in match[1].split("|") if arch in arches or ANY in arches), None)


ANY_RELEASE = "ANY"
"""A word among the ``releases`` of a queue whose software is not checked."""

AUTO_RELEASES = ("AUTO",)
"""The ``releases`` of a queue whose published software decides."""

ANY_RELEASES = ("ANY",)
"""The ``releases`` of a queue that is assumed to have all software."""

CVMFS = "/cvmfs"
ALL = "ALL"
"""The name under which CRIC publishes the tags of all queues."""

Entry = Mapping[str, Any]
"""What one queue publishes: ``cmtconfigs``, ``containers``, ``cvmfs``, ``architectures``, ``tags``."""


class Needs(Struct, frozen=True):
    """The software and hardware that a task needs; tasks with equal needs get equal answers.

    Args:
        cvmfs_tag: ``atlas`` for releases and caches, ``nightlies``; None needs no release.
        project, version: the release or cache.
        platform: the ``sw_platform``.
        cvmfs_only: CVMFS is required; tags are not sufficient.
        hardware_only: only hardware and container are checked.
        in_container: the platform is run in a container.
        container: image of a container; empty or None is none, with a difference in `judge`.
        only_tags: the container must be named by a tag of the queue.
        cpus, gpu: the hardware.
    """

    cvmfs_tag: str | None = None
    project: str | None = None
    version: str | None = None
    platform: str | None = None
    cvmfs_only: bool = False
    hardware_only: bool = False
    in_container: bool = False
    container: str | None = None
    only_tags: bool = False
    cpus: tuple[CpuSpec, ...] | None = None
    gpu: GpuSpec | None = None


class Judgement(NamedTuple):
    """Whether a queue has the software and hardware needed, and what it lacks.

    ``unjudged``: the queue publishes no software, and the task needs neither container nor hardware.
    """

    verdict: Literal["accepted", "refused", "unjudged"]
    lacks: Lack | None = None


def judge(
    needs: Needs,
    releases: tuple[str, ...],
    entry: Entry | None,
    gpus: Gpus = (),
    all_tags: Entry | None = None,
    *,
    rules: Rules,
) -> Judgement:
    """Return whether a queue has the software and hardware that a task needs.

    Args:
        needs: the needs of the task.
        releases: the queue's ``releases``; only for ``AUTO`` is *entry* compared.
        entry: what the queue publishes; None: nothing.
        gpus: the GPUs that its worker nodes reported.
        all_tags: the tags of all queues, to look up names of containers.
        rules: the rules in use.
    """
    if releases != AUTO_RELEASES or entry is None:
        if needs.container is not None or needs.cpus is not None or needs.gpu is not None:
            return Judgement("refused", Lack.NOT_PUBLISHED_FOR_HARDWARE)
        return Judgement("unjudged", Lack.NOT_PUBLISHED)
    refusal = hardware_refusal(needs.cpus, needs.gpu, entry.get("architectures"), gpus, rules)
    return Judgement("refused", refusal) if refusal else _software(needs, entry, all_tags or {}, rules)


def _software(needs: Needs, entry: Entry, all_tags: Entry, rules: Rules) -> Judgement:
    asks_for_software = needs.cvmfs_tag or needs.platform or needs.project or needs.version or needs.container
    if not asks_for_software and (needs.cpus or needs.gpu):
        return Judgement("accepted")
    if needs.container:
        return _container(needs, entry, all_tags, rules)
    if needs.hardware_only:
        return Judgement("accepted")
    return _release(needs, entry, rules)


def _words(entry: Entry, name: str) -> list[str]:
    return list(entry.get(name) or ())


def _container(needs: Needs, entry: Entry, all_tags: Entry, rules: Rules) -> Judgement:
    prefixes, name, only_tags = _words(entry, "containers"), needs.container or "", needs.only_tags
    if not only_tags and (ANY in prefixes or CVMFS in prefixes):
        return Judgement("accepted")
    tags = entry.get("tags") or () if only_tags or rules.tags_name_containers else ()
    if any(tag.get("container_name") == name for tag in tags):
        return Judgement("accepted")
    if any(name in (tag.get("sources") or ()) for tag in tags):
        return Judgement("accepted")
    if not only_tags:
        sources = [
            source
            for tag in all_tags.get("tags") or ()
            if tag.get("container_name") == name
            for source in tag.get("sources") or ()
        ]
        if any(path.startswith(prefix) for prefix in prefixes for path in (name, *sources)):
            return Judgement("accepted")
    return Judgement("refused", Lack.NO_CONTAINER)


def _release(needs: Needs, entry: Entry, rules: Rules) -> Judgement:
    containers, cvmfs = _words(entry, "containers"), _words(entry, "cvmfs")
    if ANY in cvmfs or needs.cvmfs_tag in cvmfs:
        if ANY in containers or CVMFS in containers:
            return Judgement("accepted")
        if (rules.platform_in_container or not needs.in_container) and needs.platform in _words(entry, "cmtconfigs"):
            return Judgement("accepted")
        return Judgement("refused", Lack.NO_CONTAINERS_NOR_PLATFORM)
    if needs.cvmfs_only or ((rules.tags_need_any or needs.in_container) and ANY not in containers):
        return Judgement("refused", Lack.NO_CVMFS if needs.cvmfs_only else Lack.NO_CVMFS_NOR_CONTAINERS)
    release = (needs.platform, needs.project, needs.version)
    if any(
        (tag.get("cmtconfig"), tag.get("project"), tag.get("release")) == release for tag in entry.get("tags") or ()
    ):
        return Judgement("accepted")
    return Judgement("refused", Lack.NO_CVMFS_NOR_TAG)


def level_factor(levels: Mapping[str, float], preferred: str | None) -> float:
    """Return the weight factor for a preferred CPU level, from the percentage of the queue with that level."""
    return 1 + levels.get(preferred, 0) / 100 if preferred else 1.0


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
    """Software values of a task: release, cache, architecture, container, and whether a tag must name the container."""

    trans_home: str | None
    trans_uses: str | None
    architecture: str | None
    container_name: str | None
    only_tags: bool

    @classmethod
    def of(cls, task: Task) -> Wanted:
        """Return the software values of *task*."""
        return cls(task.trans_home, task.trans_uses, task.architecture, task.container_name, task.has_rule(ONLY_TAGS))


def production_needs(task: Wanted, architecture: Architecture, *, without_release: bool) -> Needs | None:
    """Return the needs of a production task; None: it names no release, and nothing is checked.

    With *without_release*, the container and hardware of a task without a release are checked.
    """
    if task.trans_home is None:
        if not without_release:
            return None
        return replace(
            _common(task, architecture), platform=None, hardware_only=True, container=task.container_name or None
        )
    common = replace(_common(task, architecture), in_container=architecture.base_platform is not None)
    if not _BASE_RELEASE.search(task.trans_home) and _NIGHTLY.search(task.trans_home):
        return replace(common, cvmfs_tag=NIGHTLIES)
    return _needs_of_release(common, task.trans_home)


def analysis_needs(task: Wanted, architecture: Architecture) -> Sequence[Needs]:
    """Return the needs of an analysis task, in order: if the first leaves a queue unjudged, the next is checked.

    Empty: no queue can be accepted.
    """
    common = _common(task, architecture)
    home = re.sub("^[^-]+-*", "", task.trans_home or "").replace("_", "-")
    is_base = _BASE_RELEASE.search(home) is not None
    if not is_base and not _NIGHTLY.search(home) and task.trans_home not in {None, STANDALONE_TRANSFORM}:
        return (_needs_of_release(common, home),)
    uses_cache = task.trans_uses is not None and _CACHE.search(task.trans_uses) is not None
    if (not home and task.trans_uses is not None) or (is_base and not uses_cache):
        needs = []
        if task.trans_uses is not None:
            used = task.trans_uses.rpartition("-")[2]
            needs.append(replace(common, cvmfs_tag=ATLAS, project=BASE_PROJECT, version=used))
        if home.count("-") == 1:
            needs.append(_needs_of_release(common, home))
        return needs
    if task.trans_home is not None:
        return (replace(common, cvmfs_tag=NIGHTLIES, cvmfs_only=True),)
    return (replace(common, hardware_only=True),)


def _common(task: Wanted, architecture: Architecture) -> Needs:
    return Needs(
        platform=architecture.sw_platform,
        container=task.container_name,
        only_tags=task.only_tags,
        cpus=architecture.cpus,
        gpu=architecture.gpu,
    )


def _needs_of_release(common: Needs, home: str) -> Needs:
    project, version, *_ = [*home.split("-"), ""]
    return replace(common, cvmfs_tag=ATLAS, project=project, version=version)
