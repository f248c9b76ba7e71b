"""The resources that a job requests from its slot, and the requirements that follow from them.

As in ``condor_submit``, clauses for platform, disk, memory, cores and other resources are added to a job's own
requirements, unless these already name the resource. There are no clauses for attributes that fairq's slots do
not advertise: file transfer, file system domain and version. Source: ``SetRequestResources``,
``SetRequirements``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fairq.common.expression_form import as_expression, is_expression
from fairq.common.quantities import size
from fairq.common.records import PROC_PLACEHOLDER, Ad
from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile.commands import spellings
from fairq.formats.submitfile.program_rules import IMAGES, image_kind
from fairq.formats.submitfile.rules import Commands, Rule

_KB, _MB = 1024, 1024 * 1024
_TOO_LARGE = 2**63
_RESOURCES = {"cpus": "Cpus", "memory": "Memory", "disk": "Disk", "gpus": "GPUs"}
_NOT_RESOURCES = {
    "request_cpu": "request_cpus",
    "request_mem": "request_memory",
    "request_gpu": "request_gpus",
    "request_gpu_memory": "gpus_minimum_memory",
    "request_gpus_memory": "gpus_minimum_memory",
}
_SYSTEM_NAMES = ("opsys", "opsysandver", "opsyslongname", "opsysshortname", "opsysname", "opsyslegacy")
_LIMITS = (
    ("gpus_minimum_capability", "GPUsMinCapability", "Capability >= GPUsMinCapability"),
    ("gpus_maximum_capability", "GPUsMaxCapability", "Capability <= GPUsMaxCapability"),
    ("gpus_minimum_memory", "GPUsMinMemory", "GlobalMemoryMb >= GPUsMinMemory"),
    ("gpus_minimum_runtime", "GPUsMinRuntime", "MaxSupportedVersion >= GPUsMinRuntime"),
)
_DEFAULT_MEMORY = 128
_OF_PLATFORM = ("universe", "docker_image", "container_image", "docker_network_type", "cuda_version")
_EVERYWHERE = ("host", "none", "nat")
"""The networks that every container runtime has."""


def resources(commands: Commands) -> Ad:
    """Return the requests; the defaults are 1 core, 128 MB and the disk space of the executable."""
    ad: Ad = {
        "RequestCpus": _request(commands, "request_cpus", None, 1),
        "RequestMemory": _request(commands, "request_memory", _MB, _DEFAULT_MEMORY),
        "RequestDisk": _request(commands, "request_disk", _KB, as_expression("DiskUsage")),
        "RequestGPUs": _request(commands, "request_gpus", None, None),
    }
    for lower, name in commands.named():
        resource = lower.removeprefix("request_")
        if lower == resource or resource in _RESOURCES or len(resource) < 2 or resource.startswith("_"):
            continue
        if lower in _NOT_RESOURCES:
            commands.warn(f"{name} is not a valid submit command, did you mean {_NOT_RESOURCES[lower]}?")
            continue
        text = commands.raw_text(lower)
        if text is not None:
            ad["Request" + name[len("request_") :]] = commands.expression(lower, text)
    ad = {name: value for name, value in ad.items() if value is not None}
    return ad | _gpu_limits(commands) if "RequestGPUs" in ad else ad


def _request(commands: Commands, command: str, unit: int | None, default: Any) -> Any:
    text = commands.text(command)
    if text is None:
        return default
    if text.lower() == "undefined":
        return None
    # Only HTCondor's startd uses a second amount, for retries.
    value = size(text.partition(",")[0], unit) if unit is not None else None
    if value is None:
        try:
            value = commands.expression(command, text)
        except InvalidSubmitValueError:
            if not text[0].isdigit():
                raise
            expected = "give an amount" + (", for example 512 or 2GB" if unit else "")
            raise commands.wrong(command, text, expected) from None
        if isinstance(value, str) and not is_expression(value):
            raise commands.wrong(command, text, "give a number or an expression, without quotes")
    is_out_of_range = isinstance(value, int | float) and (isinstance(value, bool) or not 0 <= value < _TOO_LARGE)
    if is_out_of_range or (text.isdigit() and not isinstance(value, int)):
        raise commands.wrong(command, text, "give an amount of 0 or more" + (", for example 2GB" if unit else ""))
    return value


def _gpu_limits(commands: Commands) -> Ad:
    ad: Ad = {}
    clauses = []
    explicit = commands.text("require_gpus")
    for command, attribute, clause in _LIMITS:
        text = commands.text(command)
        if text is None:
            continue
        ad[attribute] = _gpu_limit(commands, command, text)
        if explicit is None or clause.partition(" ")[0].lower() not in explicit.lower():
            clauses.append(clause)
    if explicit is not None:
        commands.expression("require_gpus", explicit)
        clauses.insert(0, f"({explicit})" if clauses else explicit)
    if clauses:
        ad["RequireGPUs"] = commands.expression("require_gpus", " && ".join(clauses))
    return ad


def _gpu_limit(commands: Commands, command: str, text: str) -> Any:
    if command == "gpus_minimum_memory" and (memory := size(text, _MB)) is not None:
        return memory
    major, dot, minor = text.partition(".")
    if command == "gpus_minimum_runtime" and major.isdigit() and (minor.isdigit() or not minor):
        # HTCondor's canonical form of a version: 12.1 is 12010.
        number = int(major)
        return number if not dot and number > 1000 else number * 1000 + int(minor or 0) * 10
    return commands.expression(command, text)


def requirements(commands: Commands) -> Ad:
    """Return the requirements: the job's own, and a clause for each resource that they do not name."""
    if "my.requirements" in dict(commands.named()):
        return {}
    explicit = commands.text("requirements")
    clauses = []
    attributes: frozenset[str] = frozenset()
    if explicit is not None:
        commands.expression("requirements", explicit)
        attributes = _machine_attributes(commands, explicit)
        if "requirements" in attributes:
            raise commands.wrong("requirements", explicit, "it refers to itself; did you mean $(Requirements)?")
        clauses.append(f"({explicit})")
    clauses += _platform_clauses(commands, attributes)
    clauses += _resource_clauses(commands, resources(commands), attributes)
    version = _cuda_version(commands)
    if version is not None:
        clauses.append("CUDAVersion <= TARGET.CUDAMaxSupportedVersion")
    ad = {"Requirements": commands.expression("requirements", " && ".join(clauses))}
    return ad if version is None else {**ad, "CUDAVersion": version}


def _cuda_version(commands: Commands) -> int | None:
    """Return the version of CUDA that the job needs, in HTCondor's form: 11.2 is 11002."""
    text = commands.text("cuda_version")
    if text is None:
        return None
    if (match := re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?", text)) is None:
        raise commands.wrong("cuda_version", text, "give a version such as 12 or 12.1")
    major, minor = int(match[1]), match[2]
    if minor is None:
        return major if major >= 1000 else major * 1000
    return major * 1000 + int(minor) % 100


def _platform_clauses(commands: Commands, attributes: frozenset[str]) -> Iterable[str]:
    docker, container = commands.image("docker_image"), commands.image("container_image")
    if "arch" not in attributes:
        yield f'(TARGET.Arch == "{commands.context.machine}")'
    if docker is not None and (commands.text("universe") or "").lower() == "docker":
        yield "TARGET.HasDocker"
        if (commands.text("docker_network_type") or "host") not in _EVERYWHERE:
            yield "StringListMember(My.DockerNetworkType, TARGET.DockerNetworks)"
    elif docker is not None or container is not None:
        yield "TARGET.HasContainer"
        yield f"TARGET.{IMAGES['docker' if container is None else image_kind(container)][1]}"
    elif not attributes.intersection(_SYSTEM_NAMES):
        yield f'(TARGET.OpSys == "{commands.context.system}")'


def _resource_clauses(commands: Commands, requests: Ad, attributes: frozenset[str]) -> Iterable[str]:
    values = {name.lower(): value for name, value in requests.items()} | _forced_requests(commands)
    if _needs_clause(values.get("requestdisk"), 0):
        yield "(TARGET.Disk >= RequestDisk)"
    if _needs_clause(values.get("requestmemory"), 1):
        yield "(TARGET.Memory >= RequestMemory)"
    if "cpus" not in attributes and _needs_clause(values.get("requestcpus"), 1):
        yield "(TARGET.Cpus >= RequestCpus)"
    names_by_lower = {name.lower(): name for name in requests}
    for lower in sorted(values.keys() - {"requestcpus", "requestmemory", "requestdisk"}):
        name = names_by_lower.get(lower, lower)
        resource = name[len("request") :]
        if not lower.startswith("request") or resource.lower() in attributes:
            continue
        value = values[lower]
        if isinstance(value, str) and not is_expression(value):
            if value:
                yield f"regexp({name}, TARGET.{resource})"
        elif _needs_clause(value, 0):
            if lower == "requestgpus" and "RequireGPUs" in requests:
                yield "(countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= RequestGPUs)"
            else:
                yield f"(TARGET.{resource} >= {name})"


def _forced_requests(commands: Commands) -> Ad:
    return {
        lower[len("my.") :]: commands.expression(lower, text)
        for lower, _ in commands.named()
        if lower.startswith("my.request")
        and (text := commands.raw_text(lower)) is not None
        and len(lower) > len("my.requestx")
        and not lower.startswith("my.requestor")
    }


def _needs_clause(value: Any, minimum: float) -> bool:
    """Return whether a request needs a clause: it is an expression or more than *minimum*."""
    if value is None or isinstance(value, bool):
        return False
    return value > minimum if isinstance(value, int | float) else True


def _machine_attributes(commands: Commands, text: str) -> frozenset[str]:
    """Return the attributes, in lower case, that *text* reads without the scope ``MY``."""
    from fairq.engine.classad.library import library

    classad2 = library()
    try:
        # condor_submit also puts the text into parentheses; a // comment would swallow the closing one.
        references = classad2.ClassAd().externalRefs(classad2.ExprTree(f"({text.replace(PROC_PLACEHOLDER, '0')})"))
    except (classad2.ClassAdException, ValueError):
        cure = "remove // comments and split deeply nested parts"
        raise commands.wrong("requirements", text, cure) from None
    names = (name.lower() for name in references)
    return frozenset(name.removeprefix("target.") for name in names if not name.startswith("my."))


def rules(commands: Commands) -> tuple[Rule, ...]:
    """Return the two rules; the resources depend on the commands in the description."""
    requested = [lower for lower, _ in commands.named() if lower.startswith(("request_", "my.request"))]
    standard = ["request_cpus", "request_memory", "request_disk", "request_gpus", "require_gpus"]
    standard += [command for command, _, _ in _LIMITS]
    names = frozenset(requested) | {name for command in standard for name in spellings(command)}
    platform_names = {name for command in _OF_PLATFORM for name in spellings(command)}
    return Rule(names, resources), Rule(names | platform_names | {"requirements", "my.requirements"}, requirements)
