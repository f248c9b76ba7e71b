"""Forecasts of starts against what then happens, on random pools whose run times are known exactly."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fairq.common.records import Actor
from fairq.engine.simulation.queues import JobKey
from fairq.engine.simulation.runtimes import PastRun, RunTimes
from fairq.settings import load
from fairq.state import claims
from fairq.state.connection import reading
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.jobs.finish import finish
from fairq.steps.jobs.selection import Selection, parse_targets
from fairq.steps.simulate.forecast import Forecaster

NOW = 1_795_200_000
EVERY = 60


class Pool:
    """A pool whose jobs run exactly as long as they declare."""

    def __init__(self, run, state, seed):
        draw = random.Random(seed)
        self.path = state
        self.seconds: dict[int, int] = {}
        words = ["--cpus", 8, "--memory", "8GB", "--partitionable"] if seed % 2 else ["--count", 5]
        for machine in ("one", "two"):
            assert run("--state", state, "slots", "add", machine, *words, "--now", NOW).code == 0
        if seed % 3 == 2:
            Path(f"{state}.toml").write_text("[groups.a]\nquota = 6\naccept_surplus = true\n[groups.b]\nquota = 4\n")
        for cluster in range(1, 9):
            self.seconds[cluster] = draw.randrange(20, 500)
            text = f"""
                executable = /bin/true
                allowed_execute_duration = {self.seconds[cluster]}
                request_cpus = {draw.choice((1, 1, 2, 4)) if seed % 2 else 1}
                request_memory = 100
                accounting_group = {draw.choice("ab")}
                accounting_group_user = {draw.choice("xyz")}
                priority = {draw.choice((0, 0, 5))}
                queue {draw.randrange(1, 9)}
            """
            file = state.with_name("job.sub")
            file.write_text(text)
            ended = run("--state", state, "submit", file, "--now", NOW)
            assert ended.code == 0, ended.err
        self.settings = load(None, state, {})
        self.starts: dict[JobKey, int] = {}

    def collect(self, now):
        """Report the jobs that have ended by *now*, in the order of their ends."""
        with reading(self.path) as state:
            held = claims.load_all(state)
        ends = [(claim.start_time + self.seconds[claim.cluster or 0], claim) for claim in held]
        for end, claim in sorted((pair for pair in ends if pair[0] <= now), key=lambda pair: pair[0]):
            selection = Selection(parse_targets([f"{claim.cluster}.{claim.proc}"]), None)
            finish(self.path, self.settings, selection, Actor("test", "finish", now), end=end)

    def cycle(self, now):
        self.collect(now)
        for match in negotiate(self.path, self.settings, Actor("test", "negotiate", now)).decision.matches:
            self.starts[JobKey(match.schedd, match.cluster, match.proc)] = now


@pytest.mark.parametrize("seed", range(4))
def test_jobs_start_when_they_were_forecast_to(run, state, seed):
    pool = Pool(run, state, seed)
    now = NOW
    for _ in range(2):
        pool.cycle(now)
        now += EVERY
    pool.collect(now)
    with reading(pool.path) as open_state:
        forecast = Forecaster.of_state(open_state, pool.settings, now, RunTimes([])).forecast()
    before = dict(pool.starts)
    while len(pool.starts) - len(before) < len(forecast.starts):
        pool.cycle(now)
        now += EVERY
        assert now < NOW + 100 * EVERY, "jobs that were forecast to start do not"
    assert forecast.every == EVERY
    for start in forecast.starts.values():
        assert start.earliest == start.likely == start.latest
    assert {job: start.likely for job, start in forecast.starts.items()} == {
        job: time for job, time in pool.starts.items() if job not in before
    }
    in_order = sorted(forecast.starts.values(), key=lambda start: start.place)
    assert [start.place for start in in_order] == list(range(1, len(in_order) + 1))


def test_the_latest_start_allows_for_submissions_like_those_of_the_last_day(run, state):
    """One slot, jobs of 12 h: bob's next job of tomorrow may come before alice's last one."""
    assert run("--state", state, "slots", "add", "node", "--now", NOW).code == 0
    for user, count in (("alice", 3), ("bob", 1)):
        file = state.with_name("job.sub")
        file.write_text(f"""
            executable = /bin/true
            allowed_execute_duration = 43200
            accounting_group = x
            accounting_group_user = {user}
            queue {count}
        """)
        assert run("--state", state, "submit", file, "--now", NOW).code == 0
    with reading(state) as opened:
        forecast = Forecaster.of_state(opened, load(None, state, {}), NOW).forecast()
    assert "come again each day" in forecast.assumptions()[-1]
    starts = sorted(forecast.starts.values(), key=lambda start: start.place)
    assert [round((start.likely - NOW) / 43200, 2) for start in starts] == [0, 1, 2, 3]
    late = [start.latest is None or start.latest > start.likely for start in starts]
    assert late == [False, False, False, True]
    told = ["come again" in " ".join(forecast.document(start)["assumptions"]) for start in starts]
    assert told == late
    assert all(start.earliest == start.likely for start in starts)


def test_a_forecast_goes_beyond_days_in_which_jobs_could_be_preempted_and_are_not(run, state):
    """One slot, in use for ten days; in each cycle until then, jobs of a high priority would take it."""
    Path(f"{state}.toml").write_text('[negotiator]\npreemption_requirements = "TARGET.JobPrio > 100"\n')
    assert run("--state", state, "slots", "add", "node", "--now", NOW).code == 0
    file = state.with_name("job.sub")
    for user in ("alice", "bob"):
        file.write_text(f"""
            executable = /bin/true
            allowed_execute_duration = 864000
            accounting_group = x
            accounting_group_user = {user}
            queue
        """)
        assert run("--state", state, "submit", file, "--now", NOW).code == 0
        assert run("--state", state, "negotiate", "--now", NOW).code == 0
    with reading(state) as opened:
        forecast = Forecaster.of_state(opened, load(None, state, {}), NOW).forecast()
    (start,) = forecast.starts.values()
    assert start.earliest == start.likely == NOW + 10 * 86400
    assert forecast.until == NOW + 14 * 86400


def test_jobs_of_the_submitter_with_the_same_limit_tell_more_than_its_other_jobs(run, state):
    assert run("--state", state, "slots", "add", "node", "--count", "8", "--now", NOW).code == 0
    file = state.with_name("job.sub")

    def submit(limit, count, now):
        file.write_text(f"executable = /bin/true\nallowed_execute_duration = {limit}\nqueue {count}\n")
        assert run("--state", state, "submit", file, "--now", now).code == 0

    submit(200, 4, NOW)
    submit(9000, 4, NOW)
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    for cluster, seconds in ((1, 100), (2, 5000)):
        assert run("--state", state, "finish", str(cluster), "--now", NOW + seconds).code == 0
    names = [f"slot{number}@node" for number in range(2, 9)]
    assert run("--state", state, "slots", "remove", *names, "--now", NOW + 6000).code == 0
    submit(9000, 2, NOW + 6000)
    with reading(state) as opened:
        forecast = Forecaster.of_state(opened, load(None, state, {}), NOW + 6000).forecast()
    assert forecast.sources == {"kind": 2}
    first, second = sorted(start.likely - NOW - 6000 for start in forecast.starts.values())
    assert first == 0
    assert 5000 <= second <= 5000 + forecast.every


def test_run_times_come_from_the_nearest_history_and_end_at_the_limit():
    times = RunTimes(
        [PastRun("", 1, "x.a@d", "x", seconds) for seconds in (10, 20, 30)]
        + [PastRun("", 2, "x.b@d", "x", seconds) for seconds in (400, 500, 600)]
    )
    assert times.estimate("", 1, "x.a@d", "x", 0.5) == (20, "cluster")
    assert times.estimate("", 7, "x.a@d", "x", 0.9) == (30, "submitter")
    known = [PastRun("", 3, "x.a@d", "x", seconds, 900, limit_known=True) for seconds in (700, 800, 850)]
    assert RunTimes([*known, *[PastRun("", 1, "x.a@d", "x", 20)] * 9]).estimate("", 7, "x.a@d", "x", 0.5, 900) == (
        800, "kind",
    )  # fmt: skip
    assert times.estimate("", 7, "x.c@d", "x", 0.0) == (10, "group")
    assert times.estimate("", 7, "c@d", "<none>", 1.0, limit=450) == (450, "pool")
    assert times.estimate("", 1, "x.a@d", "x", 0.5, age=25) == (500, "group")  # what ran longer
    assert RunTimes([]).estimate("", 1, "a@d", "", 0.5, limit=99) == (99, "limit")
    assert RunTimes([]).estimate("", 1, "a@d", "", 0.5).source == "unknown"
