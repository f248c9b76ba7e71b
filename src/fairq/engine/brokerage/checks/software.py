"""Software, containers and hardware of a queue compared with the needs of a task (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION
from fairq.engine.brokerage.software.architecture import Architecture, read_architecture
from fairq.engine.brokerage.software.equal_queues import by_software
from fairq.engine.brokerage.software.hardware import Lack
from fairq.engine.brokerage.software.judging import (
    ALL,
    ANY_RELEASE,
    ANY_RELEASES,
    Judgement,
    Needs,
    SoftwareRules,
    judge,
    lacks_hardware,
)
from fairq.engine.brokerage.software.needs import ONLY_TAGS, analysis_needs, production_needs
from fairq.engine.brokerage.software.platforms import is_pattern, may_resolve, resolve_platform

NOTHING = Judgement("unjudged", Lack.NO_RELEASE_NAMED)


def architecture_of(request: BrokerageRequest) -> Architecture:
    """Return the hardware and platform that the task asks for."""
    return read_architecture(request.task.architecture, infer_cpu=request.rules.infer_cpu)


class SoftwareCheck(KeyedFilter):
    """The queue must have the release, container and hardware."""

    stage = "SW/HW check"
    reasons = (
        Reason("cache"),
        Reason("regexpcmtconfig"),
    )

    def needs(self, request: BrokerageRequest, asked: Architecture) -> Sequence[Needs]:
        """Return the needs of the task, in order: if the first leaves a queue unjudged, the next is checked."""
        raise NotImplementedError

    def suits_any_release(self, needs: Sequence[Needs], asked: Architecture) -> bool:
        """Return whether a queue whose releases are ANY is accepted."""
        return asked.cpus is None and asked.gpu is None

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return what the needs come from."""
        task = request.task
        return task.trans_home, task.architecture, task.container_name, task.trans_uses, task.has_rule(ONLY_TAGS)

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Ask each kind of queue once for equal needs."""
        asked = architecture_of(request)
        needs = tuple(self.needs(request, asked))

        def make() -> Codes:
            return by_software(request.columns, lambda unit: self._code(request, unit, needs, asked))

        # Releases that need not be told apart, such as those with a tag of CVMFS, have equal needs.
        rules = request.rules
        points = rules.any_releases, rules.software_without_release, SoftwareRules.of(rules)
        return request.columns.kept((self.name, points, needs, asked), make)

    def _code(self, request: BrokerageRequest, unit: int, needs: Sequence[Needs], asked: Architecture) -> int:
        if request.rules.any_releases and ANY_RELEASE in request.columns.units[unit].releases:
            return 1 if _lacked_at_any(request, unit, asked) else 0
        judgement, rule = _judgement(request, unit, needs), request.rules.software_without_release
        if judgement.verdict == "unjudged" and rule and all(map(asks_for_nothing, needs)):
            return 0
        if judgement.verdict == "accepted":
            of_release = not (rule and all(one.hardware_only for one in needs))
            pattern = of_release and is_pattern(asked.sw_platform)
            return 2 if pattern and not platform_of_unit(request, unit, asked) else 0
        free = request.columns.units[unit].releases == ANY_RELEASES and self.suits_any_release(needs, asked)
        return 0 if free else 1

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the request, and why the queue does not meet it."""
        task, asked = request.task, architecture_of(request)
        unit = int(request.columns.unit_of[row])
        told: Details = {"architecture": task.architecture, "releases": list(request.columns.units[unit].releases)}
        hardware = {key: value for key, value in asked.as_dict().items() if key in {"cpu_specs", "gpu_spec"}}
        if hardware:
            told["hardware"] = hardware
        if reason.tag == "regexpcmtconfig":
            published = request.world.software.get(request.columns.unit_names[unit], {})
            return told | {"cmtconfigs": list(published.get("cmtconfigs") or ())}
        any_release = request.rules.any_releases and ANY_RELEASE in request.columns.units[unit].releases
        lacked = _lacked_at_any(request, unit, asked) if any_release else None
        why = lacked or _judgement(request, unit, self.needs(request, asked)).lacks
        named = {"transHome": task.trans_home, "container_name": task.container_name}
        return told | named | {"why": None if why is None else why.value}


class ProductionSoftware(SoftwareCheck):
    """The queue must have the release and the hardware."""

    name = "software"
    activities = frozenset({PRODUCTION})
    reads = ("task.trans_home", "task.architecture", "task.container_name", "task.trans_uses", "rule OT")

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to every task; under the rules panda only to those that name a release."""
        return request.task.trans_home is not None or request.rules.software_without_release

    def needs(self, request: BrokerageRequest, asked: Architecture) -> Sequence[Needs]:
        """Return what a production task needs."""
        needs = production_needs(request.task, asked, without_release=request.rules.software_without_release)
        return () if needs is None else (needs,)

    def suits_any_release(self, needs: Sequence[Needs], asked: Architecture) -> bool:
        """Return whether ANY is sufficient: not for containers that a tag must name."""
        tagged = any(one.container and one.only_tags for one in needs)
        return super().suits_any_release(needs, asked) and not tagged


class AnalysisSoftware(SoftwareCheck):
    """The queue must have the release, container and hardware."""

    name = "analysis software"
    activities = frozenset({ANALYSIS})

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt a single given queue under the rules panda."""
        return not request.is_spared_alone

    def needs(self, request: BrokerageRequest, asked: Architecture) -> Sequence[Needs]:
        """Return what an analysis task needs."""
        return analysis_needs(request.task, asked)


def asks_for_nothing(needs: Needs) -> bool:
    """Return whether a task needs no software, no container and no hardware."""
    return needs.hardware_only and not needs.container and needs.cpus is None and needs.gpu is None


def _lacked_at_any(request: BrokerageRequest, unit: int, asked: Architecture) -> Lack | None:
    # Where ANY release will do, only hardware is compared, if it is asked for and published.
    world, name = request.world, request.columns.unit_names[unit]
    entry = world.software.get(name) or {}
    if (asked.cpus is None and asked.gpu is None) or not entry.get("architectures"):
        return None
    needs = Needs(cpus=asked.cpus, gpu=asked.gpu)
    return lacks_hardware(needs, entry, world.gpus.get(name, ()), SoftwareRules.of(request.rules))


def _judgement(request: BrokerageRequest, unit: int, needs: Sequence[Needs]) -> Judgement:
    world, name = request.world, request.columns.unit_names[unit]
    judgement = NOTHING
    for one in needs:
        judgement = judge(
            one,
            request.columns.units[unit].releases,
            world.software.get(name),
            world.gpus.get(name, ()),
            world.software.get(ALL),
            how=SoftwareRules.of(request.rules),
        )
        if judgement.verdict != "unjudged":
            break
    return judgement


def platform_of_unit(request: BrokerageRequest, unit: int, asked: Architecture) -> str | None:
    """Return the platform that the requested one selects at a unit; None: it matches none there."""
    entry = request.world.software.get(request.columns.unit_names[unit])
    return resolve_platform(asked.sw_platform, asked.base_platform, entry)


def platform_at(request: BrokerageRequest, row: int) -> str | None:
    """Return the platform that the task's pattern resolves to at a queue; None: there is nothing to resolve."""
    task = request.task
    if request.activity == PRODUCTION:
        is_skipped = task.trans_home is None or not task.architecture
    else:
        is_skipped = request.is_spared_alone
    asked = architecture_of(request)
    if is_skipped or not may_resolve(asked.sw_platform):
        return None
    return platform_of_unit(request, int(request.columns.unit_of[row]), asked)
