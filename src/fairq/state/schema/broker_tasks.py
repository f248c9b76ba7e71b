"""Tables of what the brokerage reads of tasks and jobs, and what it decided. Lists and objects are JSON."""

from __future__ import annotations

from fairq.state.schema.guards import guard

STATEMENTS = (
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
    guard(
        "broker_tasks",
        "jediTaskID taskPriority currentPriority coreCount maxCoreCount mergeCoreCount ramCount baseRamCount "
        "mergeRamCount cpuTime cpuEfficiency baseWalltime walltime outDiskCount workDiskCount ioIntensity diskIO "
        "eventService cloning modificationTime taskClass isMerging scout chunkRamCount readyEvents",
        "vo prodSourceLabel gshare? workingGroup? userName? processingType resource_type? cloud? nucleus? site? "
        "ramUnit cpuTimeUnit? walltimeUnit? outDiskUnit? workDiskUnit? architecture? transHome? transUses? "
        "container_name? splitRule parameters",
    ),
    # What a brokerage run changes of a task has a guard of its own, so that the run need not write the other.
    guard(
        "broker_tasks",
        "jediTaskID retryTime frozenTime cycle",
        "status assigned reason",
        name="guard_broker_tasks_decision",
    ),
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
        "files" TEXT NOT NULL, "attributes" TEXT NOT NULL DEFAULT '',
        PRIMARY KEY ("task", "dataset")
    )
    """,
    guard("broker_inputs", "task dataset position distributed created modified attributes", "type site files"),
    """
    CREATE TABLE broker_replicas (
        "dataset" TEXT NOT NULL,
        "rse" TEXT NOT NULL,
        "files" TEXT,
        PRIMARY KEY ("dataset", "rse")
    )
    """,
    guard("broker_replicas", "dataset rse", "files?"),
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
    guard("broker_outcomes", "task queue failed closed finished used", "resource_types?"),
    """
    CREATE TABLE broker_jobs (
        "PandaID" INTEGER NOT NULL,
        "jobStatus" TEXT NOT NULL,
        "jobSubStatus" TEXT NOT NULL,
        "computingSite" TEXT NOT NULL,
        "gshare" TEXT NOT NULL,
        "prodSourceLabel" TEXT NOT NULL,
        "currentPriority" INTEGER NOT NULL,
        "jediTaskID" INTEGER,
        "jobDefinitionID" INTEGER,
        "prodUserName" TEXT NOT NULL,
        "workingGroup" TEXT NOT NULL,
        "processingType" TEXT NOT NULL,
        "transformation" TEXT NOT NULL,
        "lockedby" TEXT NOT NULL,
        "relocationFlag" INTEGER NOT NULL,
        "eventService" INTEGER,
        "specialResource" INTEGER NOT NULL,
        "hasReport" INTEGER NOT NULL,
        "outputComplete" INTEGER NOT NULL,
        "creationTime" INTEGER,
        "modificationTime" INTEGER,
        "stateChangeTime" INTEGER,
        "activatedTime" INTEGER,
        "startTime" INTEGER,
        "endTime" INTEGER,
        "endCode" INTEGER,
        "endReason" TEXT NOT NULL,
        PRIMARY KEY ("PandaID")
    ) WITHOUT ROWID
    """,
    guard(
        "broker_jobs",
        "PandaID currentPriority jediTaskID jobDefinitionID relocationFlag eventService specialResource hasReport "
        "outputComplete creationTime modificationTime stateChangeTime activatedTime startTime endTime endCode",
        "jobStatus? jobSubStatus? computingSite? gshare? prodSourceLabel? prodUserName? workingGroup? "
        "processingType? transformation? lockedby? endReason?",
    ),
    # The document says what was decided in all; of each task, data holds the verdict on every queue, packed.
    """
    CREATE TABLE broker_cycle (
        number INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        rules TEXT NOT NULL,
        document TEXT NOT NULL
    )
    """,
    guard("broker_cycle", "number time", "rules? document?"),
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
    guard("broker_verdict", "task cycle", "status? data?"),
)
