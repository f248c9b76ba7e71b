"""Software, GPUs and CPU levels of a queue (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.brokerdata.column import Column, Kind

_QUEUE = Column("queue", "text", "the queue", key=True, shown=True)

SOFTWARE = Kind(
    "software", "software of queue", "Software and hardware of queues as CRIC publishes it (releases AUTO).",
    (
        Column("queue", "text", "the queue; ALL holds the list of all tags", key=True, aliases=("panda_queue",),
               shown=True),
        Column("cmtconfigs", "list", "platforms", default=(), shown=True),
        Column("containers", "list", "container locations, or any", default=(), shown=True),
        Column("cvmfs", "list", "atlas, nightlies, or any", default=(), shown=True),
        Column("architectures", "objects", "one of type cpu, one of type gpu, each with lists of names", default=()),
        Column("tags", "objects", "releases: cmtconfig, container_name, project, release, sources, tag", default=()),
    ),
    "CRIC's JSON is read as it is: an object of queues by name.",
)  # fmt: skip

GPUS = Kind(
    "gpus", "GPU", "The GPUs that worker nodes reported.",
    (
        _QUEUE,
        Column("vendor", "text", "its vendor", key=True, default="", shown=True),
        Column("model", "text", "its model", key=True, default="", shown=True),
        Column("vram", "real", "its memory", "MiB", shown=True),
        Column("architecture", "text", "its architecture", key=True, default="", shown=True),
        Column("framework_version", "text", "version of CUDA", key=True, default="", shown=True),
        Column("driver_version", "text", "version of the driver", key=True, default="", shown=True),
    ),
)  # fmt: skip

CPULEVELS = Kind(
    "cpulevels", "level", "CPU levels of the machines of queues.",
    (
        _QUEUE,
        Column("level", "text", "level, such as x86-64-v3", key=True, aliases=("cpu_architecture_level",), shown=True),
        Column("pct_within_queue", "real", "percentage of the queue", default=0, minimum=0, shown=True),
    ),
    plural="CPU levels",
)  # fmt: skip

MACHINES = (SOFTWARE, GPUS, CPULEVELS)
