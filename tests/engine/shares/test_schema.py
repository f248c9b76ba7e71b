"""The worked example of the priority schema, under the documented rules; every figure with its arithmetic."""

import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED, HOUR, SCHEMA, WEEK, corrected, history, queue, registry

from fairq.engine.shares.division import recalculate
from fairq.engine.shares.explanation import explain
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.queues import QueueTable

GROUPS = registry(
    OwnerGroup("lhcb_user", 1000),
    OwnerGroup("lhcb_prod", 3000, job_sharing=True),
    OwnerGroup("lhcb_idle", 5000),
)

USE = history(
    {
        "": {WEEK: {"lhcb_user": 500, "lhcb_prod": 500, "lhcb_idle": 1000}, HOUR: {"lhcb_user": 90, "lhcb_prod": 10}},
        "lhcb_user": {WEEK: {"alice": 375, "bob": 125}, HOUR: {"alice": 90}},
    }
)
"""Average numbers of running jobs."""


def example(rules=DOCUMENTED):
    """Alice has one queue and bob two, with jobs of priorities 1 and 3; production has two; nobody else is queued."""
    queues = [
        queue(1, "alice", "lhcb_user", [1], rules),
        queue(2, "bob", "lhcb_user", [1], rules),
        queue(3, "bob", "lhcb_user", [3, 3, 3], rules),
        queue(4, "prod", "lhcb_prod", [1], rules),
        queue(5, "prod", "lhcb_prod", [1], rules),
    ]
    return recalculate(QueueTable.of(queues), GROUPS, rules, corrected(rules, SCHEMA, USE))


def test_between_groups():
    """Who ran half of the jobs but should have run a quarter gets less, who ran too little gets more."""
    user, prod = (example().group_shares[name] for name in ("lhcb_user", "lhcb_prod"))
    # Expected 1/4: a week of 1/2 is c = 0.5 (the bound, just), an hour of 9/10 is c = 0.25/0.9 = 0.2778.
    # 80 % of the one and 20 % of the other: 0.8 x 0.5 + 0.2 x 0.2778 = 0.4556.
    assert user.share == pytest.approx(1000 * (0.8 * 0.5 + 0.2 * 0.25 / 0.9)) == pytest.approx(455.5556)
    # Expected 3/4: c = 1.5 for the week; an hour of 1/10 would be 7.5, and is cut to the hour's 5: 1.2 + 1 = 2.2.
    assert prod.share == pytest.approx(3000 * 2.2)


def test_inside_a_group():
    """The corrected share of the group is parted among its users with waiting jobs, and corrected again."""
    users = example().user_shares["lhcb_user"]
    # Each is to get half. Alice ran 3/4 of the week (c = 2/3) and all of the hour (c = 1/2): 0.6333.
    assert users["alice"].share == pytest.approx(455.5556 / 2 * (0.8 * 2 / 3 + 0.2 * 0.5)) == pytest.approx(144.2593)
    # Bob ran 1/4 (c = 2) and nothing (c = 5, the newcomer's boost): 1.6 + 1 = 2.6, below the bound of 3.
    assert users["bob"].share == pytest.approx(455.5556 / 2 * 2.6)


def test_among_task_queues():
    """A queue weighs the sum of its jobs' priorities: bob's weigh 1 and 3 x 3. Under DIRAC's rules it is 1 and 3."""
    priorities = dict(zip(range(1, 6), example().stored_priorities(), strict=True))
    bob = 455.5556 / 2 * 2.6
    assert priorities == pytest.approx({1: 144.2593, 2: bob / 10, 3: bob * 9 / 10, 4: 3300, 5: 3300}, rel=1e-6)
    priorities = dict(zip(range(1, 6), example(DIRAC).stored_priorities(), strict=True))
    assert (priorities[2], priorities[3]) == (56.9444, 170.8333)


def test_an_idle_group_keeps_its_share_and_its_use_counts_for_nothing():
    idle = example().group_shares["lhcb_idle"]
    assert (idle.share, idle.steps) == (5000, ())


def test_the_bound_is_read_under_the_name_that_the_schema_uses():
    """Under DIRAC's rules the example runs with the default, 5, since DIRAC reads another name."""
    assert example().group_shares["lhcb_prod"].steps[0].maximum == 3
    assert example(DIRAC).group_shares["lhcb_prod"].steps[0].maximum == 5


def test_under_dirac_rules_nothing_is_corrected_inside_a_group():
    """Its history is kept by distinguished name, its queues by name."""
    assert example(DIRAC).user_shares["lhcb_user"]["alice"].share == pytest.approx(227.7778)


def test_explanation_says_how_each_figure_came_about():
    """From the group over the user to the queue: expected, use, corrections before and after bounds, priority."""
    prod, user = (one for one in explain(example()) if one.group.name in ("lhcb_prod", "lhcb_user"))
    (step,) = prod.share.steps
    week, hour = step.slices
    assert (step.fraction, step.raw, step.factor, step.bound) == (0.75, pytest.approx(2.2), pytest.approx(2.2), None)
    assert (week.use, week.use_fraction, week.raw, week.clamped, week.bound) == (500, 0.5, 1.5, 1.5, None)
    assert (hour.use, hour.use_fraction, hour.bound, hour.weight) == (10, 0.1, "upper", 0.2)
    assert (hour.raw, hour.clamped, hour.term) == (pytest.approx(7.5), 5, 1.0)
    assert [one.owner for one in prod.users] == [None]

    _, bob = user.users
    assert (bob.share.expected, bob.share.steps[0].slices[1].use) == (pytest.approx(227.7778), None)
    assert [one.queue.id for one in bob.queues] == [2, 3]
    first, second = bob.queues
    assert (second.average, second.pool_weight, second.family) == (3, 10, 1)
    assert second.pool_share == bob.share.share
    assert first.priority == first.own == pytest.approx(bob.share.share / 10)
