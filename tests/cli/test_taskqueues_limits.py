"""``fairq taskqueues limits``: what runs at each site, what may run, and how long delays last."""

from tests.cli.test_taskqueues import NOW, PILOT, pool, settings, submit

__all__ = ["pool"]

SITE = "LCG.CERN.cern"


def test_running_jobs_are_counted_against_the_limit(run, pool, state):
    settings(state, f'[shares.RunningLimit."{SITE}".JobType]\nMC = 2\nUser = 5\n')
    submit(run, "anna", "u", 3, JobType='"MC"')
    pool("taskqueues", "match", *PILOT, "--count", 3)
    found = {one["value"]: one for one in pool("taskqueues", "limits", "--json")}
    assert [(found[name]["running"], found[name]["limit"], found[name]["reached"]) for name in ("MC", "User")] == [
        (2, 2, True), (0, 5, False),
    ]  # fmt: skip
    pool("finish", "1.0", now=NOW + 1)
    (now, _) = pool("taskqueues", "limits", "--json", now=NOW + 1)
    assert (now["running"], now["reached"]) == (1, False)


def test_a_delay_runs_out(run, pool, state):
    settings(state, f'[shares.MatchingDelay."{SITE}".JobType]\nMC = 100\n')
    submit(run, "anna", "u", 3, JobType='"MC"')
    pool("taskqueues", "match", *PILOT)
    left = [pool("taskqueues", "limits", "--json", now=NOW + late)[0]["delay_left"] for late in (0, 40, 100)]
    assert left == [100, 60, 0]
    assert "1m40s" in pool("taskqueues", "limits").out


def test_limits_of_computing_elements_have_lines_of_their_own(pool, state):
    settings(state, f'[shares.RunningLimit."{SITE}".CEs."ce1".Owner]\nann = 3\n')
    (found,) = pool("taskqueues", "limits", "--json")
    assert (found["ce"], found["attribute"], found["limit"]) == ("ce1", "Owner", 3)


def test_no_limits_are_said(pool):
    ended = pool("taskqueues", "limits")
    expected = "no site has a limit or a delay; see shares.RunningLimit and shares.MatchingDelay\n"
    assert (ended.out, ended.err) == ("", expected)


def test_limits_and_delays_are_in_the_metrics(run, pool, state):
    assert "taskqueues" not in run("--state", state, "metrics", "--now", NOW).out
    settings(
        state, f'[shares.RunningLimit."{SITE}".JobType]\nMC = 2\n[shares.MatchingDelay."{SITE}".JobType]\nMC = 100\n'
    )
    submit(run, "anna", "u", 3, JobType='"MC"')
    pool("taskqueues", "match", *PILOT)
    text = run("--state", state, "metrics", "--now", NOW + 40).out
    labels = f'{{site="{SITE}",ce="",attribute="JobType",value="MC"}}'
    for name, value in (("running_jobs", 1), ("running_limit", 2), ("delay_left_seconds", 60)):
        assert f"fairq_taskqueues_{name}{labels} {value}\n" in text


def test_a_job_is_explained_at_all_known_sites(run, pool, state):
    settings(
        state,
        '[shares]\nusable_sites = "A, B, C, D"\n[shares.RunningLimit.B.JobType]\nMC = 0\n'
        "[shares.MatchingDelay.C.JobType]\nMC = 100\n",
    )
    submit(run, "anna", "u", 3, JobType='"MC"', BannedSites='"D"', Tags='"GPU"', CPUTime=100000)
    submit(run, "bert", "u", 1, Sites='"A, X"')
    pool("taskqueues", "match", "--site", "C", "--cputime", 1e6, "--tag", "GPU")
    found = pool("taskqueues", "why", "1.1", "--json")
    failing = {one["site"]: [failure["condition"] for failure in one["failures"]] for one in found["sites"]}
    assert failing == {
        "A": [], "B": ["RunningLimit"], "C": ["MatchingDelay"], "D": ["BannedSites"], "X": ["JobType"],
    }  # fmt: skip
    assert [one["offered"] for one in found["sites"]] == [True, False, False, False, False]
    shown = pool("taskqueues", "why", "1.1").out
    assert "is offered at 1 of 5 known sites" in shown
    assert "JobType MC: 0 of at most 0 running" in shown
    narrow = pool("taskqueues", "why", "1.1", "--cputime", 10, "--json")
    assert all("CPUTime" in [failure["condition"] for failure in one["failures"]] for one in narrow["sites"])
    assert "not one of its Sites" in pool("taskqueues", "why", "2.0").out
    assert "it is running" in pool("taskqueues", "why", "1.0").out
