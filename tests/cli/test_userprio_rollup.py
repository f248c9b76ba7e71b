"""``userprio -grouprollup -all`` and ``-flat -usage`` with groups: what condor_userprio prints of the same ads."""

from __future__ import annotations

import time

import pytest
from tests.documents.condor_pool import HOUR, NOW, make_pool

pool = pytest.fixture(make_pool)

GROUPS = """
[groups.physics]
quota = 6
[groups."physics.hep"]
quota = 4
accept_surplus = true
[groups.bio]
quota = 2
"""

# The negotiator's report: priorities of groups are 0, the first use is 0 if any group below was never used, and a last
# use of 0 is the year 1970.
ROLLED_UP = [
    ["bio", "2.00", "2.00", "no", "2.00", "0.00", "1000.00", "0", "0.00", "20777+23:2", "0"],
    ["physics.hep", "4.00", "4.00", "ByQuota", "4.00", "0.00", "1000.00", "3", "6.00", "11/20/2026", "21:28",
     "11/20/2026", "23:28", "<now>", "3"],
    ["bob@example.org", "640.31", "0.64", "1000.00", "3", "6.00", "11/20/2026", "21:28",
     "11/20/2026", "23:28", "<now>"],
    ["physics", "2.00", "6.00", "no", "6.00", "0.00", "1000.00", "5", "10.00", "11/20/2026", "21:28",
     "11/20/2026", "23:28", "<now>", "2"],
    ["ann@example.org", "584.19", "0.58", "1000.00", "2", "4.00", "11/20/2026", "21:28",
     "11/20/2026", "23:28", "<now>"],
    ["<none>", "1.00", "0.00", "yes", "9.00", "0.00", "1000.00", "8", "16.00", "11/20/2026", "23:28", "<now>", "3"],
    ["cyd@example.org", "640.31", "0.64", "1000.00", "3", "6.00", "11/20/2026", "21:28",
     "11/20/2026", "23:28", "<now>"],
]  # fmt: skip

FLAT = """\
                            Wghted Total Usage       Usage             Last
User Name                   In Use (wghted-hrs)    Start Time       Usage Time
--------------------------- ------ ------------ ---------------- ----------------
bio                              0         0.00
physics                          2         4.00 11/20/2026 21:28 11/20/2026 23:28
physics.ann@example.org          2         4.00 11/20/2026 21:28 11/20/2026 23:28
physics.hep                      3         6.00 11/20/2026 21:28 11/20/2026 23:28
<none>                           3         6.00 11/20/2026 21:28 11/20/2026 23:28
cyd@example.org                  3         6.00 11/20/2026 21:28 11/20/2026 23:28
physics.hep.bob@example.org      3         6.00 11/20/2026 21:28 11/20/2026 23:28
--------------------------- ------ ------------ ---------------- ----------------
Number of users: 3               8        16.00
"""


@pytest.fixture
def used(pool, monkeypatch):
    """Three users, in a group, in its subgroup and in none, for two hours; a group that nobody used."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    pool.settings(GROUPS)
    pool.slots(9)
    for user, group, count in (("ann", "physics", 2), ("bob", "physics.hep", 3), ("cyd", "", 3)):
        pool.submit(user, count, group=group)
    pool.cycle()
    pool.cycle(NOW + 2 * HOUR)
    return pool


def table(pool, *words):
    out: str = pool.fairq("userprio", *words, "-allusers", "--now", NOW + 2 * HOUR).out
    return [line.rstrip() for line in out.splitlines()]


def test_rolled_up_groups_have_quotas_and_no_priority(used):
    lines = table(used, "-grouprollup", "-all")
    assert [line.split() for line in lines[4:-2]] == ROLLED_UP
    assert lines[-1].split() == ["Number", "of", "users:", "3", "ByQuota", "8", "16.00"]


def test_equal_usage_leaves_groups_before_users_and_none_last(used):
    assert table(used, "-flat", "-usage")[1:] == FLAT.splitlines()
