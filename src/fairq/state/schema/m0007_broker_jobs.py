"""Schema 7: the jobs that timeouts and rebrokerage look at."""

from __future__ import annotations

STATEMENTS = (
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
)
