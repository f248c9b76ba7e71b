"""What DIRAC's schema leaves open and an operator meets first: limits and delays together, correctors, dumps."""

from __future__ import annotations

import os
import random
import shutil
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.documents.dirac_grid import NOW, make_grid

grid = pytest.fixture(make_grid)

PILOT = ("--site", "LCG.CERN.cern", "--cputime", 10**6, "--seed", 1)


def match(grid, count, *words, now=NOW, site="LCG.CERN.cern"):
    pilot = ("--site", site, "--cputime", 10**6, "--seed", 1, "--count", count, "--now", now, "--json")
    found: dict[str, Any] = grid.fairq("taskqueues", "match", *pilot, *words)
    return found


class TestLimits:
    """Each limit and each delay stands for itself; in DIRAC they exclude only what all of them apply to."""

    SETTINGS = """
[shares.groups]
prod = { job_share = 1000 }
user = { job_share = 1000 }
[shares.RunningLimit."LCG.CERN.cern".JobType]
MC = 1
[shares.RunningLimit."LCG.CERN.cern".OwnerGroup]
user = 2
"""

    def jobs(self, grid):
        grid.submit("mc", "prod", 7, JobType='"MC"')
        grid.submit("ann", "user", 7)

    def test_two_limits_of_different_attributes_do_not_cancel_each_other(self, grid):
        grid.settings(self.SETTINGS)
        self.jobs(grid)
        found = match(grid, 14)
        assert Counter(one["owner"] for one in found["matches"]) == {"mc": 1, "ann": 2}
        assert found["limited"] == {"JobType": ["MC"], "OwnerGroup": ["user"]}
        assert match(grid, 14, site="Other")["limited"] == {}

    def test_in_dirac_they_do(self, grid):
        grid.settings('[shares]\nrules = "dirac"\n' + self.SETTINGS)
        self.jobs(grid)
        assert len(match(grid, 14)["matches"]) == 14

    def test_a_job_of_several_types_counts_for_each_and_a_limit_of_the_site_for_all(self, grid):
        grid.settings(
            '[shares.RunningLimit."LCG.CERN.cern".JobType]\nMerge = 2\n'
            '[shares.RunningLimit."LCG.CERN.cern".Site]\n"LCG.CERN.cern" = 5\nOther = 0\n'
        )
        grid.submit("ann", "user", 9, JobTypes='"MC, Merge"')
        assert len(match(grid, 9)["matches"]) == 2
        assert match(grid, 9)["matches"] == []
        grid.submit("bob", "user", 9)
        assert len(match(grid, 9)["matches"]) == 3
        assert match(grid, 1)["limited"] == {"JobType": ["Merge"], "Site": ["LCG.CERN.cern"]}

    def test_a_delay_is_told_with_the_time_that_it_lasts_and_not_as_a_limit(self, grid):
        grid.settings('[shares.MatchingDelay."LCG.CERN.cern".JobType]\nMC = 5400\n')
        grid.submit("mc", "prod", 5, JobType='"MC"')
        words = ("taskqueues", "match", *PILOT)
        first = grid.fairq(*words, "--count", 2, "--now", NOW)
        assert first.err == "1 of 2 pilots gets no job: the delay of JobType MC lasts 1h30m more\n"
        later = match(grid, 1, now=NOW + 5000)
        assert (later["limited"], later["delayed"]) == ({}, [{"attribute": "JobType", "value": "MC", "seconds": 400}])
        why = grid.fairq("taskqueues", "why", 1, *PILOT[:4], "--now", NOW + 5000, "--json")
        assert [(one["condition"], one["wanted"], one["offered"]) for one in why["failures"]] == [
            ("MatchingDelay", "JobType MC", "next start in 6m40s")
        ]
        assert len(match(grid, 1, now=NOW + 5400)["matches"]) == 1

    def test_why_names_only_what_applies_to_the_queue(self, grid):
        grid.settings(self.SETTINGS)
        self.jobs(grid)
        match(grid, 14)
        why = grid.fairq("taskqueues", "why", 2, *PILOT[:4], "--now", NOW, "--json")
        assert [(one["condition"], one["wanted"], one["offered"]) for one in why["failures"]] == [
            ("RunningLimit", "OwnerGroup user", "2 of at most 2 running")
        ]

    def test_a_limit_on_what_a_queue_does_not_have_is_told_and_the_others_hold(self, grid):
        grid.settings(self.SETTINGS + '[shares.RunningLimit."LCG.CERN.cern".JobGroup]\n7 = 0\n')
        self.jobs(grid)
        ended = grid.fairq("taskqueues", "match", *PILOT, "--count", 14, "--now", NOW)
        assert "JobGroup is no property of a task queue; it is not applied" in ended.err
        assert ended.out.startswith("3 jobs for 14 pilots")


@dataclass
class Book:
    """The test's own count of what runs at the sites, by the limits and delays of `TestPilots`."""

    running: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Job, site, values."""
    started: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """The last start, by site, attribute and value."""

    def refused(self, site, values, now):
        for attribute, value in values.items():
            limit = LIMITS.get(site, {}).get(attribute, {}).get(value)
            runs = sum(at == site and of[attribute] == value for _, at, of in self.running)
            if limit is not None and runs >= limit:
                return True
            delay = DELAYS.get(site, {}).get(attribute, {}).get(value)
            last = self.started.get((site, attribute, value))
            if delay is not None and last is not None and now - last < delay:
                return True
        return False

    def start(self, job, site, values, now):
        self.running.append((job, site, values))
        self.started |= {(site, attribute, value): now for attribute, value in values.items()}


LIMITS = {
    "A": {"JobType": {"MC": 5, "User": 9}, "Owner": {"ann": 4}, "OwnerGroup": {"prod": 6}},
    "B": {"JobType": {"MC": 2}, "Owner": {"bob": 3}},
    "C": {"OwnerGroup": {"user": 7}},
}
DELAYS = {
    "B": {"JobType": {"User": 40}, "OwnerGroup": {"prod": 25}},
    "C": {"JobType": {"MC": 60}, "Owner": {"bob": 30}, "OwnerGroup": {"prod": 45}},
}
QUEUES = [
    {"Owner": owner, "OwnerGroup": group, "JobType": kind}
    for owner in ("ann", "bob", "eve")
    for group in ("prod", "user")
    for kind in ("MC", "User", "Test")
]


def blocks(name, sites):
    return "".join(
        f"[shares.{name}.{site}.{attribute}]\n" + "".join(f"{value} = {bound}\n" for value, bound in bounds.items())
        for site, attributes in sites.items()
        for attribute, bounds in attributes.items()
    )


class TestPilots:
    def test_three_hundred_matches_over_four_sites_agree_with_a_count_of_ones_own(self, grid):
        """Limits and delays on three attributes at once: none is passed, and none keeps away what it does not name."""
        groups = "[shares.groups]\nprod = { job_share = 1000 }\nuser = { job_share = 900 }\n"
        grid.settings(groups + blocks("RunningLimit", LIMITS) + blocks("MatchingDelay", DELAYS))
        for values in QUEUES:
            grid.submit(values["Owner"], values["OwnerGroup"], 300, JobType=f'"{values["JobType"]}"')
        book, rng, now = Book(), random.Random(2009), NOW
        kept_away = 0
        for number in range(300):
            now += rng.randrange(1, 12)
            site = "ABCD"[number % 4]
            pilot = ("--site", site, "--cputime", 10**6, "--seed", number, "--now", now, "--json")
            found = grid.fairq("taskqueues", "match", *pilot)
            free = [values for values in QUEUES if not book.refused(site, values, now)]
            assert found["matching"] == len(free), (number, site, found)
            kept_away += len(QUEUES) - len(free)
            assert len(found["matches"]) == bool(free)
            for one in found["matches"]:
                values = QUEUES[one["task_queue"] - 1]
                assert values in free, (number, site, values)
                book.start(one["job"], site, values, now)
            if book.running and rng.random() < 0.5:
                job, *_ = book.running.pop(rng.randrange(len(book.running)))
                grid.fairq("finish", job, "--now", now)
        assert kept_away > 1000


class TestCorrectors:
    SETTINGS = """
[shares.ShareCorrections]
ShareCorrectorsToStart = "WMSHistory"
[shares.ShareCorrections.WMSHistory.physics]
Group = "physics"
HourSlice = { TimeSpan = 3600, Weight = 1, MaxCorrection = 4 }
[shares.groups.prod]
job_share = 700
"""

    def test_one_for_a_group_without_share_and_queue_corrects_nothing_and_says_so(self, grid):
        grid.settings(self.SETTINGS)
        grid.submit("mc", "prod", 2)
        grid.submit("ann", "physics", 1)
        first = grid.fairq("taskqueues", "match", *PILOT, "--count", 3, "--now", NOW)
        assert (first.out.startswith("3 jobs"), "physics" in first.err) == (True, False)
        grid.submit("mc", "prod", 1)
        for command in (("match", *PILOT), ("list",), ("shares",), ("why", 1, *PILOT[:4])):
            ended = grid.fairq("taskqueues", *command, "--now", NOW)
            assert "the group physics has no share and no task queue; nothing is corrected" in ended.err, command
            if command[0] == "match":
                assert ended.out.startswith("1 job for 1 pilot")
                grid.submit("mc", "prod", 1)
        empty = grid.fairq("taskqueues", "match", *PILOT, "--group", "physics", "--now", NOW, "--json")
        assert empty["matches"] == []

    def test_one_for_a_group_that_only_has_no_jobs_now_says_that(self, grid):
        grid.settings(self.SETTINGS + "[shares.groups.physics]\njob_share = 300\n")
        grid.submit("mc", "prod", 1)
        ended = grid.fairq("taskqueues", "match", *PILOT, "--now", NOW)
        assert "the group physics has no task queue at the moment; nothing is corrected" in ended.err
        assert ended.out.startswith("1 job for 1 pilot")


class TestDumps:
    """A dump has a time; a job that ended here after it is not queued again."""

    @pytest.fixture
    def dump(self, tmp_path):
        def write(time=None, **modified):
            folder = tmp_path / "dump"
            folder.mkdir(exist_ok=True)
            (folder / "task_queues.csv").write_text("TQId,Owner,OwnerGroup,CPUTime\n5,ann,user,3600\n")
            (folder / "jobs.csv").write_text("JobId,TQId,RealPriority\n31,5,1\n32,5,1\n")
            (folder / "groups.json").write_text('{"user": {"JobShare": 700}}')
            if time is not None:
                (folder / "time.json").write_text(f"{time}\n")
            for path in folder.iterdir():
                at = modified.get(path.name.partition(".")[0], modified.get("others", NOW))
                os.utime(path, (at, at))
            return folder

        return write

    def imported(self, grid, folder, now):
        found = grid.fairq("taskqueues", "import", folder, "--now", now, "--json")
        return found["jobs"], found.get("here", 0)

    def finish_one(self, grid, now):
        (matched,) = match(grid, 1, "--selection", "strict", now=now)["matches"]
        assert matched["job"] == "31.0"
        grid.fairq("finish", "31.0", "--now", now + 60)

    def test_a_job_that_ended_after_it_is_not_handed_out_again(self, grid, dump):
        folder = dump(others=NOW - 500)
        assert self.imported(grid, folder, NOW) == (2, 0)
        self.finish_one(grid, NOW + 60)
        assert self.imported(grid, folder, NOW + 300) == (1, 1)
        assert self.imported(grid, dump(others=NOW + 200), NOW + 300) == (2, 0)

    def test_the_oldest_file_counts(self, grid, dump):
        assert self.imported(grid, dump(), NOW) == (2, 0)
        self.finish_one(grid, NOW + 60)
        assert self.imported(grid, dump(others=NOW + 250, jobs=NOW + 90), NOW + 300) == (1, 1)
        assert self.imported(grid, dump(others=NOW + 250, jobs=NOW + 150), NOW + 300) == (2, 0)

    def test_its_own_time_counts_before_that_of_the_files(self, grid, dump):
        assert self.imported(grid, dump(NOW - 5), NOW) == (2, 0)
        self.finish_one(grid, NOW + 60)
        assert self.imported(grid, dump(NOW + 90, others=NOW + 250), NOW + 300) == (1, 1)
        assert self.imported(grid, dump(NOW + 150, others=NOW), NOW + 300) == (2, 0)

    def test_files_from_a_clock_ahead_are_as_old_as_their_first_import(self, grid, dump):
        folder = dump(others=NOW + 10**6)
        assert self.imported(grid, folder, NOW) == (2, 0)
        self.finish_one(grid, NOW + 60)
        assert self.imported(grid, folder, NOW + 300) == (1, 1)
        assert self.imported(grid, folder, NOW + 600) == (1, 1)
        assert self.imported(grid, dump(others=NOW + 10**6 + 1), NOW + 900) == (2, 0)

    def test_an_archive_has_the_time_of_its_oldest_member(self, grid, dump, tmp_path):
        def packed(**modified):
            archive = shutil.make_archive(str(tmp_path / "packed"), "tar", dump(**modified))
            return Path(archive)

        assert self.imported(grid, packed(), NOW) == (2, 0)
        self.finish_one(grid, NOW + 60)
        assert self.imported(grid, packed(others=NOW + 250, groups=NOW + 90), NOW + 300) == (1, 1)
        assert self.imported(grid, packed(others=NOW + 250), NOW + 300) == (2, 0)

    def test_an_archive_that_tells_no_time_is_read(self, grid, tmp_path):
        member = zipfile.ZipInfo("task_queues.csv")
        member.date_time = (1980, 0, 0, 0, 0, 0)
        with zipfile.ZipFile(tmp_path / "dump.zip", "w") as archive:
            archive.writestr(member, "TQId,Owner,OwnerGroup,CPUTime,Jobs\n5,ann,user,3600,2\n")
        assert self.imported(grid, tmp_path / "dump.zip", NOW) == (2, 0)

    def test_a_job_removed_here_does_not_come_back_either(self, grid, dump):
        folder = dump()
        assert self.imported(grid, folder, NOW) == (2, 0)
        grid.fairq("remove", "32.0", "--now", NOW + 60)
        assert self.imported(grid, folder, NOW + 300) == (1, 1)

    def test_a_file_of_the_directory_that_is_not_read_is_named(self, grid, dump):
        folder = dump()
        (folder / ".jobs.csv.swp").write_text("x")
        (folder / "share_corrections.json").write_text("{}")
        ended = grid.fairq("taskqueues", "import", folder, "--now", NOW)
        assert ended.err == ".jobs.csv.swp is not read by an import\nshare_corrections is not read by an import\n"

    @pytest.mark.parametrize("text", ["yesterday", "-5", "1e99", '{"time": 5}', ""])
    def test_a_time_that_is_none_is_refused(self, run, state, dump, text):
        ended = run("--state", state, "taskqueues", "import", dump(text))
        assert (ended.code, "time" in ended.err, state.exists()) == (78, True, False), ended.err


class TestConfiguration:
    CFG = """
Operations { Defaults { JobScheduling {
  RunningLimit { LCG.CERN.cern { JobType { MC = 50
        Merge = 5 }
      CEs { ce1 { Owner { ann = 2 } } } } }
  MatchingDelay { LCG.RAL.uk { JobType { MC = 30 } } }
} } }
"""

    def test_an_import_counts_limits_and_delays_and_says_which_rules_hold(self, grid, tmp_path):
        (tmp_path / "dirac.cfg").write_text(self.CFG)
        ended = grid.fairq("config", "import", tmp_path / "dirac.cfg")
        assert "1 setting, 0 groups, 3 limits, 1 delay from 4 lines" in ended.out
        assert "shares.rules becomes dirac: task queues follow the program" in ended.err
        summary = grid.fairq("config", "import", tmp_path / "dirac.cfg", "--dry-run", "--json")
        assert (summary["limits"], summary["delays"]) == (3, 1)
