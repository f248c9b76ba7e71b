"""Time budgets end turns and the cycle cleanly."""

import pytest
from tests.engine.negotiation.pools import cycle, jobs, matched, slots

from fairq.engine.negotiation.budgets import Stopwatch, TimeBudgets
from fairq.engine.negotiation.decision import StopReason

LONG = 1e9


def ticking(step=1.0):
    """A clock that goes on by *step* seconds each time it is looked at."""
    now = 0.0

    def clock():
        nonlocal now
        now += step
        return now

    return clock


def budgets(**seconds):
    """Plenty of time but for what is given."""
    return TimeBudgets(**{"cycle": LONG, "submitter": LONG, "schedd": LONG, "spin": LONG, **seconds})


def test_with_enough_time_nothing_changes():
    """Budgets that do not run out leave the cycle as it is without."""
    wants = {"a@x": [jobs(5)], "b@x": [jobs(5)]}
    free, measured = (cycle(slots(8), wants, clock=clock, budgets=budgets()) for clock in (None, ticking()))

    assert free.matches == measured.matches
    assert measured.time_budgets_used_up == []


@pytest.mark.parametrize("name", ["cycle", "submitter", "schedd"])
def test_a_turn_ends_when_its_time_is_over(name):
    """What was matched until then stays, and the decision names the budget."""
    wants = {"a@x": [jobs(50)]}
    decision = cycle(slots(60), wants, clock=ticking(), budgets=budgets(**{name: 9}))

    (submitter,) = decision.submitters
    assert 0 < submitter.matched < 50
    assert submitter.stopped is StopReason.TIME
    assert submitter.time_budget == name
    assert decision.time_budgets_used_up == [name]


@pytest.mark.parametrize("name", ["cycle", "submitter", "schedd"])
def test_who_has_no_time_left_gets_no_turn(name):
    """A budget used up before the turn takes the submitter out of the cycle."""
    decision = cycle(slots(9), {"a@x": [jobs(5)]}, clock=ticking(), budgets=budgets(**{name: 0}))

    assert matched(decision) == {"a@x": 0}
    assert decision.submitters[0].stopped is StopReason.TIME
    assert decision.spins == 1


def test_each_spin_has_its_time_anew():
    """A submitter stopped by the time of a spin goes on in the next one, and gets all in the end."""
    decision = cycle(slots(60), {"a@x": [jobs(50)]}, clock=ticking(), budgets=budgets(spin=9))

    assert decision.spins > 1
    assert matched(decision) == {"a@x": 50}
    assert decision.time_budgets_used_up == ["spin"]
    assert decision.submitters[0].time_budget is None


def test_one_slow_submitter_does_not_take_the_time_of_others():
    """The budget of a submitter is its own; that of a schedd is for all its submitters."""
    wants = {"a@x": [jobs(50)], "b@x": [jobs(5)]}
    own = cycle(slots(99), wants, {"a@x": 1, "b@x": 2}, clock=ticking(), budgets=budgets(submitter=8))
    shared = cycle(slots(99), wants, {"a@x": 1, "b@x": 2}, clock=ticking(), budgets=budgets(schedd=8))

    assert matched(own)["b@x"] == 5
    assert matched(shared)["b@x"] == 0


def test_a_stopwatch_adds_up_the_turns():
    """The time of a submitter and of a schedd is the sum of their turns."""
    time = [0.0]
    watch = Stopwatch(budgets(submitter=10, schedd=15), lambda: time[0])
    for submitter, seconds in (("a", 6), ("a", 6), ("b", 2)):
        turn = watch.turn(submitter, "s")
        assert not turn.over
        time[0] += seconds
        watch.end(turn, submitter, "s")

    assert watch.turn("a", "s").budget == "submitter"
    assert watch.turn("a", "s").over
    assert not watch.turn("b", "s").over
    assert not watch.turn("a", "other").over
