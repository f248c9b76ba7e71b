"""Whether a queue has the software that a task needs (docs/panda.md, Software; PanDA JsonSoftwareCheck)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.software.architecture import CpuSpec, GpuSpec
from fairq.engine.brokerage.software.hardware import ANY, Gpus, Lack, hardware_refusal

ANY_RELEASE = "ANY"
"""A word among the ``releases`` of a queue whose software is not checked."""

AUTO_RELEASES = ("AUTO",)
"""The ``releases`` of a queue whose published software decides."""

ANY_RELEASES = ("ANY",)
"""The ``releases`` of a queue that is taken to have everything."""

CVMFS = "/cvmfs"
ALL = "ALL"
"""The name under which CRIC publishes the tags of all queues."""

Entry = Mapping[str, Any]
"""What one queue publishes: ``cmtconfigs``, ``containers``, ``cvmfs``, ``architectures``, ``tags``."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a task needs of the software and hardware of a queue; equal needs have equal answers everywhere.

    Args:
        cvmfs_tag: ``atlas`` for releases and caches, ``nightlies``; None needs no release.
        project, version: the release or cache.
        platform: the ``sw_platform``.
        cvmfs_only: CVMFS must be there; tags do not do.
        hardware_only: nothing but hardware and container matters.
        in_container: the platform is run in a container.
        container: image of a container; empty is none, None is none as well but see `judge`.
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
    """How software and hardware are compared; the fields are rule points of the same names."""

    gpu_lists: bool
    empty_attribute: bool
    tags_need_any: bool
    tags_name_containers: bool
    platform_in_container: bool

    @classmethod
    def of(cls, rules: Rules) -> SoftwareRules:
        """Return how the rules in force compare."""
        return cls(*(getattr(rules, name) for name in cls._fields))


class Judgement(NamedTuple):
    """Whether a queue has what is needed, and what it lacks.

    ``unjudged`` is a queue that does not publish its software, for a task that needs neither container nor hardware.
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
    """Return whether a queue has what is needed.

    Args:
        needs: what the task needs.
        releases: the queue's ``releases``; only ``AUTO`` is judged by *entry*.
        entry: what the queue publishes; None: nothing.
        gpus: what its worker nodes report.
        all_tags: what is published for all queues, where containers' names are looked up.
        how: how they are compared.
    """
    if releases != AUTO_RELEASES or entry is None:
        if needs.container is not None or needs.cpus is not None or needs.gpu is not None:
            return Judgement("refused", Lack.NOT_PUBLISHED_FOR_HARDWARE)
        return Judgement("unjudged", Lack.NOT_PUBLISHED)
    refusal = lacks_hardware(needs, entry, gpus, how)
    return Judgement("refused", refusal) if refusal else _software(needs, entry, all_tags or {}, how)


def lacks_hardware(needs: Needs, entry: Entry, gpus: Gpus, how: SoftwareRules) -> Lack | None:
    """Return what the hardware that a queue publishes lacks, None if it fits."""
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
    """Return the factor of the weight for a task that prefers a CPU level, by its per cent of a queue."""
    return 1 + levels.get(preferred, 0) / 100 if preferred else 1.0
