"""The hardware and platform that a task asks for (docs/panda.md, Software; PanDA JediTaskSpec).

::

    sw_platform [@base_platform] [#host_cpu_spec] [&host_gpu_spec]

or a JSON object with ``sw_platform``, ``base_platform``, ``cpu_specs``, ``gpu_spec`` and ``cpu_pref``; it may name an
``encoded_platform`` of the form above, which fills in the base platform and the CPU.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

ANYTHING = "*"
"""A part of a specification that accepts any value."""

_GPU_KEYS = {
    "cuda": "version",
    "uarch": "microarchitecture",
    "driver": "driver_version",
    "model": "model",
    "vram": "vram",
}
_GPU_PART = re.compile(r"(\w+)(>=|<=|!=|==|>|<|=)(.*)")


class CpuSpec(Struct, frozen=True):
    """One alternative of a CPU; ``*`` accepts any value, None is a missing value that is required."""

    arch: str | None
    vendor: str = ANYTHING
    instr: str = ANYTHING

    def as_dict(self) -> dict[str, str]:
        """Return it in PanDA's own form."""
        arch = {} if self.arch is None else {"arch": self.arch}
        return {**arch, "vendor": self.vendor, "instr": self.instr}


class GpuSpec(Struct, frozen=True):
    """A GPU.

    Args:
        vendor: a pattern; ``*`` accepts any value.
        model: a pattern; ``*`` accepts any value. *model_excluded*: GPUs that match it are excluded.
        others: ``vram`` (MiB), ``version`` (of CUDA) and ``driver_version`` as operator and number,
            ``microarchitecture`` as one name or several.
    """

    vendor: str = ANYTHING
    model: str = ANYTHING
    model_excluded: bool = False
    others: tuple[tuple[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it in PanDA's own form."""
        model: Any = {"pattern": self.model, "excl": True} if self.model_excluded else self.model
        others = {key: list(value) if isinstance(value, tuple) else value for key, value in self.others}
        return {"vendor": self.vendor, "model": model, **others}


class Architecture(Struct, frozen=True):
    """The requirements in a task's ``architecture``; None is no requirement.

    Args:
        sw_platform: such as ``x86_64-el9-gcc13-opt``; may be a regular expression, may be empty.
        base_platform: the platform that it needs to run in, in a container.
        cpus: alternatives, of which one must fit.
        gpu: the GPU.
        preferred_level: the preferred CPU level, such as ``x86_64-v3``.
    """

    sw_platform: str | None = None
    base_platform: str | None = None
    cpus: tuple[CpuSpec, ...] | None = None
    gpu: GpuSpec | None = None
    preferred_level: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form in which PanDA stores it; open values are left out."""
        parts: dict[str, Any] = {"sw_platform": self.sw_platform, "base_platform": self.base_platform}
        parts["cpu_specs"] = [
            spec_parts for spec_parts in (_constrained(spec.as_dict()) for spec in self.cpus or ()) if spec_parts
        ]
        parts["gpu_spec"] = _constrained(self.gpu.as_dict()) if self.gpu else None
        return {key: value for key, value in parts.items() if value}


def _constrained(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value != ANYTHING}


@lru_cache(maxsize=4096)
def read_architecture(text: str | None, *, infer_cpu: bool = True) -> Architecture:
    """Return the requirements in *text*.

    Args:
        text: the string or JSON form; None requires nothing.
        infer_cpu: without any ``#``, take the CPU from the first part of the platform's name, as PanDA's code does.
            Nothing is added to the JSON form.
    """
    if text is None:
        return Architecture()
    described = _json_object(text)
    if described is not None:
        return _with_encoded(_from_json(described), described.get("encoded_platform"), infer_cpu)
    platform = re.split("[@#&]", text, maxsplit=1)[0]
    return Architecture(platform, _after("@", text, "#&"), _cpus(text, infer_cpu), _gpu(_after("&", text, "^@#")))


def _after(marker: str, text: str, ends: str) -> str | None:
    # The text after the marker, up to one of the *ends*; None if empty or missing.
    _, separator, tail = text.partition(marker)
    return re.split(f"[{re.escape(ends)}]", tail, maxsplit=1)[0] or None if separator else None


def _cpus(text: str, infer: bool) -> tuple[CpuSpec, ...] | None:
    if "#" not in text:
        arch = text.split("-", maxsplit=1)[0]
        return (CpuSpec(arch),) if infer and arch and text[0] not in "^@&" else None
    alternatives = _after("#", text, "^@&")
    if alternatives is None:
        return None
    return tuple(map(_cpu, alternatives.removeprefix("(").removesuffix(")").split("|")))


def _cpu(text: str) -> CpuSpec:
    arch, vendor, instr, *_ = [*text.split("-"), ANYTHING, ANYTHING]
    return CpuSpec(arch, vendor, instr)


def _gpu(text: str | None) -> GpuSpec | None:
    if text is None:
        return None
    name, *parts = text.split(":")
    vendor, model, *_ = [*name.split("-"), ANYTHING]
    excluded = False
    others: dict[str, Any] = {}
    for part in parts:
        match = _GPU_PART.match(part)
        key = _GPU_KEYS.get(match[1]) if match else None
        if match is None or key is None:
            continue
        if key == "model":
            model, excluded = match[3], match[2] == "!="
        elif key == "microarchitecture":
            others[key] = match[3]
        else:
            others[key] = f"{'==' if match[2] == '=' else match[2]}{match[3]}"
    return GpuSpec(vendor, model, excluded, tuple(others.items()))


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        described = json.loads(text)
    except ValueError:
        return None
    return described if isinstance(described, dict) else None


def _from_json(described: Mapping[str, Any]) -> Architecture:
    specs = described.get("cpu_specs")
    cpus = None
    if isinstance(specs, list):
        cpus = tuple(
            CpuSpec(_word(spec.get("arch")), spec.get("vendor", ANYTHING), spec.get("instr", ANYTHING))
            for spec in specs
            if isinstance(spec, dict)
        )
    preferred = described.get("cpu_pref")
    return Architecture(
        described.get("sw_platform", ""),
        described.get("base_platform"),
        cpus or None,
        _gpu_of_json(described.get("gpu_spec")),
        _word(preferred.get("preferred_architecture_level")) if isinstance(preferred, dict) else None,
    )


def _with_encoded(architecture: Architecture, encoded: object, infer_cpu: bool) -> Architecture:
    if not isinstance(encoded, str):
        return architecture
    decoded = read_architecture(encoded, infer_cpu=infer_cpu)
    base = architecture.base_platform if architecture.base_platform is not None else decoded.base_platform
    return replace(architecture, base_platform=base, cpus=architecture.cpus or decoded.cpus)


def _gpu_of_json(spec: object) -> GpuSpec | None:
    if not isinstance(spec, dict):
        return None
    model = spec.get("model", ANYTHING)
    excluded = isinstance(model, dict) and bool(model.get("excl", False))
    pattern = model.get("pattern", ANYTHING) if isinstance(model, dict) else model
    others = {
        key: tuple(map(str, value)) if isinstance(value, list) else value
        for key, value in spec.items()
        if key not in {"vendor", "model"}
    }
    return GpuSpec(str(spec.get("vendor", ANYTHING)), str(pattern), excluded, tuple(others.items()))


def _word(value: object) -> str | None:
    return None if value is None else str(value)
