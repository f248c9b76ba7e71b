"""Whole states of the brokerage at random: everything that the tables may hold, sound or not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from fairq.columns.broker.column import Column, Kind, UnfitError, value_of
from fairq.columns.broker.kinds import STORED
from fairq.state import broker_data
from fairq.state.connection import State

NOW = 1_795_000_000
QUEUES, TASKS = ("A", "B", "U8"), (1, 2, 3)
LARGE = 2**53

WORDS: Mapping[str, tuple[Any, ...]] = {
    "queue": QUEUES, "rse": ("D1", "D2", "X_VP_DISK"), "site": ("S1", "S2", "", "A", "A,B", "U8"), "task": TASKS,
    "nucleus": ("S1", "S2", ""), "source": ("S1", "S2"), "gshare": ("MC", "User Analysis", "", "test"),
    "state": ("running", "activated", "assigned", "starting", "defined", "transferring"), "dataset": ("d1", "d2"),
    "resource_type": ("SCORE", "MCORE", "", "SCORE_HIMEM"), "jediTaskID": TASKS, "user": ("u", "_total"),
    "status": ("online", "online", "test", "ready"), "type": ("unified", "production", "analysis", "DATADISK"),
    "capability": ("ucore", "score", ""), "releases": (["ANY"], ["AUTO"], []), "workflow": ("pull_ups", "push"),
    "cloud": ("W", "", None), "prodSourceLabel": ("managed", "user", "test"), "scope": ("default", "analysis"),
    "key": ("AGIS_closeness", "Production Output_queued", "Express_queued", "dashb_mbps_1h", "dashb_mbps_1w"),
    "splitRule": ("NF=1", "NE=5", "DY=3,MX=9", "IL=2", "TW=-1", "US=2", "NJ=1", "FU=1", "CC=1", "IP=1", "IK=6",
                  "LS=1", "NG=2", "AI=1", "AV=1", "MO=1", "NF=0", "NE=0,NG=0", "TW=x"),
    "catchall": ("", "useJumboJobs,minEventsForJumbo=5", "use_only_local_data", "bareNucleus=only", "gpu"),
    "params": ({}, {"max_io_intensity": 5}, {"max_io_intensity": "x"}, {"useJumboJobs": True}),
    "architecture": ("", "x86_64-el9-gcc13-opt", "#x86_64&nvidia", "((((", '{"cpu_specs":5}', "&nvidia:vram>=x"),
    "transHome": ("AtlasOffline-21.0", "-", "x", "AnalysisBase-24.2.1", ""), "vendor": ("nvidia", "amd"),
    "cpuTimeUnit": ("HS06sPerEvent", "mHS06sPerEventFixed", "x"), "ramUnit": ("MB", "MBPerCore", "x"),
    "outDiskUnit": ("kB", "MBPerEvent", "x", ""), "workDiskUnit": ("kB", "GB", "x"), "userName": ("u",),
    "component": ("jobbroker",), "name": ("u", "S1", "A", "B", "SCORE"), "wnconnectivity": ("", "full", "http#IPv4"),
    "fairsharepolicy": ("", "type=any:0%", "priority>400:0", "priority>x:0", "gshare=a(:0"),
    "detailed_status": ({}, {"read_lan": "OFF"}, {"write_wan": "TEST", "read_wan": 5}),
    "parameters": ({}, {"includedSite": ["A"], "excludedSite": "B*"}, {"includedSite": 5}, {"excludedSite": [None]}),
    "architectures": ([], [{"type": "cpu", "arch": ["x86_64"], "vendor": ["intel", "excl"]}], [{"type": 5}], [{}]),
    "tags": ([], [{"cmtconfig": "x", "project": "y"}], [{"tag": None}]), "roles": (["read_lan", "write_lan"], []),
    "processingType": ("simul", "urgent", "evgen", ""),
}  # fmt: skip
"""What the columns of these names hold."""

NUMBERS: Mapping[str, tuple[Any, ...]] = {
    "integer": (0, 1, 2, 5, 8, 20, 100, 900, 2000, -1, LARGE),
    "real": (0, 1, 0.5, -1, 100, 2000, 16_000, 1e18, -1e18, 1e-300),
    "boolean": (True, False),
    "time": (0, NOW, NOW - 10_000, NOW - 10**7, -5, 253_402_300_799),
    "list": ([], ["a"], ["SCORE"]),
    "object": ({},),
    "text": ("", "x", "1", "A"),
}


def fill(state: State, draw: random.Random) -> None:
    """Fill every table; there are always queues, and three tasks."""
    for kind in STORED:
        number = len(TASKS) if kind.name == "tasks" else draw.randrange(1, 7)
        rows: dict[Any, broker_data.Row] = {}
        for place in range(number):
            row = _row(kind, draw)
            if kind.name == "tasks":
                row = (TASKS[place], *row[1:])
            elif kind.name == "queues":
                row = (QUEUES[place % 3], *row[1:])
            rows[tuple(row[kind.positions[column.name]] for column in kind.keys)] = row
        broker_data.store(state, kind, rows.values())


def _row(kind: Kind, draw: random.Random) -> broker_data.Row:
    return tuple(_fitting(column, draw) for column in kind.columns)


def _fitting(column: Column, draw: random.Random) -> Any:
    while True:
        try:
            return value_of(column, _value(column, draw))
        except UnfitError:
            continue


def _value(column: Column, draw: random.Random) -> Any:
    if column.name in WORDS:
        return draw.choice(WORDS[column.name])
    if not column.key and draw.random() < 0.3:
        return None
    if column.type == "objects":
        ranges = ({}, {"nEvents": 5}, {"startEvent": 5, "endEvent": -3}, {"nEvents": 0, "startEvent": 0, "endEvent": 9})
        return [{"lfn": f"f{n}", "fsize": draw.choice((0, 1, 10**9, LARGE)), **draw.choice(ranges)}
                for n in range(draw.randrange(4))]  # fmt: skip
    return draw.choice(NUMBERS[column.type])
