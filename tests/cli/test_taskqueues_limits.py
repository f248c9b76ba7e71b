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
