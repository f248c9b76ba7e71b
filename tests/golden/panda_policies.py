"""Golden cases of shares, process groups, network weights, the settings' defaults, and architectures."""

from __future__ import annotations

import json
from typing import Any

from tests.broker_rules import PANDA
from tests.golden.compare import differences

from fairq.engine.brokerage.criteria.network import (
    CLOSENESS_KEY,
    QUEUED_KEY,
    THROUGHPUT_KEYS,
    network_weight,
    throughput_weight,
)
from fairq.engine.brokerage.criteria.shares import PolicyRequest, has_zero_share, process_group
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.software.architecture import read_architecture
from fairq.engine.brokerage.software.hardware import satisfies

METRICS = {
    CLOSENESS_KEY: "closeness",
    QUEUED_KEY: "queued",
    **dict(zip(THROUGHPUT_KEYS, ("mbps_1h", "mbps_1d", "mbps_1w"), strict=True)),
}


def zero_share(_: str, given: Any, wanted: Any) -> list[str]:
    request = PolicyRequest(
        process_group(given["processingType"]),
        given["workingGroup"],
        given["gshare"],
        given["currentPriority"],
        given["merging"],
    )
    return differences(has_zero_share(given["fairsharepolicy"], request, PANDA), wanted)


def group(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(process_group(given["processingType"]), wanted)


def network(_: str, given: Any, wanted: Any) -> list[str]:
    metrics = {key: given[name] for key, name in METRICS.items() if given.get(name) is not None}
    weight = network_weight(
        metrics,
        is_nucleus=given["satellite"] == given["nucleus"],
        queued_cap=given["NQUEUED_SAT_CAP"],
        queue_importance=given["NW_QUEUE_IMPORTANCE"],
        choice=PANDA.throughput,
    )
    found = {
        "weightNw": weight.weight,
        "weightNwThroughput": weight.throughput_weight,
        "weightNwQueued": weight.queued_weight,
        "mbps": weight.mbps,
        "closeness": weight.closeness,
        "nqueued": weight.queued,
    }
    return differences(found, wanted)


def throughput(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(throughput_weight(given["mbps"]), wanted)


def defaults(_: str, given: Any, wanted: Any) -> list[str]:
    config = Config()
    importance = config.amount("jobbroker.NW_QUEUE_IMPORTANCE")
    found = {
        "nwActive": config.flag("jobbroker.NW_ACTIVE"),
        "nwQueueImportance": importance,
        "nwThroughputImportance": 1 - importance,
        "nw_threshold": config.amount("jobbroker.NW_THRESHOLD"),
        "queue_threshold": config.amount("jobbroker.NQUEUED_SAT_CAP"),
        "total_queue_threshold": config.amount("jobbroker.NQUEUED_NUC_CAP_FOR_JOBS"),
        "nw_weight_multiplier": config.amount("jobbroker.NW_WEIGHT_MULTIPLIER"),
        "io_intensity_cutoff": config.amount("jobbroker.IO_INTENSITY_CUTOFF"),
        "max_prio_for_bootstrap": config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP"),
    }
    return differences({name: found[name] for name in wanted}, wanted)


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def architecture(_: str, given: Any, wanted: Any) -> list[str]:
    text = given["architecture"]
    asked = read_architecture(text, infer_cpu=PANDA.infer_cpu)
    level = asked.preferred_level
    found = {
        "sw_platform": asked.sw_platform,
        "base_platform": asked.base_platform,
        "host_cpu_spec": None if asked.cpus is None else [cpu.as_dict() for cpu in asked.cpus],
        "host_gpu_spec": None if asked.gpu is None else asked.gpu.as_dict(),
        "host_cpu_preference": None if level is None else {"preferred_architecture_level": level},
        "platforms": f"{asked.sw_platform}@{asked.base_platform}" if asked.base_platform else asked.sw_platform,
        "reformatted": text if text is None or is_json(text) else json.dumps(asked.as_dict()),
    }
    return differences(found, wanted)


def versions(_: str, given: Any, wanted: Any) -> list[str]:
    version = given["version"]
    return differences(None if version is None else satisfies(version, given["constraint"]), wanted)


RUNNERS = {
    "zero_share": zero_share,
    "process_group": group,
    "network_weight": network,
    "throughput_weight": throughput,
    "broker_defaults": defaults,
    "architecture_parse": architecture,
    "compare_version": versions,
}
