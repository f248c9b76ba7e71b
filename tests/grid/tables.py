"""PanDA's tables of a made-up grid: the columns that the queries of docs/panda.md read, and rows for them."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.grid.published import NOW, PLATFORMS, TAGS, Grid, endpoints, iso, metrics, queues, states, tags, usage

PAGE = Path(__file__).parent.parent.parent / "docs" / "panda.md"

BINDS = {"an_hour_ago": iso(NOW - 3600, " "), "six_hours_ago": iso(NOW - 6 * 3600, " ")}
"""What is given to the queries."""

_TASK = (
    "jediTaskID, status, vo, prodSourceLabel, gshare, workingGroup, userName, taskPriority, currentPriority, "
    "processingType, resource_type, cloud, nucleus, site, coreCount, mergeCoreCount, ramCount, ramUnit, baseRamCount, "
    "mergeRamCount, cpuTime, cpuTimeUnit, cpuEfficiency, baseWalltime, walltime, walltimeUnit, outDiskCount, "
    "outDiskUnit, workDiskCount, workDiskUnit, ioIntensity, diskIO, architecture, transHome, transUses, "
    "container_name, splitRule, eventService, frozenTime, modificationTime"
)
_JOB = (
    "PandaID, jobStatus, jobSubStatus, computingSite, gshare, prodSourceLabel, currentPriority, jediTaskID, "
    "jobDefinitionID, prodUserName, workingGroup, processingType, transformation, lockedby, relocationFlag, "
    "eventService, creationTime, modificationTime, stateChangeTime, startTime, endTime, coreCount, pilotErrorCode"
)
_STATS = "computingSite, gshare, resource_type, jobStatus, njobs, nucleus, prorated_diskio_avg, hs"

SCHEMA = {
    "ATLAS_PANDA.SCHEDCONFIG_JSON": "panda_queue, data",
    "ATLAS_PANDA.SW_TAGS": "panda_queue, data",
    "ATLAS_PANDA.SITE": "site_name, role",
    "ATLAS_PANDA.RESOURCE_TYPES": "resource_name, mincore, maxcore, minrampercore, maxrampercore",
    "ATLAS_PANDA.DDM_ENDPOINT": "ddm_endpoint_name, site_name, type, is_tape, space_free, space_expired, "
    "space_min_free, space_unavailable, detailed_status, blacklisted_read",
    "ATLAS_PANDA.PANDA_DDM_RELATION": "panda_site_name, ddm_endpoint_name, scope, roles, default_read, default_write, "
    "order_read, order_write",
    "ATLAS_PANDA.NETWORK_MATRIX_KV": "src, dst, key, value, ts",
    "ATLAS_PANDA.JEDI_TASKS": _TASK,
    "ATLAS_PANDA.JEDI_TASKPARAMS": "jediTaskID, taskParams",
    "ATLAS_PANDA.TASK_EVALUATION": "jediTaskID, metric, value_json",
    "ATLAS_PANDA.JEDI_DATASETS": "jediTaskID, datasetID, datasetName, type, masterID, creationTime, modificationTime, "
    "attributes",
    "ATLAS_PANDA.JEDI_DATASET_CONTENTS": "jediTaskID, datasetID, lfn, status, fsize, nEvents, startEvent, endEvent",
    "ATLAS_PANDA.JEDI_DATASET_LOCALITY": "jediTaskID, datasetID, rse",
    "ATLAS_PANDA.JOBSDEFINED4": _JOB,
    "ATLAS_PANDA.JOBSACTIVE4": _JOB,
    "ATLAS_PANDA.JOBSARCHIVED4": _JOB,
    "ATLAS_PANDA.JOBS_SHARE_STATS": _STATS,
    "ATLAS_PANDA.JOBSDEFINED_SHARE_STATS": _STATS,
    "ATLAS_PANDA.METRICS": "computingSite, gshare, metric, value_json",
    "ATLAS_PANDA.GLOBAL_SHARES": "name, value, parent",
    "ATLAS_PANDA.HARVESTER_WORKER_STATS": "computingSite, status, n_workers, lastUpdate",
    "ATLAS_PANDA.HARVESTER_SLOTS": "pandaQueueName, gshare, resourceType, numSlots, expirationTime",
    "ATLAS_PANDA.WORKER_NODE_QUEUE": "site, host_name, panda_queue",
    "ATLAS_PANDA.WORKER_NODE_GPUS": "site, host_name, vendor, model, vram, architecture, framework_version, "
    "driver_version",
    "ATLAS_PANDA.MV_WORKER_NODE_SUMMARY": "panda_queue, cpu_architecture_level, pct_within_pq",
    "ATLAS_PANDA.CONFIG": "app, component, key, value",
    "ATLAS_PANDAMETA.SITEDATA": "site, flag, hours, getJob, updateJob, lastStart",
}
"""The tables and columns of the published schema that the queries read."""

SHARES = {"MC Default": 60, "Data Derivations": 30, "User Analysis": 10}


def queries() -> dict[str, str]:
    """Return the queries of the page by the kind that they fill."""
    return dict(re.findall(r"^### (\w+)\n[^#]*?```sql\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def tables(grid: Grid) -> sqlite3.Connection:
    """Return PanDA's database of *grid*."""
    found = sqlite3.connect(":memory:")
    found.create_function("JSON_VALUE", 2, lambda text, path: None if text is None else json.loads(text)[path[2:]])
    for schema in ("ATLAS_PANDA", "ATLAS_PANDAMETA"):
        found.execute(f"ATTACH ':memory:' AS {schema}")
    for table, columns in SCHEMA.items():
        found.execute(f"CREATE TABLE {table} ({columns})")
    for table, row in (*_places(grid), *_work(grid), *_figures(grid)):
        marks = ", ".join("?" * len(row))
        found.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    return found


def dumped(grid: Grid) -> dict[str, str]:
    """Return what each query of the page gives, as CSV."""
    with closing(tables(grid)) as database:
        return {kind: _csv(database.execute(query, BINDS)) for kind, query in queries().items()}


def _csv(found: sqlite3.Cursor) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column[0] for column in found.description])
    writer.writerows(found)
    return out.getvalue()


Row = tuple[str, dict[str, Any]]


def _places(grid: Grid) -> Iterator[Row]:
    panda = "ATLAS_PANDA."
    for name, fields in queues(grid).items():
        yield panda + "SCHEDCONFIG_JSON", {"panda_queue": name, "data": json.dumps(fields)}
        for order, (rse, scope, roles) in enumerate([
            (fields["astorages"]["read_lan"][0], "default", "read_lan,write_lan"),
            (fields["astorages"]["read_lan"][1], "default", "read_lan"),
        ], 1):  # fmt: skip
            yield panda + "PANDA_DDM_RELATION", {
                "panda_site_name": name, "ddm_endpoint_name": rse, "scope": scope, "roles": roles,
                "default_read": "Y" if order == 1 else "N", "default_write": "Y" if order == 1 else "N",
                "order_read": order, "order_write": order if order == 1 else None,
            }  # fmt: skip
        yield panda + "WORKER_NODE_QUEUE", {"site": fields["atlas_site"], "host_name": "n1", "panda_queue": name}
        yield panda + "MV_WORKER_NODE_SUMMARY", {
            "panda_queue": name, "cpu_architecture_level": "x86_64-v3", "pct_within_pq": 75.5,
        }  # fmt: skip
    for name, software in tags(grid).items():
        yield panda + "SW_TAGS", {"panda_queue": name, "data": json.dumps(software)}
    for name in grid.site_names:
        yield panda + "SITE", {"site_name": name, "role": "nucleus" if name in grid.nucleus_names else "satellite"}
    for name, low, high in (("SCORE", 1, 1), ("MCORE", 2, None)):
        yield panda + "RESOURCE_TYPES", {"resource_name": name, "mincore": low, "maxcore": high, "maxrampercore": 2000}
    down, space = states(grid), usage(grid)
    for name, fields in endpoints(grid).items():
        if fields["state"] == "ACTIVE":
            status = {activity: told["status"]["value"] for activity, told in down.get(name, {}).items()}
            yield panda + "DDM_ENDPOINT", {
                "ddm_endpoint_name": name, "site_name": fields["site"], "type": fields["type"],
                "is_tape": "Y" if fields["is_tape"] else "N", "space_free": space[name]["storage"]["free"] // 2**30,
                "space_expired": 10, "space_min_free": 5, "space_unavailable": 0, "detailed_status": json.dumps(status),
                "blacklisted_read": "Y" if status.get("read_wan") == "OFF" else "N",
            }  # fmt: skip
    yield panda + "WORKER_NODE_GPUS", {
        "site": grid.site_names[0], "host_name": "n1", "vendor": "nvidia", "model": "A100", "vram": 81920,
        "architecture": "Ampere", "framework_version": "12.2", "driver_version": "575.51",
    }  # fmt: skip
    for link, told in metrics(grid).items():
        source, nucleus = link.split(":")
        at = iso(NOW - 300, " ")
        for key, value in (("AGIS_closeness", 3), ("dashb_mbps_1h", told["mbps"]["dashb"]["1h"]), ("latency", 1)):
            yield panda + "NETWORK_MATRIX_KV", {"src": source, "dst": nucleus, "key": key, "value": value, "ts": at}


def _work(grid: Grid) -> Iterator[Row]:
    panda = "ATLAS_PANDA."
    draw = grid.draw
    for number in range(1, grid.tasks + 1):
        is_user = number % 10 == 4
        cores = draw.choice([1, 8])
        yield panda + "JEDI_TASKS", {
            "jediTaskID": number, "status": "ready", "vo": "atlas", "prodSourceLabel": "user" if is_user else "managed",
            "gshare": "User Analysis" if is_user else draw.choice(list(SHARES)[:2]), "userName": f"user{number % 7}",
            "taskPriority": draw.choice([100, 500, 900]), "currentPriority": draw.choice([100, 500, 900]),
            "processingType": draw.choice(["simul", "reco", "pile"]), "nucleus": draw.choice(grid.nucleus_names),
            "coreCount": cores, "ramCount": draw.choice([1000, 1800, 3500]), "ramUnit": "MBPerCore",
            "baseRamCount": 200,
            "cpuTime": draw.choice([100, 900]), "cpuTimeUnit": "HS06sPerEvent", "cpuEfficiency": 90, "walltime": 1,
            "outDiskCount": 500, "outDiskUnit": "kB", "workDiskCount": 100, "workDiskUnit": "MB",
            "ioIntensity": draw.choice([10, 100, 400]), "diskIO": 100,
            "architecture": f"{draw.choice(PLATFORMS)}#x86_64",
            "transHome": f"Athena-{draw.choice(TAGS)}", "splitRule": "NF=2" if number % 11 else "NF=2,TW=-1",
            "modificationTime": iso(NOW - 600, " "),
        }  # fmt: skip
        parameters = {"ipConnectivity": "http"} if number % 29 == 0 else {"taskName": f"task {number}"}
        yield panda + "JEDI_TASKPARAMS", {"jediTaskID": number, "taskParams": json.dumps(parameters)}
        if is_user:
            yield panda + "TASK_EVALUATION", {
                "jediTaskID": number, "metric": "analy_task_eval", "value_json": '{"class": 1}',
            }  # fmt: skip
        yield panda + "JEDI_DATASETS", {
            "jediTaskID": number, "datasetID": number, "datasetName": f"mc23:input.{number}", "type": "input",
            "creationTime": iso(NOW - 10**6, " "), "modificationTime": iso(NOW - 10**5, " "),
        }  # fmt: skip
        for file in range(2 + number % 3):
            yield panda + "JEDI_DATASET_CONTENTS", {
                "jediTaskID": number, "datasetID": number, "lfn": f"input.{number}._{file}.root", "status": "ready",
                "fsize": 2 * 10**9, "nEvents": 1000,
            }  # fmt: skip
        for site in draw.sample(grid.site_names, min(2, grid.sites)):
            yield panda + "JEDI_DATASET_LOCALITY", {
                "jediTaskID": number, "datasetID": number, "rse": f"{site}_DATADISK",
            }  # fmt: skip
    for number in range(1, grid.tasks + 1):
        queue = grid.queue_names[number % grid.queues]
        for part, (state, age) in enumerate((("assigned", 1), ("activated", 80), ("running", 3), ("transferring", 10))):
            table = "JOBSDEFINED4" if state == "assigned" else "JOBSACTIVE4"
            at = iso(NOW - age * 3600 * (1 + number % 2), " ")
            yield panda + table, {
                "PandaID": 4 * number + part, "jobStatus": state, "computingSite": queue, "gshare": "MC Default",
                "prodSourceLabel": "user" if number % 10 == 4 else "managed", "currentPriority": 500,
                "jediTaskID": number, "jobDefinitionID": number, "prodUserName": f"user{number % 7}",
                "processingType": "simul", "lockedby": "jedi", "relocationFlag": 0, "creationTime": at,
                "modificationTime": iso(NOW - 300, " ") if number % 4 else at, "stateChangeTime": at, "coreCount": 8,
                "startTime": at if state in ("running", "transferring") else None,
            }  # fmt: skip
        yield panda + "JOBSARCHIVED4", {
            "PandaID": 10**6 + number, "computingSite": queue,
            "jobStatus": ("finished", "failed", "closed")[number % 3], "jediTaskID": number, "pilotErrorCode": 1099,
            "jobSubStatus": "toreassign", "relocationFlag": 0,
            "modificationTime": iso(NOW - 3600, " "),
        }  # fmt: skip


def _figures(grid: Grid) -> Iterator[Row]:
    panda = "ATLAS_PANDA."
    draw = grid.draw
    for name in grid.queue_names:
        for share in SHARES:
            for kind in ("SCORE", "MCORE"):
                for state in ("activated", "starting", "running", "transferring"):
                    yield panda + "JOBS_SHARE_STATS", {
                        "computingSite": name, "gshare": share, "resource_type": kind, "jobStatus": state,
                        "njobs": draw.randrange(1, 60), "nucleus": draw.choice(grid.nucleus_names), "hs": 100,
                        "prorated_diskio_avg": draw.randrange(1, 500),
                    }  # fmt: skip
                yield panda + "JOBSDEFINED_SHARE_STATS", {
                    "computingSite": name, "gshare": share, "resource_type": kind, "jobStatus": "defined", "njobs": 2,
                }  # fmt: skip
        if draw.random() < 0.95:
            yield "ATLAS_PANDAMETA.SITEDATA", {
                "site": name, "flag": "production", "hours": 3, "getJob": draw.randrange(1, 100), "updateJob": 5,
                "lastStart": iso(NOW - draw.randrange(20_000), " "),
            }  # fmt: skip
        yield panda + "METRICS", {
            "computingSite": name, "gshare": "User Analysis", "metric": "analy_site_eval", "value_json": '{"class": 1}',
        }  # fmt: skip
        for status, age in (("running", 60), ("submitted", 60), ("running", 90_000)):
            yield panda + "HARVESTER_WORKER_STATS", {
                "computingSite": name, "status": status, "n_workers": 7, "lastUpdate": iso(NOW - age, " "),
            }  # fmt: skip
    for share, value in SHARES.items():
        yield panda + "GLOBAL_SHARES", {"name": share, "value": value}
    yield panda + "HARVESTER_SLOTS", {
        "pandaQueueName": grid.queue_names[0], "numSlots": 40, "expirationTime": iso(NOW + 3600, " "),
    }  # fmt: skip
    yield panda + "CONFIG", {"app": "jedi", "component": "jobbroker", "key": "NQUEUED_SAT_CAP", "value": "250"}
    yield panda + "CONFIG", {
        "app": "jedi", "component": "rebroker", "key": "FAST_REBRO_THRESHOLD_NQUEUE_MC Default", "value": "100",
    }  # fmt: skip
