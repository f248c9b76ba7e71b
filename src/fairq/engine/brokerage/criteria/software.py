"""Software, containers and hardware of a queue compared with the needs of a task (docs/panda.md, Software)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Figures, Reason, Refusal, Refusals, Values, refuses, weighs
from fairq.engine.brokerage.pool.columns import Floats, Pool
from fairq.engine.brokerage.pool.flags import has_flag
from fairq.engine.brokerage.pool.world import PRODUCTION, Queue
from fairq.engine.brokerage.software.architecture import Architecture, read_architecture
from fairq.engine.brokerage.software.check import (
    ALL,
    ANY_RELEASE,
    ANY_RELEASES,
    AUTO_RELEASES,
    Judgement,
    Needs,
    Wanted,
    analysis_needs,
    is_pattern,
    judge,
    level_factor,
    may_resolve,
    production_needs,
    resolve_platform,
)
from fairq.engine.brokerage.software.hardware import Gpus, Lack, hardware_refusal

HPO = "HO"
"""The two-letter rule of hyper parameter optimisation, which brings its own architecture."""

NO_SOFTWARE, NO_MATCH = Reason("cache"), Reason("regexpcmtconfig")
NO_GPU = Reason("gpu_architecture")

NOTHING = Judgement("unjudged", Lack.NO_RELEASE_NAMED)


class Request(NamedTuple):
    """The software and hardware that a task requests.

    Args:
        needs: in order: if the first leaves a queue unjudged, the next is checked.
        architecture: hardware and platform.
        tags_container: a tag must name the container: ANY is not sufficient for it.
    """

    needs: tuple[Needs, ...]
    architecture: Architecture
    tags_container: bool


def _request(pool: Pool, stated: Wanted, production: bool) -> Request:
    architecture = read_architecture(stated.architecture, infer_cpu=pool.rules.infer_cpu)
    if not production:
        return Request(tuple(analysis_needs(stated, architecture)), architecture, False)
    needs = production_needs(stated, architecture, without_release=pool.rules.software_without_release)
    tagged = needs is not None and bool(needs.container) and needs.only_tags
    return Request(() if needs is None else (needs,), architecture, tagged)


def _reads_software(ask: Ask) -> Values | None:
    checked = ask.task.trans_home is not None or ask.rules.software_without_release
    return (Wanted.of(ask.task), True) if checked else None


def _reads_analysis_software(ask: Ask) -> Values | None:
    return None if ask.is_spared_alone else (Wanted.of(ask.task), False)


def _published(pool: Pool, unit: int) -> tuple[Mapping[str, Any] | None, Gpus]:
    name = pool.unit_names[unit]
    return pool.world.software.get(name), pool.world.gpus.get(name, ())


def _accepts_any(pool: Pool, unit: int) -> bool:
    return pool.rules.any_releases and ANY_RELEASE in pool.units[unit].releases


def _lacks_with_any(pool: Pool, unit: int, architecture: Architecture) -> Lack | None:
    """Return what a unit with ANY release lacks: only hardware is compared, if requested and published."""
    entry, gpus = _published(pool, unit)
    architectures = (entry or {}).get("architectures")
    if (architecture.cpus is None and architecture.gpu is None) or not architectures:
        return None
    return hardware_refusal(architecture.cpus, architecture.gpu, architectures, gpus, pool.rules)


def _judgement(pool: Pool, unit: int, needs: Sequence[Needs]) -> Judgement:
    """Return the first judgement of *needs*, in order, that is not ``unjudged``."""
    judgement, (entry, gpus) = NOTHING, _published(pool, unit)
    tags = pool.world.software.get(ALL)
    for need in needs:
        judgement = judge(need, pool.units[unit].releases, entry, gpus, tags, rules=pool.rules)
        if judgement.verdict != "unjudged":
            break
    return judgement


def _asks_for_nothing(needs: Needs) -> bool:
    return needs.hardware_only and not needs.container and needs.cpus is None and needs.gpu is None


def _platform_of(pool: Pool, unit: int, architecture: Architecture) -> str | None:
    """Return the platform that the requested one selects at a unit; None: it matches none there."""
    return resolve_platform(architecture.sw_platform, architecture.base_platform, _published(pool, unit)[0])


def _code(pool: Pool, unit: int, request: Request) -> int:
    """Return 0 for a suitable unit, 1 for an unsuitable one, 2 if the platform pattern matches none there."""
    needs, architecture, tags_container = request
    checks_without_release = pool.rules.software_without_release
    if _accepts_any(pool, unit):
        return 1 if _lacks_with_any(pool, unit, architecture) else 0
    verdict = _judgement(pool, unit, needs).verdict
    if verdict == "unjudged" and checks_without_release and all(map(_asks_for_nothing, needs)):
        return 0
    if verdict == "accepted":
        of_release = not (checks_without_release and all(need.hardware_only for need in needs))
        pattern = of_release and is_pattern(architecture.sw_platform)
        return 2 if pattern and not _platform_of(pool, unit, architecture) else 0
    any_suffices = architecture.cpus is None and architecture.gpu is None and not tags_container
    return 0 if pool.units[unit].releases == ANY_RELEASES and any_suffices else 1


def _by_software(pool: Pool, code: Callable[[int], int]) -> NDArray[np.uint8]:
    """Return *code* of each row's unit, called once for all units with equal releases, software and GPUs."""
    first, kind_of = pool.kept("software kinds", lambda: _kinds(pool))
    return np.array([code(unit) for unit in first], dtype=np.uint8)[kind_of][pool.unit_of]


def _kinds(pool: Pool) -> tuple[list[int], NDArray[np.intp]]:
    world = pool.world
    numbers: dict[str, int] = {}
    first: list[int] = []
    kind_of = []
    for unit, queue in enumerate(pool.units):
        # Equal texts are equal values; equal values with names in another order are only checked twice.
        key = repr((queue.releases, world.software.get(queue.name), world.gpus.get(queue.name)))
        if key not in numbers:
            numbers[key] = len(first)
            first.append(unit)
        kind_of.append(numbers[key])
    return first, np.array(kind_of, dtype=np.intp)


@refuses("software", "SW/HW check", NO_SOFTWARE, NO_MATCH, reads=_reads_software)
def software(pool: Pool, stated: Wanted, production: bool) -> Refusals:
    """Refuse queues without the release, container or hardware."""
    request = _request(pool, stated, production)
    codes = _by_software(pool, lambda unit: _code(pool, unit, request))

    def figures(row: int) -> Details:
        details: Details = {
            "architecture": stated.architecture,
            "releases": list(pool.units[pool.unit_of[row]].releases),
        }
        hardware = {
            key: value for key, value in request.architecture.as_dict().items() if key in {"cpu_specs", "gpu_spec"}
        }
        return details | ({"hardware": hardware} if hardware else {})

    def lacks(row: int) -> Details:
        unit = int(pool.unit_of[row])
        lacked = _lacks_with_any(pool, unit, request.architecture) if _accepts_any(pool, unit) else None
        why = lacked or _judgement(pool, unit, request.needs).lacks
        named = {"transHome": stated.trans_home, "container_name": stated.container_name}
        return figures(row) | named | {"why": None if why is None else why.value}

    def unmatched(row: int) -> Details:
        entry, _ = _published(pool, int(pool.unit_of[row]))
        return figures(row) | {"cmtconfigs": list((entry or {}).get("cmtconfigs") or ())}

    yield Refusal(NO_SOFTWARE, codes == 1, lacks)
    yield Refusal(NO_MATCH, codes == 2, unmatched)


analysis_software = software._replace(name="analysis software", reads=_reads_analysis_software)


def _architecture_of(ask: Ask) -> Architecture:
    return read_architecture(ask.task.architecture, infer_cpu=ask.rules.infer_cpu)


def platform_at(ask: Ask, row: int) -> str | None:
    """Return the platform that the task's pattern resolves to at a queue; None: there is nothing to resolve."""
    task = ask.task
    lacks_release = ask.activity == PRODUCTION and (task.trans_home is None or not task.architecture)
    is_skipped = lacks_release or (ask.activity != PRODUCTION and ask.is_spared_alone)
    architecture = _architecture_of(ask)
    if is_skipped or not may_resolve(architecture.sw_platform):
        return None
    return _platform_of(ask.pool, int(ask.pool.unit_of[row]), architecture)


def _reads_gpu(ask: Ask) -> Values | None:
    if ask.task.has_rule(HPO):
        return None, True, True
    return ask.task.architecture, bool(_architecture_of(ask).sw_platform), False


@refuses("gpu", "architecture check", NO_GPU, reads=_reads_gpu)
def gpu(pool: Pool, architecture: str | None, has_platform: bool, spared: bool) -> Refusals:
    """Refuse queues with the flag ``gpu`` unless platform and published software fit (obsolete by PanDA's page).

    Hyper parameter optimisation is exempt.
    """
    flagged = has_flag(pool, "gpu")
    if spared or not flagged.any():
        return
    if has_platform:
        # What is published accepts every platform or none.
        needs = (Needs(platform="any", hardware_only=True),)
        accepted = [_judgement(pool, unit, needs).verdict == "accepted" for unit in range(len(pool.units))]
        flagged = flagged & ~pool.unit_rows(accepted)
    yield Refusal(
        NO_GPU,
        flagged,
        lambda row: {"architecture": architecture, "releases": list(pool.queues[row].releases)},
    )


def _reads_level(ask: Ask) -> Values | None:
    preferred = None if ask.task.trans_home is None else _architecture_of(ask).preferred_level
    return None if preferred is None else (preferred,)


@weighs("cpu level", reads=_reads_level)
def cpu_level(pool: Pool, preferred: Any) -> tuple[Floats | None, Figures]:
    """Weigh by the part of the machines that have the CPU level preferred by the task."""
    levels, published = pool.world.cpu_levels, pool.world.software

    def factor(unit: Queue) -> float:
        # Only queues with published software (AUTO) have levels that count.
        judged = unit.releases == AUTO_RELEASES and unit.name in published
        return level_factor(levels.get(unit.name, {}), preferred) if judged else 1.0

    factors = pool.unit_numbers_of(("level", preferred), factor)
    return factors, lambda row: {"prefW": float(factors[row]), "level": preferred}
