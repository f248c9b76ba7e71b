"""Where jobs can go: queues, their software and machines, sites, storage and links (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.columns.broker.column import Column, Kind

QUEUES = Kind(
    "queues", "queue", "The PanDA queues, as CRIC publishes them.",
    (
        Column("name", "text", "the queue", key=True, aliases=("nickname", "panda_queue"), shown=True),
        Column("site", "text", "its site", default="", aliases=("atlas_site",), shown=True),
        Column("role", "text", "role of the site: nucleus or satellite; see also sites", default=""),
        Column("cloud", "text", "its cloud", default="", shown=True),
        Column("type", "text", "production, analysis, unified or special", default="production", shown=True),
        Column("status", "text", "online, offline, brokeroff, test, standby or paused", default="", shown=True),
        Column("capability", "text", "ucore is a unified queue", default="", shown=True),
        Column("workflow", "text", "pull_ups, push, ...", default=""),
        Column("corecount", "integer", "cores of a slot", default=0, shown=True),
        Column("maxrss", "real", "maximum memory of a whole slot; null is no limit", "MiB", shown=True),
        Column("minrss", "real", "minimum memory that a job must need", "MiB"),
        Column("maxwdir", "real", "scratch space of a slot; 0 is no limit", "MiB", default=0),
        Column("maxtime", "real", "longest wall time; 0 is no limit", "s", default=0, shown=True),
        Column("mintime", "real", "shortest wall time of a job", "s", default=0),
        Column("maxinputsize", "real", "maximum input of a job; -1: input is always read from storage", "MiB"),
        Column("corepower", "real", "power of a core", "HS06", default=0),
        Column("releases", "list", "ANY, AUTO or names of releases", default=()),
        Column("fairsharepolicy", "text", "which work has a share here", default=""),
        Column("wnconnectivity", "text", "network of worker nodes: full, http or none, optionally #IPv4 or #IPv6",
               default=""),
        Column("transferringlimit", "integer", "jobs that may transfer; 0 is PanDA's 2000", default=0,
               aliases=("transferring_limit",)),
        Column("pledgedcpu", "integer", "pledged cores; -1 is opportunistic", default=0),
        Column("maxdiskio", "real", "disk traffic per core; 0 is MAX_DISKIO_DEFAULT", "kB/s", default=0),
        Column("direct_access_lan", "boolean", "jobs may read input from local storage", default=False),
        Column("direct_access_wan", "boolean", "jobs may read input from remote storage", default=False),
        Column("jobseed", "text", "jobs of event service: std, es, all or eshigh", default="std"),
        Column("catchall", "text", "flags, separated by commas", default=""),
        Column("params", "object", "more parameters of CRIC, read before catchall", default={}),
        Column("cric", "object", "the complete record of CRIC", default={}),
    ),
    "CRIC's JSON is accepted: one queue, a list of queues, or an object of queues by name. Other fields of CRIC "
    "are kept with the queue. Storage that the queue names (astorages) becomes its relations.",
    "curl ... | fairq broker queues import -       # all queues of CRIC",
)  # fmt: skip

SITES = Kind(
    "sites", "site", "The sites and their roles.",
    (
        Column("name", "text", "the site", key=True, aliases=("site",), shown=True),
        Column("role", "text", "nucleus, satellite or other", default="", shown=True),
    ),
    "The role of a site applies to its queues without a role of their own. Sites with the role nucleus are the nuclei. "
    "CRIC's JSON is read as it is; the data policy Nucleus makes a nucleus.",
)  # fmt: skip

TYPES = Kind(
    "types", "resource type", "The resource types by which unified queues are split.",
    (
        Column("name", "text", "the resource type", key=True, aliases=("resource_name",), shown=True),
        Column("mincore", "integer", "minimum number of cores", default=0, shown=True),
        Column("maxcore", "integer", "maximum number of cores", shown=True),
        Column("minrampercore", "real", "minimum memory per core", "MiB", shown=True),
        Column("maxrampercore", "real", "maximum memory per core", "MiB", shown=True),
    ),
    "If you import none, the types of ATLAS apply: SCORE, SCORE_HIMEM, MCORE and MCORE_HIMEM.",
)  # fmt: skip

STORAGES = Kind(
    "storages", "storage endpoint", "The storage endpoints with their space and state.",
    (
        Column("rse", "text", "the endpoint", key=True, aliases=("name", "ddm_endpoint_name"), shown=True),
        Column("site", "text", "its site", default="", aliases=("ddm_site_name",), shown=True),
        Column("type", "text", "DATADISK, DATATAPE, ...", default="DATADISK", aliases=("type_of_rse",), shown=True),
        Column("is_tape", "boolean", "whether it is tape", default=False, shown=True),
        Column("space_free", "real", "free space", "GB", default=0, shown=True),
        Column("space_expired", "real", "space of expired data", "GB", default=0),
        Column("space_min_free", "real", "space to keep free", "GB", default=0, aliases=("minfreespace",)),
        Column("space_unavailable", "real", "reserved space", "GB", default=0),
        Column("detailed_status", "object", "read_lan, write_lan, read_wan and write_wan, each ON, OFF, TEST, ...",
               default={}, shown=True),
        Column("blacklisted_read", "boolean", "nothing may be read from it", default=False),
    ),
    "CRIC's endpoints and their states (blacklists), and Rucio's usage, are read as they are. States and usage only "
    "complete known endpoints; an endpoint that they do not name is up, or has no space.",
)  # fmt: skip

RELATIONS = Kind(
    "relations", "relation", "The storage endpoints that queues use, and how.",
    (
        Column("queue", "text", "the queue", key=True, aliases=("panda_site_name",), shown=True),
        Column("rse", "text", "the endpoint", key=True, aliases=("ddm_endpoint_name",), shown=True),
        Column("scope", "text", "default, or analysis for users' jobs", key=True, default="default", shown=True),
        Column("roles", "list", "read_lan, write_lan", default=("read_lan", "write_lan"), shown=True),
        Column("default_read", "boolean", "it is the default for input", default=True, shown=True),
        Column("default_write", "boolean", "it is the default for output", default=True, shown=True),
        Column("order_read", "integer", "preference for input, smallest first", default=0),
        Column("order_write", "integer", "preference for output, smallest first", default=0),
    ),
)  # fmt: skip

LINKS = Kind(
    "links", "link", "Metrics of the links to the nuclei.",
    (
        Column("source", "text", "the satellite's site", key=True, aliases=("src",), shown=True),
        Column("nucleus", "text", "the nucleus's site", key=True, aliases=("destination", "dst"), shown=True),
        Column("key", "text", "AGIS_closeness, 'Production Output_queued', Express_queued, dashb_mbps_1h, "
               "dashb_mbps_1d or dashb_mbps_1w", key=True, shown=True),
        Column("value", "real", "the metric", default=0, shown=True),
        Column("time", "time", "when it was measured; null is now", aliases=("ts", "measured"), shown=True),
    ),
    "A metric is valid for 60 minutes; without a time, it is always valid. CRIC's site matrix and the network metrics, "
    "as a list of links or by SOURCE:DESTINATION, are read as they are.",
    "fairq broker links import links.csv --replace     # only the metrics of this hour",
)  # fmt: skip

PLACES = (QUEUES, SITES, TYPES, STORAGES, RELATIONS, LINKS)


_OF_QUEUE = Column("queue", "text", "the queue", key=True, shown=True)

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
        _OF_QUEUE,
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
        _OF_QUEUE,
        Column("level", "text", "level, such as x86-64-v3", key=True, aliases=("cpu_architecture_level",), shown=True),
        Column("pct_within_queue", "real", "percentage of the queue", default=0, minimum=0, shown=True),
    ),
    plural="CPU levels",
)  # fmt: skip

MACHINES = (SOFTWARE, GPUS, CPULEVELS)
