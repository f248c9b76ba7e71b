"""Task queues of one state as users see them on the command line, for the tests of DIRAC's priority schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.documents.sentences import Text

SCHEMA_TEXT = Text("DIRAC Priority schema", "LHCb TWiki, revision 3 of 2009-09-07")

NOW = 1_795_210_080
WEEK, HOUR = "604800", "3600"
USER, PROD = "lhcb_user", "lhcb_prod"

EXAMPLE = """\
ShareCorrections
{
  ShareCorrectorsToStart = WMSHistory
  WMSHistory
  {
    GroupsInstance
    {
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
    lhcb_userInstance
    {
      Group = lhcb_user
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
  }
}
"""
"""The page's example of a configuration."""


class Grid:
    """Task queues, groups and history of one state, as users see them on the command line."""

    def __init__(self, run: Callable[..., Any], state: Path, folder: Path) -> None:
        self._run, self._state, self._folder = run, state, folder

    def fairq(self, *words: object, code: int = 0) -> Any:
        ended = self._run("--state", self._state, *words)
        assert ended.code == code, ended.err
        return json.loads(ended.out) if "--json" in words else ended

    def settings(self, text: str) -> None:
        Path(f"{self._state}.toml").write_text(text)

    def groups(self, **shares: float) -> None:
        """Set the groups' priorities; those called ``prod...`` have job sharing."""
        tables = [
            f'[shares.groups."{name}"]\njob_share = {share}\njob_sharing = {str("prod" in name).lower()}\n'
            for name, share in shares.items()
        ]
        self.settings("".join(tables))

    def submit(self, owner: str, group: str, count: int = 1, **asked: object) -> None:
        words = [word for name, value in asked.items() for word in ("--attribute", f"{name}={value}")]
        who = ("--accounting-group", group, "--accounting-group-user", owner)
        self.fairq("submit", "--count", count, *who, *words, "--now", NOW, "--", "/bin/true")

    def configuration(self, text: str) -> None:
        """Import DIRAC's configuration *text*; the rules are the documented ones."""
        file = self._folder / "dirac.cfg"
        file.write_text(text)
        self.fairq("config", "import", file)
        self.fairq("config", "set", "shares.rules", "documented")

    def write(self, name: str, document: object) -> Path:
        """Write a JSON file and return its path."""
        file = self._folder / name
        file.write_text(json.dumps(document))
        return file

    def history(self, by_group: dict[str, dict[str, dict[str, float]]], **groups: dict[str, Any]) -> None:
        """Import a dump of DIRAC that has only groups and reports of what ran."""
        file = self.write("dump.json", {"task_queues": [], "groups": groups, "history": by_group, "time": NOW})
        self.fairq("taskqueues", "import", file, "--now", NOW)

    def shares(self) -> dict[str, Any]:
        report: dict[str, Any] = self.fairq("taskqueues", "shares", "--json", "--now", NOW)
        return report

    def group_shares(self) -> dict[str, float]:
        return {one["owner_group"]: one["share"] for one in self.shares()["groups"]}

    def user_shares(self) -> dict[str, float]:
        return {one["owner"]: one["share"] for one in self.shares()["users"]}

    def priorities(self) -> list[float]:
        """The priorities of the queues, in the order in which their first jobs came."""
        return [one["priority"] for one in self.fairq("taskqueues", "list", "--json", "--now", NOW)]

    def matches(self, count: int, *words: object) -> list[dict[str, Any]]:
        pilot = ("--site", "LCG.CERN.cern", "--cputime", 10**6, "--now", NOW)
        found: list[dict[str, Any]] = self.fairq(
            "taskqueues", "match", *pilot, "--count", count, "--seed", 2009, *words, "--json"
        )["matches"]
        return found


def make_grid(run: Callable[..., Any], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    """Return an empty grid: ``grid = pytest.fixture(make_grid)``."""
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    return Grid(run, state, tmp_path)
