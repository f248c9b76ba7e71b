"""Schema 22: what a brokerage run changes of a task has a guard of its own, which halves the time of storing it."""

from __future__ import annotations

STATEMENTS = (
    "DROP INDEX guard_broker_tasks",
    'CREATE INDEX guard_broker_tasks ON broker_tasks ("jediTaskID", "taskPriority", "currentPriority", "coreCount", '
    '"maxCoreCount", "mergeCoreCount", "ramCount", "baseRamCount", "mergeRamCount", "cpuTime", "cpuEfficiency", '
    '"baseWalltime", "walltime", "outDiskCount", "workDiskCount", "ioIntensity", "diskIO", "eventService", "cloning", '
    '"modificationTime", "taskClass", "isMerging", "scout", "chunkRamCount", "readyEvents", fairq_crc32(CAST('
    "\"vo\" || '|' || \"prodSourceLabel\" || '|' || coalesce(\"gshare\", x'00') || '|' || "
    "coalesce(\"workingGroup\", x'00') || '|' || coalesce(\"userName\", x'00') || '|' || \"processingType\" || '|' || "
    "coalesce(\"resource_type\", x'00') || '|' || coalesce(\"cloud\", x'00') || '|' || "
    "coalesce(\"nucleus\", x'00') || '|' || coalesce(\"site\", x'00') || '|' || \"ramUnit\" || '|' || "
    "coalesce(\"cpuTimeUnit\", x'00') || '|' || coalesce(\"walltimeUnit\", x'00') || '|' || "
    "coalesce(\"outDiskUnit\", x'00') || '|' || coalesce(\"workDiskUnit\", x'00') || '|' || "
    "coalesce(\"architecture\", x'00') || '|' || coalesce(\"transHome\", x'00') || '|' || "
    "coalesce(\"transUses\", x'00') || '|' || coalesce(\"container_name\", x'00') || '|' || "
    '"splitRule" || \'|\' || "parameters" AS BLOB)))',
    # The columns that a run changes.
    'CREATE INDEX guard_broker_tasks_decision ON broker_tasks ("jediTaskID", "retryTime", "frozenTime", "cycle", '
    'fairq_crc32(CAST("status" || \'|\' || "assigned" || \'|\' || "reason" AS BLOB)))',
)
