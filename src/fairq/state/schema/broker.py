"""Tables of what the brokerage reads of queues, sites, storage, load and users. Lists and objects are JSON."""

from __future__ import annotations

from fairq.state.schema.guards import guard

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
    guard(
        "broker_queues",
        "name corecount maxrss minrss maxwdir maxtime mintime maxinputsize corepower transferringlimit pledgedcpu "
        "maxdiskio direct_access_lan direct_access_wan",
        "site? role? cloud? type? status? capability? workflow? releases? fairsharepolicy? wnconnectivity? "
        "jobseed? catchall? params? cric?",
    ),
    """
    CREATE TABLE broker_sites (
        "name" TEXT NOT NULL,
        "role" TEXT NOT NULL,
        PRIMARY KEY ("name")
    ) WITHOUT ROWID
    """,
    guard("broker_sites", "name", "role?"),
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
    guard("broker_types", "name mincore maxcore minrampercore maxrampercore"),
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
    guard(
        "broker_storages",
        "rse is_tape space_free space_expired space_min_free space_unavailable blacklisted_read",
        "site? type? detailed_status?",
    ),
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
    guard("broker_relations", "queue rse scope default_read default_write order_read order_write", "roles?"),
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
    guard("broker_links", "source nucleus key value time"),
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
    guard("broker_statistics", "queue gshare resource_type state n"),
    """
    CREATE TABLE broker_transferring (
        "queue" TEXT NOT NULL,
        "nucleus" TEXT NOT NULL,
        "n" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "nucleus")
    ) WITHOUT ROWID
    """,
    guard("broker_transferring", "queue nucleus n"),
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
    guard("broker_metrics", "queue running_cores starting_cores diskio to_running_rate site_class locked"),
    """
    CREATE TABLE broker_pilots (
        "queue" TEXT NOT NULL,
        "getJob" INTEGER NOT NULL,
        "updateJob" INTEGER NOT NULL,
        "lastStart" INTEGER,
        PRIMARY KEY ("queue")
    ) WITHOUT ROWID
    """,
    guard("broker_pilots", "queue getJob updateJob lastStart"),
    """
    CREATE TABLE broker_workers (
        "queue" TEXT NOT NULL,
        "status" TEXT NOT NULL,
        "n" INTEGER NOT NULL,
        PRIMARY KEY ("queue", "status")
    ) WITHOUT ROWID
    """,
    guard("broker_workers", "queue status n"),
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
    guard("broker_slots", "queue gshare resource_type numslots expires"),
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
    guard("broker_userstatistics", "queue gshare user nQueue nRunning"),
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
    guard(
        "broker_users",
        "name nQueuedJobs nRunJobs nQueuedCores nRunCores quota_ok quota_near rem_slots_A",
        "endpoints_over?",
    ),
    """
    CREATE TABLE broker_shares (
        "gshare" TEXT NOT NULL,
        "usage_perc" REAL NOT NULL,
        PRIMARY KEY ("gshare")
    ) WITHOUT ROWID
    """,
    guard("broker_shares", "gshare usage_perc"),
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
    guard("broker_software", "queue", "cmtconfigs? containers? cvmfs? architectures? tags?"),
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
    guard("broker_gpus", "queue vendor model architecture framework_version driver_version vram"),
    """
    CREATE TABLE broker_cpulevels (
        "queue" TEXT NOT NULL,
        "level" TEXT NOT NULL,
        "pct_within_queue" REAL NOT NULL,
        PRIMARY KEY ("queue", "level")
    ) WITHOUT ROWID
    """,
    guard("broker_cpulevels", "queue level pct_within_queue"),
    """
    CREATE TABLE broker_config (
        "component" TEXT NOT NULL,
        "key" TEXT NOT NULL,
        "value" TEXT NOT NULL,
        PRIMARY KEY ("component", "key")
    ) WITHOUT ROWID
    """,
    guard("broker_config", "component key", "value?"),
)
