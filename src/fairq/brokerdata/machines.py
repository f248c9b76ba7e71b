"""What the machines of a queue have: software, GPUs, levels of CPU (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.brokerdata.column import Column, Kind

_QUEUE = Column("queue", "text", "the queue", key=True, shown=True)

SOFTWARE = Kind(
    "software", "software of queue", "What CRIC publishes of a queue's software and hardware (releases AUTO).",
    (
        Column("queue", "text", "the queue; ALL holds the list of all tags", key=True, shown=True),
        Column("cmtconfigs", "list", "platforms", default=(), shown=True),
        Column("containers", "list", "places of containers, or any", default=(), shown=True),
        Column("cvmfs", "list", "atlas, nightlies, or any", default=(), shown=True),
        Column("architectures", "objects", "one of type cpu, one of type gpu, each with lists of names", default=()),
        Column("tags", "objects", "releases: cmtconfig, container_name, project, release, sources, tag", default=()),
    ),
    "Give CRIC's JSON as it is: an object of queues by name.",
)  # fmt: skip

GPUS = Kind(
    "gpus", "GPU", "The GPUs that worker nodes reported.",
    (
        _QUEUE,
        Column("vendor", "text", "who made it", key=True, default="", shown=True),
        Column("model", "text", "its model", key=True, default="", shown=True),
        Column("vram", "real", "its memory", "MiB", shown=True),
        Column("architecture", "text", "its architecture", key=True, default="", shown=True),
        Column("framework_version", "text", "version of CUDA", key=True, default="", shown=True),
        Column("driver_version", "text", "version of the driver", key=True, default="", shown=True),
    ),
)  # fmt: skip

CPULEVELS = Kind(
    "cpulevels", "level", "Which part of a queue's machines has a level of CPU.",
    (
        _QUEUE,
        Column("level", "text", "the level, as x86-64-v3", key=True, aliases=("cpu_architecture_level",), shown=True),
        Column("pct_within_queue", "real", "per cent of the queue", default=0, minimum=0, shown=True),
    ),
)  # fmt: skip

MACHINES = (SOFTWARE, GPUS, CPULEVELS)
