"""Small dumps for the tests of import and export."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Ad = dict[str, Any]

NOW = 1_795_210_080


def slot(name: str = "slot1@m1", **more: Any) -> Ad:
    fixed = {"MyType": "Machine", "MyAddress": "<10.0.0.1:9618>", "Cpus": 1, "State": "Unclaimed", "Requirements": True}
    return {"Name": name, **fixed, **more}


def claimed(name: str, user: str, job: str, **more: Any) -> Ad:
    """A slot that says it runs *job* of *user* since an hour before NOW."""
    use = {"State": "Claimed", "Activity": "Busy", "RemoteUser": user, "AccountingGroup": user, "JobId": job}
    return slot(name, **use, JobStart=NOW - 3600, CurrentRank=2.5, **more)


def job(cluster: int = 1, proc: int = 0, **more: Any) -> Ad:
    return {
        "ClusterId": cluster,
        "ProcId": proc,
        "JobStatus": 1,
        "JobPrio": 0,
        "QDate": NOW - 60,
        "Owner": "alice",
        "User": "alice@example.org",
        "RequestMemory": 128,
        "Requirements": "/Expr(TARGET.Memory >= RequestMemory)/",
        **more,
    }


def user(name: str = "alice@example.org", **more: Any) -> Ad:
    return {"Name": name, "Priority": 10.0, "PriorityFactor": 100.0, **more}


def dump(folder: Path, name: str, *ads: Ad) -> Path:
    """Write *ads* as -json prints them."""
    path = folder / name
    path.write_text(json.dumps(ads), encoding="utf-8")
    return path


def imported(
    run: Callable[..., Any], state: Path, folder: Path, ads: Mapping[str, list[Ad]], settings: Mapping[str, str]
) -> Callable[..., Any]:
    """Import *ads* by the kind of their dump at NOW, under *settings*; return what runs a command there.

    The command must succeed; with ``--json`` its output is read.
    """

    def fairq(*words: object) -> Any:
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return json.loads(ended.out) if "--json" in words else ended.out

    words: list[object] = []
    for name, found in ads.items():
        words += [f"--{name}", dump(folder, f"{name}.json", *found)]
    for key, value in settings.items():
        fairq("config", "set", key, value)
    fairq("import", *words, "--now", NOW)
    return fairq
