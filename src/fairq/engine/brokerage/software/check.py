"""The check of a queue's software (docs/panda.md, Software; PanDA JsonSoftwareCheck)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.software.architecture import CpuSpec, GpuSpec
from fairq.engine.brokerage.software.hardware import ANY, Gpus, Lack, hardware_refusal

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


class SoftwareRules(NamedTuple):
    """Rules of the comparison of software and hardware; the fields are rule points of the same names."""

    gpu_lists: bool
    empty_attribute: bool
    tags_need_any: bool
    tags_name_containers: bool
    platform_in_container: bool

    @classmethod
    def of(cls, rules: Rules) -> SoftwareRules:
        """Return the comparison rules from the rules in use."""
        return cls(*(getattr(rules, name) for name in cls._fields))


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
    how: SoftwareRules,
) -> Judgement:
    """Return whether a queue has the software and hardware that a task needs.

    Args:
        needs: the needs of the task.
        releases: the queue's ``releases``; only for ``AUTO`` is *entry* compared.
        entry: what the queue publishes; None: nothing.
        gpus: the GPUs that its worker nodes reported.
        all_tags: the tags of all queues, to look up names of containers.
        how: the rules of the comparison.
    """
    if releases != AUTO_RELEASES or entry is None:
        if needs.container is not None or needs.cpus is not None or needs.gpu is not None:
            return Judgement("refused", Lack.NOT_PUBLISHED_FOR_HARDWARE)
        return Judgement("unjudged", Lack.NOT_PUBLISHED)
    refusal = lacks_hardware(needs, entry, gpus, how)
    return Judgement("refused", refusal) if refusal else _software(needs, entry, all_tags or {}, how)


def lacks_hardware(needs: Needs, entry: Entry, gpus: Gpus, how: SoftwareRules) -> Lack | None:
    """Return what the published hardware of a queue lacks; None if it is sufficient."""
    return hardware_refusal(
        needs.cpus,
        needs.gpu,
        entry.get("architectures"),
        gpus,
        use_lists=how.gpu_lists,
        empty_is_any=how.empty_attribute,
    )


def _software(needs: Needs, entry: Entry, all_tags: Entry, how: SoftwareRules) -> Judgement:
    asks_for_software = needs.cvmfs_tag or needs.platform or needs.project or needs.version or needs.container
    if not asks_for_software and (needs.cpus or needs.gpu):
        return Judgement("accepted")
    if needs.container:
        return _container(needs, entry, all_tags, how)
    if needs.hardware_only:
        return Judgement("accepted")
    return _release(needs, entry, how)


def _words(entry: Entry, name: str) -> list[str]:
    return list(entry.get(name) or ())


def _container(needs: Needs, entry: Entry, all_tags: Entry, how: SoftwareRules) -> Judgement:
    prefixes, name, only_tags = _words(entry, "containers"), needs.container or "", needs.only_tags
    if not only_tags and (ANY in prefixes or CVMFS in prefixes):
        return Judgement("accepted")
    tags = entry.get("tags") or () if only_tags or how.tags_name_containers else ()
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


def _release(needs: Needs, entry: Entry, how: SoftwareRules) -> Judgement:
    containers, cvmfs = _words(entry, "containers"), _words(entry, "cvmfs")
    if ANY in cvmfs or needs.cvmfs_tag in cvmfs:
        if ANY in containers or CVMFS in containers:
            return Judgement("accepted")
        if (how.platform_in_container or not needs.in_container) and needs.platform in _words(entry, "cmtconfigs"):
            return Judgement("accepted")
        return Judgement("refused", Lack.NO_CONTAINERS_NOR_PLATFORM)
    if needs.cvmfs_only or ((how.tags_need_any or needs.in_container) and ANY not in containers):
        return Judgement("refused", Lack.NO_CVMFS if needs.cvmfs_only else Lack.NO_CVMFS_NOR_CONTAINERS)
    wanted = (needs.platform, needs.project, needs.version)
    if any((t.get("cmtconfig"), t.get("project"), t.get("release")) == wanted for t in entry.get("tags") or ()):
        return Judgement("accepted")
    return Judgement("refused", Lack.NO_CVMFS_NOR_TAG)


def level_factor(levels: Mapping[str, float], preferred: str | None) -> float:
    """Return the weight factor for a preferred CPU level, from the percentage of the queue with that level."""
    return 1 + levels.get(preferred, 0) / 100 if preferred else 1.0
