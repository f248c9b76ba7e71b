"""Golden cases of the software and hardware check, and of platforms given as patterns."""

from __future__ import annotations

from typing import Any

from tests.broker_rules import PANDA
from tests.golden.compare import differences
from tests.golden.panda_software_world import SoftwareWorld

from fairq.engine.brokerage.software.architecture import read_architecture
from fairq.engine.brokerage.software.check import Needs, judge, level_factor, resolve_platform


def sw_check(world: SoftwareWorld, given: Any, wanted: Any) -> list[str]:
    asked = read_architecture(given.get("architecture"), infer_cpu=PANDA.infer_cpu)
    needs = Needs(
        cvmfs_tag=given.get("cvmfs_tag", "atlas"),
        project=given.get("project"),
        version=given.get("release"),
        platform=asked.sw_platform,
        cvmfs_only=given.get("need_cvmfs", False),
        hardware_only=given.get("cmt_config_only", False),
        in_container=given.get("need_container", asked.base_platform is not None),
        container=given.get("container_name"),
        only_tags=given.get("onlyTagsForFC", False),
        cpus=asked.cpus,
        gpu=asked.gpu,
    )
    releases = tuple(given.get("releases", ("AUTO",)))
    queues = given.get("queues", [name for name in world.sw_map if name != "ALL"])
    verdicts = {
        name: judge(
            needs,
            releases,
            world.sw_map.get(name),
            world.gpus.get(name, ()),
            world.sw_map.get("ALL"),
            rules=PANDA,
        ).verdict
        for name in queues
    }
    factors = {
        name: level_factor({level: row["pct_within_queue"] for level, row in levels.items()}, asked.preferred_level)
        for name, levels in world.levels.items()
    }
    found = {
        "accepted": sorted(name for name, verdict in verdicts.items() if verdict == "accepted"),
        "not_auto": sorted(name for name, verdict in verdicts.items() if verdict == "unjudged"),
        # Only those that are judged by what they publish are weighed by it.
        "preference_weight": {n: factor for n, factor in factors.items() if factor != 1 and releases == ("AUTO",)},
    }
    return differences(found, wanted)


def resolve(world: SoftwareWorld, given: Any, wanted: Any) -> list[str]:
    entry = world.sw_map.get(given["queue"])
    return differences(resolve_platform(given["sw_platform"], given["base_platform"], entry), wanted)


def check_world(world: SoftwareWorld, given: Any, wanted: Any) -> list[str]:
    # The queues of the other cases: there is nothing to decide about them, but they must have been found.
    return [] if "plain" in world.sw_map else ["the queues of the software cases are not understood"]


RUNNERS = {"sw_check_world": check_world, "sw_check": sw_check, "resolve_cmt_config": resolve}
