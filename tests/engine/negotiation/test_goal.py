"""A cycle held for one job ends when that job is matched, be it alone or among alike ones."""

import pytest

from fairq.engine.negotiation.decision import AlikeMatches, Goal, GoalReached, Matches, ProcRange


def alike(cluster, first, schedd=""):
    """Three jobs of a cluster, matched in a row."""
    jobs = [ProcRange(cluster, first, first + 2)]
    return AlikeMatches("ann@x", schedd, jobs, None, [0, 1, 2], [0, 1, 2], 1.0, [0.0] * 3, "<none>", False)


def test_the_goal_is_the_match_of_this_job_alone():
    matches, goal = Matches(), Goal("", 1, 5)
    for other in (alike(1, 6), alike(2, 4), alike(1, 4, "elsewhere")):
        matches.extend(other)
        goal.check(matches)

    matches.extend(alike(1, 3))
    with pytest.raises(GoalReached):
        goal.check(matches)


def test_the_job_is_missed_after_too_much_work_or_without_a_slot_left_but_not_if_it_is_matched():
    matches, goal = Matches(), Goal("", 1, 5, work=100)
    goal.check(matches, work=100)
    with pytest.raises(GoalReached):
        goal.check(matches, work=101)
    assert goal.missed

    goal = Goal("", 1, 5)
    goal.watch(lambda: True)
    with pytest.raises(GoalReached):
        goal.check(matches)
    assert goal.missed

    goal = Goal("", 1, 5, work=100)
    goal.watch(lambda: True)
    matches.extend(alike(1, 3))
    with pytest.raises(GoalReached):
        goal.check(matches, work=101)
    assert not goal.missed
