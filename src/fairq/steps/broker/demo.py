"""The grid of ``fairq broker demo``: three sites as CRIC and Rucio publish them, and four tasks."""

from __future__ import annotations

import json
from typing import Any

from fairq.steps.demo_scene import Demo, scene

_SITES = ("CERN-PROD", "IN2P3-CC", "UKI-GLASGOW")
_QUEUES = {
    "CERN": {"atlas_site": "CERN-PROD", "corecount": 8, "capability": "ucore", "maxrss": 32000},
    "LYON": {"atlas_site": "IN2P3-CC", "corecount": 8, "capability": "ucore", "maxrss": 32000},
    "GLASGOW": {"atlas_site": "UKI-GLASGOW", "corecount": 1, "capability": "score", "maxrss": 2000},
}
_GB = 2**30
_AT = "2026-01-05T"


def _queue(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    disk = f"{fields['atlas_site']}_DATADISK"
    common = {
        "nickname": name,
        "panda_resource": name,
        "status": "online",
        "type": "unified",
        "cloud": "WORLD",
        "workflow": "pull_ups",
        "maxwdir": 20000 * fields["corecount"],
        "maxtime": 345_600,
        "corepower": 10,
        "releases": ["ANY"],
        "astorages": {"read_lan": [disk], "write_lan": [disk]},
    }
    return {**common, **fields}


def _grid() -> dict[str, Any]:
    policies = {site: ["Nucleus"] if site != "UKI-GLASGOW" else [] for site in _SITES}
    return {
        "pandaqueue": {name: _queue(name, fields) for name, fields in _QUEUES.items()},
        "site": {site: {"state": "ACTIVE", "datapolicies": policies[site]} for site in _SITES},
        "ddmendpoint": {
            f"{site}_DATADISK": {"site": site, "type": "DATADISK", "state": "ACTIVE", "is_tape": False}
            for site in _SITES
        },
        "rse_usage": {f"{site}_DATADISK": {"storage": {"used": 0, "free": 900 * _GB}} for site in _SITES},
        "sitematrix": [
            {"src": source, "dst": nucleus, "closeness": 0 if source == nucleus else 4}
            for source in _SITES
            for nucleus in _SITES[:2]
        ],
    }


_TABLES = {
    "pilots.csv": "queue,getJob\nCERN,90\nLYON,40\nGLASGOW,20\n",
    "statistics.csv": (
        "queue,gshare,resource_type,state,n\nCERN,MC,MCORE,running,80\nCERN,MC,MCORE,activated,60\n"
        "LYON,MC,MCORE,running,40\nLYON,MC,SCORE,running,10\nGLASGOW,MC,SCORE,running,30\n"
    ),
    "tasks.csv": (
        "jediTaskID,gshare,taskPriority,nucleus,coreCount,ramCount,walltime,t1Weight\n"
        "101,MC,500,CERN-PROD,8,16000,1,\n102,MC,500,IN2P3-CC,1,1500,1,\n"
        "103,MC,500,CERN-PROD,8,16000,1,-1\n104,MC,500,CERN-PROD,1,9000,1,\n"
    ),
    "jobs.csv": (
        "PandaID,jobStatus,computingSite,gshare,currentPriority,jediTaskID,modificationTime\n"
        "7001,activated,LYON,MC,500,101,2026-01-02T10:00:00\n7002,running,CERN,MC,500,103,2026-01-05T11:50:00\n"
    ),
}

_DOWN = {"IN2P3-CC_DATADISK": {"read_wan": {"status": {"value": "OFF"}}, "write_lan": {"status": {"value": "OFF"}}}}

_FILES = {
    **{f"grid/{name}.json": json.dumps(document, indent=1) for name, document in _grid().items()},
    **{f"grid/{name}": text for name, text in _TABLES.items()},
    "down/ddmendpointstatus.json": json.dumps(_DOWN, indent=1),
}

DEMO = Demo(
    scenes=(
        scene(
            "A directory holds a grid as CRIC and Rucio publish it, and tables of PanDA. First see what it would do.",
            f"broker import grid --check --now {_AT}12:00Z",
        ),
        scene("Import all of it at once.", f"broker import grid --now {_AT}12:00Z"),
        scene("Two sites are nuclei: output is gathered there.", "broker nuclei"),
        scene(
            "Broker the tasks, as cron does. What has to be done in PanDA goes to a file.",
            f"broker run --out actions.json --now {_AT}12:00Z",
        ),
        scene("Why has task 104 no queue?", f"broker why 104 --now {_AT}12:00Z"),
        scene("The storage at Lyon goes down: CRIC publishes its state.", f"broker import down --now {_AT}12:30Z"),
        scene("Broker all tasks again.", f"broker run --all --now {_AT}12:30Z"),
        scene("What changed between the two runs, and why?", "broker diff 1 2"),
        scene(
            "A job has waited at Lyon for three days. Which jobs are past their time?",
            f"broker timeouts --now {_AT}13:00Z",
        ),
        scene("Send it back to brokerage.", f"broker timeouts --apply --out actions.csv --now {_AT}13:00Z"),
        scene("Its task is ready to be brokered again.", "broker tasks --af jediTaskID status assigned"),
        scene("The history has every change.", "state history --limit 4 --af Time Subject"),
    ),
    look="broker tasks",
    files=_FILES,
)
