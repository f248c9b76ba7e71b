"""A made-up grid as CRIC, Rucio and the network's monitoring publish it. The same grid every time.

Site ``n`` has the queues, the storage and the links of a real one; numbers come from a generator with a fixed seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

NOW = 1_795_000_000
"""Seconds since 1970 at which the grid is as it is published."""

GB = 2**30

TAGS = ("21.0.38", "22.0.44", "24.0.12")
PLATFORMS = ("x86_64-slc6-gcc62-opt", "x86_64-centos7-gcc8-opt", "x86_64-el9-gcc13-opt")


def iso(seconds: int, separator: str = "T") -> str:
    """Return a time as these services write it: in UTC, without a zone."""
    return datetime.fromtimestamp(seconds, UTC).strftime(f"%Y-%m-%d{separator}%H:%M:%S")


@dataclass
class Grid:
    """The size of a grid; *draw* makes its numbers."""

    sites: int = 25
    nuclei: int = 12
    queues: int = 60
    tasks: int = 300
    draw: random.Random = field(default_factory=lambda: random.Random(20))

    @property
    def site_names(self) -> list[str]:
        """The sites; the first ones are the nuclei."""
        return [f"SITE-{number:02d}" for number in range(1, self.sites + 1)]

    @property
    def queue_names(self) -> list[str]:
        """The queues, dealt out to the sites in turn."""
        return [f"{self.site_of(number)}_{number // self.sites}" for number in range(self.queues)]

    def site_of(self, queue: int) -> str:
        """Return the site of a queue."""
        return self.site_names[queue % self.sites]

    @property
    def nucleus_names(self) -> list[str]:
        """The sites with the data policy Nucleus."""
        return self.site_names[: self.nuclei]


def published(grid: Grid) -> dict[str, Any]:
    """Return every published document by the name of its file."""
    return {
        "cric-pandaqueue.json": queues(grid),
        "cric-site.json": sites(grid),
        "cric-ddmendpoint.json": endpoints(grid),
        "cric-ddmendpointstatus.json": states(grid),
        "cric-sitematrix.json": matrix(grid),
        "cric-tags.json": tags(grid),
        "rucio-usage.json": usage(grid),
        "network-metrics.json": metrics(grid),
    }


def queues(grid: Grid) -> dict[str, Any]:
    """CRIC's ``pandaqueue/query``: every queue with the fields of a real one, those that nobody reads as well."""
    return {name: _queue(grid, number, name) for number, name in enumerate(grid.queue_names)}


def _queue(grid: Grid, number: int, name: str) -> dict[str, Any]:
    site, draw = grid.site_of(number), grid.draw
    cores = (8, 1, 8, 16)[number % 4]
    return {
        "accesscontrol": "",
        "acopytools": {"read_lan": ["rucio"], "write_lan": ["rucio"]},
        "astorages": {
            "read_lan": [f"{site}_DATADISK", f"{site}_SCRATCHDISK"],
            "write_lan": [f"{site}_DATADISK"],
            "write_lan_analysis": [f"{site}_SCRATCHDISK"],
        },
        "atlas_site": site,
        "capability": "score" if cores == 1 else "ucore",
        "catchall": "disableReassign" if number % 17 == 16 else "",
        "cloud": ("CERN", "DE", "UK", "US")[number % 4],
        "corecount": cores,
        "corepower": draw.choice([8.0, 10.0, 12.5]),
        "country": "Somewhere",
        "direct_access_lan": draw.random() < 0.5,
        "direct_access_wan": False,
        "fairsharepolicy": "type=any:100%" if number % 13 else "type=evgensimul:100%",
        "id": number + 1,
        "jobseed": "std",
        "last_modified": "2026-09-14T15:55:19.332736",
        "maxdiskio": None,
        "maxinputsize": 100_000,
        "maxrss": cores * draw.choice([2000, 4000]),
        "maxtime": draw.choice([172_800, 345_600]),
        "maxwdir": cores * 20_000,
        "minrss": 0,
        "mintime": 0,
        "name": name,
        "nickname": name,
        "panda_resource": name,
        "params": {"ups_core_target": 1000},
        "pilot_manager": "Harvester",
        "pledgedcpu": None,
        "queues": [{"ce_endpoint": f"ce.{site.lower()}.example:9619", "ce_flavour": "HTCONDOR-CE"}],
        "releases": ["AUTO"] if number % 3 else ["ANY"],
        "siteid": name,
        "state": "ACTIVE",
        "status": ("online", "online", "online", "online", "brokeroff", "test")[draw.randrange(6)],
        "system": "example",
        "transferringlimit": None,
        "transtimehi": 1,
        "transtimelo": 4,
        "type": "unified" if number % 5 else "production",
        "uconfig": {},
        "wnconnectivity": "full#IPv4",
        "workflow": "pull_ups",
    }


def sites(grid: Grid) -> dict[str, Any]:
    """CRIC's ``site/query``, with a site that is closed."""
    return {
        name: {
            "name": name,
            "state": "ACTIVE",
            "tier_level": 1 if name in grid.nucleus_names else 2,
            "datapolicies": ["T2UnD", "Nucleus"] if name in grid.nucleus_names else ["T2UnD"],
            "ddmendpoints": {f"{name}_DATADISK": {"state": "ACTIVE"}},
            "presources": {},
        }
        for name in grid.site_names
    } | {"SITE-CLOSED": {"name": "SITE-CLOSED", "state": "DISABLED", "datapolicies": [], "tier_level": 3}}


def endpoints(grid: Grid) -> dict[str, Any]:
    """CRIC's ``ddmendpoint/query``: disk and scratch at every site, tape at every nucleus, one that is closed."""
    found = {}
    for name in grid.site_names:
        kinds = ["DATADISK", "SCRATCHDISK", *(["DATATAPE"] if name in grid.nucleus_names else [])]
        for kind in kinds:
            found[f"{name}_{kind}"] = _endpoint(name, kind, "ACTIVE")
    found["SITE-CLOSED_DATADISK"] = _endpoint("SITE-CLOSED", "DATADISK", "DISABLED")
    return found


def _endpoint(site: str, kind: str, state: str) -> dict[str, Any]:
    return {
        "name": f"{site}_{kind}",
        "site": site,
        "state": state,
        "type": kind,
        "is_tape": kind == "DATATAPE",
        "token": f"ATLAS{kind}",
        "aprotocols": {"read_lan": [[1, "root://example", "/data"]]},
    }


def states(grid: Grid) -> dict[str, Any]:
    """CRIC's ``ddmendpointstatus/query``: only endpoints with a rule are there."""
    down = {"status": {"value": "OFF", "reason": "downtime", "expiration": None}}
    probing = {"status": {"value": "PROBING"}}
    return {
        f"{grid.site_names[-1]}_DATADISK": {"write_wan": down, "write_lan": down, "read_wan": probing},
        f"{grid.site_names[-2]}_DATADISK": {"read_wan": down},
    }


def usage(grid: Grid) -> dict[str, Any]:
    """Rucio's usage of every endpoint, in bytes; one site is almost full."""
    found = {}
    for name in endpoints(grid):
        free = 50 if name.startswith(grid.site_names[-3]) else grid.draw.randrange(500, 90_000)
        found[name] = {
            "storage": {"used": 10**15, "free": free * GB, "updated_at": iso(NOW - 600, " ")},
            "expired": {"used": 10 * GB, "updated_at": iso(NOW - 600, " ")},
            "min_free_space": {"used": 5 * GB},
        }
    return found


def matrix(grid: Grid) -> list[dict[str, Any]]:
    """CRIC's ``sitematrix/query``: each pair of sites, and an entry without a source, as it happens."""
    found: list[dict[str, Any]] = [
        {"src": source, "dst": nucleus, "closeness": 0 if source == nucleus else grid.draw.randrange(1, 12)}
        for source in grid.site_names
        for nucleus in grid.nucleus_names
    ]
    return [*found, {"src": None, "dst": grid.site_names[0], "closeness": 3}]


def metrics(grid: Grid) -> dict[str, Any]:
    """The network metrics by ``SOURCE:DESTINATION``."""
    at = iso(NOW - 300)
    return {
        f"{source}:{nucleus}": {
            "files": {
                "done": {"Production Output": {"1h": 10, "6h": 60, "timestamp": at}},
                "queued": {
                    "Production Output": {"latest": grid.draw.randrange(200), "timestamp": at},
                    "Express": {"latest": grid.draw.randrange(20), "timestamp": at},
                },
            },
            "mbps": {"dashb": {"1h": grid.draw.randrange(1, 200), "1d": 50, "1w": 40, "timestamp": at}},
            "packetloss": {"latest": 0.001, "timestamp": at},
        }
        for source in grid.site_names
        for nucleus in grid.nucleus_names
        if source != nucleus and grid.draw.random() < 0.8
    }


def tags(grid: Grid) -> dict[str, Any]:
    """CRIC's software of every queue, as the page shows that of AGLT2, and the list of all tags."""
    listed = [
        {
            "cmtconfig": platform,
            "container_name": "",
            "project": "Athena",
            "release": release,
            "sources": [],
            "tag": f"VO-atlas-Athena-{release}-{platform}",
        }
        for release in TAGS
        for platform in PLATFORMS
    ]
    software = {
        name: {
            "cmtconfigs": list(PLATFORMS if number % 7 else PLATFORMS[:1]),
            "containers": ["any", "/cvmfs"] if number % 4 else [],
            "cvmfs": ["atlas", "nightlies"],
            "architectures": [{"type": "cpu", "arch": ["x86_64"], "instr": ["avx2"], "vendor": ["intel"]}],
            "tags": listed[:3],
        }
        for number, name in enumerate(grid.queue_names)
    }
    everything = {"cmtconfigs": [], "containers": [], "cvmfs": [], "architectures": [], "tags": listed}
    return {**software, "ALL": everything}
