"""Schema 6: what the brokerage reads (a table per kind of record), and what it decided."""

from __future__ import annotations

# Lists and objects are JSON.
STATEMENTS = (
    """
    CREATE TABLE broker_queues (
        "name" TEXT NOT NULL,
        "site" TEXT NOT NULL,
        "role" TEXT NOT NULL,
        "cloud" TEXT NOT NULL,
        "type" TEXT NOT NULL,
        "status" TEXT NOT NULL,
        "capability" TEXT NOT NULL,
        "workflow" TEXT NOT NULL,
        "corecount" INTEGER NOT NULL,
        "maxrss" REAL,
        "minrss" REAL,
        "maxwdir" REAL NOT NULL,
        "maxtime" REAL NOT NULL,
        "mintime" REAL NOT NULL,
        "maxinputsize" REAL,
        "corepower" REAL NOT NULL,
        "releases" TEXT NOT NULL,
        "fairsharepolicy" TEXT NOT NULL,
        "wnconnectivity" TEXT NOT NULL,
        "transferringlimit" INTEGER NOT NULL,
        "pledgedcpu" INTEGER NOT NULL,
        "maxdiskio" REAL NOT NULL,
        "direct_access_lan" INTEGER NOT NULL,
        "direct_access_wan" INTEGER NOT NULL,
        "jobseed" TEXT NOT NULL,
        "catchall" TEXT NOT NULL,
        "params" TEXT NOT NULL,
        "cric" TEXT NOT NULL,
        PRIMARY KEY ("name")
    )
    """,
    """
    CREATE TABLE broker_sites (
        "name" TEXT NOT NULL,
        "role" TEXT NOT NULL,
        PRIMARY KEY ("name")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_types (
        "name" TEXT NOT NULL,
        "mincore" INTEGER NOT NULL,
        "maxcore" INTEGER,
        "minrampercore" REAL,
        "maxrampercore" REAL,
        PRIMARY KEY ("name")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_storages (
        "rse" TEXT NOT NULL,
        "site" TEXT NOT NULL,
        "type" TEXT NOT NULL,
        "is_tape" INTEGER NOT NULL,
        "space_free" REAL NOT NULL,
        "space_expired" REAL NOT NULL,
        "space_min_free" REAL NOT NULL,
        "space_unavailable" REAL NOT NULL,
        "detailed_status" TEXT NOT NULL,
        "blacklisted_read" INTEGER NOT NULL,
        PRIMARY KEY ("rse")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_relations (
        "queue" TEXT NOT NULL,
        "rse" TEXT NOT NULL,
        "scope" TEXT NOT NULL,
        "roles" TEXT NOT NULL,
        "default_read" INTEGER NOT NULL,
        "default_write" INTEGER NOT NULL,
        "order_read" INTEGER NOT NULL,
        "order_write" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "rse", "scope")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_links (
        "source" TEXT NOT NULL,
        "nucleus" TEXT NOT NULL,
        "key" TEXT NOT NULL,
        "value" REAL NOT NULL,
        "time" INTEGER,
        PRIMARY KEY ("source", "nucleus", "key")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_tasks (
        "jediTaskID" INTEGER NOT NULL,
        "status" TEXT NOT NULL,
        "retryTime" INTEGER,
        "frozenTime" INTEGER,
        "assigned" TEXT NOT NULL,
        "cycle" INTEGER,
        "reason" TEXT NOT NULL,
        "vo" TEXT NOT NULL,
        "prodSourceLabel" TEXT NOT NULL,
        "gshare" TEXT,
        "workingGroup" TEXT,
        "userName" TEXT,
        "taskPriority" INTEGER NOT NULL,
        "currentPriority" INTEGER,
        "processingType" TEXT NOT NULL,
        "resource_type" TEXT,
        "cloud" TEXT,
        "nucleus" TEXT,
        "site" TEXT,
        "coreCount" INTEGER,
        "maxCoreCount" INTEGER,
        "mergeCoreCount" INTEGER,
        "ramCount" REAL,
        "ramUnit" TEXT NOT NULL,
        "baseRamCount" REAL,
        "mergeRamCount" REAL,
        "cpuTime" REAL,
        "cpuTimeUnit" TEXT,
        "cpuEfficiency" REAL,
        "baseWalltime" REAL,
        "walltime" REAL,
        "walltimeUnit" TEXT,
        "outDiskCount" REAL,
        "outDiskUnit" TEXT,
        "workDiskCount" REAL,
        "workDiskUnit" TEXT,
        "ioIntensity" REAL,
        "diskIO" REAL,
        "architecture" TEXT,
        "transHome" TEXT,
        "transUses" TEXT,
        "container_name" TEXT,
        "splitRule" TEXT NOT NULL,
        "eventService" INTEGER NOT NULL,
        "cloning" INTEGER NOT NULL,
        "parameters" TEXT NOT NULL,
        "modificationTime" INTEGER,
        "taskClass" INTEGER,
        "isMerging" INTEGER NOT NULL,
        "scout" INTEGER NOT NULL,
        "chunkRamCount" REAL,
        "readyEvents" INTEGER,
        PRIMARY KEY ("jediTaskID")
    )
    """,
    """
    CREATE TABLE broker_inputs (
        "task" INTEGER NOT NULL,
        "dataset" TEXT NOT NULL,
        "position" INTEGER NOT NULL,
        "type" TEXT NOT NULL,
        "distributed" INTEGER NOT NULL,
        "site" TEXT NOT NULL,
        "created" INTEGER,
        "modified" INTEGER,
        "files" TEXT NOT NULL,
        PRIMARY KEY ("task", "dataset")
    )
    """,
    """
    CREATE TABLE broker_replicas (
        "dataset" TEXT NOT NULL,
        "rse" TEXT NOT NULL,
        "files" TEXT,
        PRIMARY KEY ("dataset", "rse")
    )
    """,
    """
    CREATE TABLE broker_statistics (
        "queue" TEXT NOT NULL,
        "gshare" TEXT NOT NULL,
        "resource_type" TEXT NOT NULL,
        "state" TEXT NOT NULL,
        "n" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "gshare", "resource_type", "state")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_transferring (
        "queue" TEXT NOT NULL,
        "nucleus" TEXT NOT NULL,
        "n" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "nucleus")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_metrics (
        "queue" TEXT NOT NULL,
        "running_cores" INTEGER NOT NULL,
        "starting_cores" INTEGER NOT NULL,
        "diskio" REAL,
        "to_running_rate" REAL,
        "site_class" INTEGER,
        "locked" INTEGER NOT NULL,
        PRIMARY KEY ("queue")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_pilots (
        "queue" TEXT NOT NULL,
        "getJob" INTEGER NOT NULL,
        "updateJob" INTEGER NOT NULL,
        "lastStart" INTEGER,
        PRIMARY KEY ("queue")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_workers (
        "queue" TEXT NOT NULL,
        "status" TEXT NOT NULL,
        "n" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "status")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_slots (
        "queue" TEXT NOT NULL,
        "gshare" TEXT NOT NULL,
        "resource_type" TEXT NOT NULL,
        "numslots" INTEGER NOT NULL,
        "expires" INTEGER,
        PRIMARY KEY ("queue", "gshare", "resource_type")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_userstatistics (
        "queue" TEXT NOT NULL,
        "gshare" TEXT NOT NULL,
        "user" TEXT NOT NULL,
        "nQueue" INTEGER NOT NULL,
        "nRunning" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "gshare", "user")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_users (
        "name" TEXT NOT NULL,
        "nQueuedJobs" INTEGER NOT NULL,
        "nRunJobs" INTEGER NOT NULL,
        "nQueuedCores" INTEGER NOT NULL,
        "nRunCores" INTEGER NOT NULL,
        "quota_ok" INTEGER NOT NULL,
        "quota_near" INTEGER NOT NULL,
        "endpoints_over" TEXT NOT NULL,
        "rem_slots_A" REAL,
        PRIMARY KEY ("name")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_shares (
        "gshare" TEXT NOT NULL,
        "usage_perc" REAL NOT NULL,
        PRIMARY KEY ("gshare")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_outcomes (
        "task" INTEGER NOT NULL,
        "queue" TEXT NOT NULL,
        "failed" INTEGER NOT NULL,
        "closed" INTEGER NOT NULL,
        "finished" INTEGER NOT NULL,
        "resource_types" TEXT NOT NULL,
        "used" INTEGER NOT NULL,
        PRIMARY KEY ("task", "queue")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_software (
        "queue" TEXT NOT NULL,
        "cmtconfigs" TEXT NOT NULL,
        "containers" TEXT NOT NULL,
        "cvmfs" TEXT NOT NULL,
        "architectures" TEXT NOT NULL,
        "tags" TEXT NOT NULL,
        PRIMARY KEY ("queue")
    )
    """,
    """
    CREATE TABLE broker_gpus (
        "queue" TEXT NOT NULL,
        "vendor" TEXT NOT NULL,
        "model" TEXT NOT NULL,
        "vram" REAL,
        "architecture" TEXT NOT NULL,
        "framework_version" TEXT NOT NULL,
        "driver_version" TEXT NOT NULL,
        PRIMARY KEY ("queue", "vendor", "model", "architecture", "framework_version", "driver_version")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_cpulevels (
        "queue" TEXT NOT NULL,
        "level" TEXT NOT NULL,
        "pct_within_queue" REAL NOT NULL,
        PRIMARY KEY ("queue", "level")
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE broker_config (
        "component" TEXT NOT NULL,
        "key" TEXT NOT NULL,
        "value" TEXT NOT NULL,
        PRIMARY KEY ("component", "key")
    ) WITHOUT ROWID
    """,
    # The document says what was decided in all; of each task, data holds the verdict on every queue, packed.
    """
    CREATE TABLE broker_cycle (
        number INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        rules TEXT NOT NULL,
        document TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE broker_verdict (
        task INTEGER NOT NULL,
        cycle INTEGER NOT NULL REFERENCES broker_cycle (number),
        status TEXT NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (task, cycle)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX broker_verdict_cycle ON broker_verdict (cycle)",
)
