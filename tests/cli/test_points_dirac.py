"""Rule points of DIRAC's scheme, switched alone: the smallest grid in which each decides otherwise.

Points of the corrections by history that are not here have a sentence in tests/documents each that tells the values
apart. *candidates* changes nothing here: the queue that is drawn first always has a job for the pilot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from tests.documents.dirac_grid import EXAMPLE, HOUR, NOW, PROD, USER, WEEK, Grid

from fairq.settings.key import DIRAC
from fairq.settings.keys import SINGLE
from fairq.settings.values import to_text


class Point(NamedTuple):
    """What a user sees in one situation: with the text's value of the point, and with the program's."""

    situation: Callable[[Grid], Any]
    documented: Any
    program: Any


POINTS: dict[str, Point] = {}


def point(name, *, documented, program):
    """Add the situation that follows to the table, as that of the rule point *name*."""

    def add(situation):
        POINTS[f"shares.{name}"] = Point(situation, documented, program)

    return add


def asked(**options):
    """The options of ``submit`` for these attributes."""
    return tuple(word for name, value in options.items() for word in ("--attribute", f"{name}={value}"))


@point("consolidation", documented=[450, 150], program=[300, 300])
def _(grid):
    """Three jobs in one queue and one in another."""
    grid.groups(prod=600)
    grid.submit("ann", "prod", 3, Sites='"A"')
    grid.submit("ann", "prod", Sites='"B"')
    return grid.priorities()


@point("user_priority_weight", documented=[500, 100], program=[600, 0.0012])
def _(grid):
    """UserPriorities of 10 and 2."""
    grid.groups(prod=600)
    grid.submit("ann", "prod", UserPriority=10, Sites='"A"')
    grid.submit("ann", "prod", UserPriority=2, Sites='"B"')
    first, second = grid.priorities()
    return [round(first), round(second, 4) if second < 1 else round(second)]


@point("bounded_defaults", documented=[3600, 12], program=[1800, 10])
def _(grid):
    """A job that states nothing, and one that states more than the bounds allow."""
    grid.settings("[shares]\ndefault_cpu_time = 3600\nmax_cpu_time = 1800\ndefault_priority = 12\n")
    grid.submit("ann", "user")
    grid.submit("ann", "user", CPUTime=43200, UserPriority=11)
    first, second = grid.fairq("taskqueues", "list", "--json", "--now", NOW)
    assert second["cpu_time"] == 43200
    return [first["cpu_time"], first["average_priority"] if first["average_priority"] < 100 else 10]


def expected(grid, *queues):
    """The priorities that the queues of a dump should have, by ``taskqueues shares --check``; none if emptied."""
    common = {"Owner": "ann", "OwnerGroup": "g", "CPUTime": 1800, "Jobs": 1, "AveragePriority": 1, "Priority": 1}
    records = [common | queue | {"TQId": number} for number, queue in enumerate(queues, 1)]
    file = grid.write("dump.json", {"task_queues": records, "groups": {"g": {"JobShare": 600}}, "time": NOW})
    grid.fairq("config", "set", "shares.site_families", "true")
    words = ("taskqueues", "shares", "--check", file, "--rules", "documented", "--now", NOW, "--json")
    return [queue["expected"] for queue in grid.fairq(*words, code=1)["task_queues"] if queue["expected"] is not None]


@point("users_counted", documented=[600], program=[300])
def _(grid):
    """A queue of one user, and an emptied one of another."""
    return expected(grid, {}, {"Owner": "bob", "Jobs": 0})


@point("families_as_listed", documented=[600, 600], program=[300, 300])
def _(grid):
    """Two queues whose platforms are listed in another order, where queues make families."""
    return expected(grid, {"Platforms": ["x", "y"], "Sites": ["A"]}, {"Platforms": ["y", "x"], "Sites": ["B"]})


@point("site_families", documented=[200, 200, 200], program=[600, 600, 600])
def _(grid):
    """Three queues of one group that differ in their sites alone."""
    grid.groups(prod=600)
    for site in "ABC":
        grid.submit("ann", "prod", Sites=f'"{site}"')
    return grid.priorities()


@point("decimals", documented=1000 / 3, program=333.3333)
def _(grid):
    """A third of 1000."""
    grid.groups(prod=1000)
    for site in "ABC":
        grid.submit("ann", "prod", Sites=f'"{site}"')
    return grid.priorities()[0]


@point("both_sharing_names", documented=[500, 500], program=[250, 250])
def _(grid):
    """A group that has the property by the schema's name, with two users, one of whom has two queues."""
    grid.history({}, g={"JobShare": 1000, "Properties": "JOB_SHARING"})
    for site in "AB":
        grid.submit("ann", "g", Sites=f'"{site}"')
    if len(grid.shares()["users"]) == 0:
        return grid.priorities()
    grid.submit("bob", "g")
    return grid.priorities()[:2]


@point("blank_lists", documented=0, program=1)
def _(grid):
    """Jobs that are in no queue because their list of sites has only blanks."""
    grid.groups(user=1000)
    grid.submit("ann", "user", Sites='{ " " }')
    return 1 - len(grid.priorities())


@point("enable_shares_correction", documented=False, program=True)
def _(grid):
    """Is the share of a group that ran too much still whole?"""
    grid.configuration(EXAMPLE)
    groups = {USER: {"JobShare": 1000}, PROD: {"JobShare": 3000, "Properties": "JOB_SHARING"}}
    grid.history({"": {WEEK: {USER: 9, PROD: 15}, HOUR: {USER: 9, PROD: 15}}}, **groups)
    grid.submit("ann", USER)
    grid.submit("mc", PROD)
    return grid.group_shares()[USER] == 1000


def chance(grid, queue, *pilot):
    words = ("--site", "LCG.CERN.cern", "--cputime", 10**6, *pilot, "--now", NOW, "--json")
    return round(grid.fairq("taskqueues", "why", queue, *words)["chance"] or 0, 4)


@point("selection", documented=0.6667, program=0.75)
def _(grid):
    """The chance of a queue that has twice the priority of the only other one."""
    grid.groups(user1=200, user2=100)
    for group in ("user1", "user2"):
        grid.submit("ann", group)
    return chance(grid, 1)


@point("private_pilots", documented={"ann"}, program={"ann", "bob"})
def _(grid):
    """Whose jobs a user's own pilot takes, in a group without job sharing."""
    grid.groups(user=100)
    for owner in ("ann", "bob"):
        grid.submit(owner, "user")
    return {match["owner"] for match in grid.matches(9, "--proxy", "ann@user")}


@point("owner_bypasses_requirements", documented=[], program=["ann"])
def _(grid):
    """A pilot for one owner and two groups, at a site that the job bans."""
    grid.groups(user1=100, user2=100)
    grid.submit("ann", "user1", BannedSites='"LCG.CERN.cern"')
    return [match["owner"] for match in grid.matches(1, "--owner", "ann", "--group", "user1", "--group", "user2")]


@point("negative_values", documented=0, program=1)
def _(grid):
    """How many of a user's jobs a site takes where that user and another one are at their limits."""
    grid.settings(
        '[shares.groups.user]\njob_share = 100\n[shares.RunningLimit."LCG.CERN.cern".Owner]\nann = 0\nbob = 0\n'
    )
    grid.submit("ann", "user")
    return len(grid.matches(1))


@point("negative_fields", documented=1, program=2)
def _(grid):
    """How many jobs two pilots get where the jobs of a user and another type are at their limits."""
    limit = 'shares.RunningLimit."LCG.CERN.cern"'
    grid.settings(f"[shares.groups.user]\njob_share = 100\n[{limit}.Owner]\nann = 1\n[{limit}.JobType]\nMC = 0\n")
    grid.submit("ann", "user", 2)
    return len(grid.matches(2))


@point("ce_limits", documented=1, program=0)
def _(grid):
    """A second job of a kind that each computing element may run once; the first one runs at another one."""
    limit = 'shares.RunningLimit."LCG.CERN.cern".CEs'
    grid.settings(
        f"[shares.groups.user]\njob_share = 100\n[{limit}.ce1.JobType]\nMC = 1\n[{limit}.ce2.JobType]\nMC = 1\n"
    )
    grid.submit("ann", "user", 2, JobType='"MC"')
    assert len(grid.matches(1, "--grid-ce", "ce1")) == 1
    return len(grid.matches(1, "--grid-ce", "ce2"))


@point("job_pool", documented=True, program=False)
def _(grid):
    """Do the jobs of a queue run in the order of their numbers?"""
    grid.groups(user=100)
    grid.submit("ann", "user", 20)
    jobs = [int(match["job"].partition(".")[2]) for match in grid.matches(20)]
    return jobs == sorted(jobs)


@pytest.mark.parametrize("rules", DIRAC.choices)
@pytest.mark.parametrize("name", POINTS)
def test_a_point_decides_otherwise_alone(run, tmp_path, monkeypatch, name, rules):
    """The one value or the other decides, and the other points stay as the schema has them."""
    key, of = SINGLE[name], POINTS[name]
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    monkeypatch.setenv(key.variable, to_text(key, key.default_under(rules)))
    seen = of.situation(Grid(run, tmp_path / "state.db", tmp_path))
    assert seen == (of.documented if rules == "documented" else of.program)
