"""A pool of one state as users see it on the command line, for the tests of HTCondor's manuals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.documents.sentences import Text

HTCONDOR_8 = Text("HTCondor 8 manual", "Chapter User Priorities and Negotiation of the HTCondor 8 manual")
CONDOR_7 = Text("Condor 7 manual", "Chapter User Priorities and Negotiation of the Condor 7 manual")
CONDOR_6_8 = Text("Condor 6.8 manual", "Section 3.4, User Priorities and Negotiation, of the Condor 6.8 manual")

NOW = 1_795_210_080
HOUR, DAY = 3600, 86400

PHYSICS = """
[groups.group_physics]
quota = 20
[groups.group_chemistry]
quota = 10
"""
"""The pool of the manuals: twenty slots are of the physicists, ten of the chemists."""

NESTED = """
[groups.group_physics]
quota = 20
[groups."group_physics.hep"]
quota = 15
[groups."group_physics.lep"]
quota = 5
[groups.group_chemistry]
quota = 10
"""
"""The same with high and low energy physicists apart."""

HEP, LEP = "group_physics.hep", "group_physics.lep"


def older(place: str, in_6_8: str | None = None) -> dict[Text, str]:
    """Where Condor 7 and 6.8 say the same: mostly at the same place."""
    return {CONDOR_7: place, CONDOR_6_8: in_6_8 or place}


class Pool:
    """Slots, jobs and accounts of one state. Users are named without their domain, example.org."""

    def __init__(self, run: Callable[..., Any], state: Path, folder: Path) -> None:
        self._run, self._state, self._folder = run, state, folder

    def fairq(self, *words: object, code: int = 0) -> Any:
        ended = self._run("--state", self._state, *words)
        assert ended.code == code, ended.err
        return json.loads(ended.out) if "--json" in words else ended

    def settings(self, text: str) -> None:
        Path(f"{self._state}.toml").write_text(text)

    def slots(self, count: int, machine: str = "node", now: int = NOW, **attributes: object) -> None:
        words = [word for name, value in attributes.items() for word in ("--attribute", f"{name}={value}")]
        self.fairq("slots", "add", machine, "--count", count, *words, "--now", now)

    def submit(self, user: str, count: int = 1, *options: object, group: str = "", now: int = NOW) -> None:
        who = ("--accounting-group-user", user, *(("--accounting-group", group) if group else ()))
        self.fairq("submit", "--count", count, *who, *options, "--now", now, "--", "/bin/true")

    def import_(self, now: int = NOW, **ads: list[dict[str, Any]]) -> None:
        """Import *slots*, *jobs* or *accounting*, as HTCondor's tools print them."""
        words: list[object] = []
        for name, found in ads.items():
            file = self._folder / f"{name}.json"
            file.write_text(json.dumps(found))
            words += [f"--{name}", file]
        self.fairq("import", *words, "--now", now)

    def set_eup(self, user: str, value: float) -> None:
        """Give *user*, whose real priority is that of a newcomer, an effective priority."""
        self.fairq("userprio", "--setfactor", f"{user}@example.org", value / 0.5, "--now", NOW)

    def set_rup(self, user: str, value: float, now: int = NOW) -> None:
        self.fairq("userprio", "--setprio", f"{user}@example.org", value, "--now", now)

    def cycle(self, now: int = NOW) -> dict[str, Any]:
        found: dict[str, Any] = self.fairq("negotiate", "--now", now, "--json")
        return found

    def got(self, now: int = NOW) -> Counter[str]:
        """Hold a cycle and count everybody's matches."""
        return Counter(one["submitter"].partition("@")[0] for one in self.cycle(now)["matches"])

    def jobs(self, now: int = NOW) -> list[str]:
        """Hold a cycle and name the matched jobs in order."""
        return [one["assigned"] for one in self.cycle(now)["matches"]]

    def taken(self, now: int = NOW) -> list[str]:
        """Hold a cycle and name the matched slots in order."""
        return [one["slot"] for one in self.cycle(now)["matches"]]

    def groups_got(self, now: int = NOW) -> Counter[str]:
        return Counter(one["group"] for one in self.cycle(now)["matches"])

    def finish(self, jobs: Iterable[object], now: int) -> None:
        self.fairq("finish", *jobs, "--now", now)

    def records(self) -> dict[str, dict[str, Any]]:
        return {one["Name"]: one for one in self.fairq("userprio", "--allusers", "--all", "--json")}

    def record(self, user: str) -> dict[str, Any]:
        return self.records()[f"{user}@example.org"]


def make_pool(run: Callable[..., Any], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pool:
    """Return an empty pool: ``pool = pytest.fixture(make_pool)``."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    return Pool(run, state, tmp_path)


def job_ad(cluster: int, owner: str, **attributes: object) -> dict[str, Any]:
    """The ad of an idle job as condor_q prints it."""
    return {
        "ClusterId": cluster, "ProcId": 0, "JobStatus": 1, "Owner": owner, "User": f"{owner}@example.org",
        "QDate": NOW, "RequestCpus": 1, "Requirements": True, **attributes,
    }  # fmt: skip


def slot_ad(name: str, **attributes: object) -> dict[str, Any]:
    """The ad of an unclaimed slot as condor_status prints it."""
    return {
        "Name": name, "Machine": name.rpartition("@")[2], "SlotID": 1, "Cpus": 1, "Memory": 4096, "Disk": 10**8,
        "Arch": "X86_64", "OpSys": "LINUX", "Requirements": True, "Rank": 0.0, "CurrentRank": 0.0,
        "State": "Unclaimed", "Activity": "Idle", **attributes,
    }  # fmt: skip


def busy_ad(name: str, user: str, **attributes: object) -> dict[str, Any]:
    """The ad of a slot that runs a job of *user*."""
    who = f"{user}@example.org"
    busy = {"State": "Claimed", "Activity": "Busy", "RemoteUser": who, "RemoteOwner": who}
    return slot_ad(name, **{**busy, **attributes})
